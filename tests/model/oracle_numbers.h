// Numbers of a golden file, and how far two lists of them are apart.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "format/safetensors.h"

namespace plm {

inline std::vector<float> golden_floats(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error("golden lacks " + name);
  std::vector<float> values(entry->bytes.size() / sizeof(float));
  std::memcpy(values.data(), entry->bytes.data(), entry->bytes.size());
  return values;
}

inline std::vector<std::int32_t> golden_ids(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error("golden lacks " + name);
  if (entry->dtype != SafetensorsDtype::i32) throw std::runtime_error("golden " + name + " is not i32");
  std::vector<std::int32_t> values(entry->bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), entry->bytes.data(), entry->bytes.size());
  return values;
}

inline float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float worst = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const float difference = std::abs(a[i] - b[i]);
    if (!(difference <= worst)) worst = difference;  // NaN counts
  }
  return worst;
}

inline std::vector<float> flat(const std::vector<std::vector<float>>& rows) {
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

}  // namespace plm
