// An encoder of the golden data with a head that fills masks, whose numbers are waves, in a second file; and what that
// head gives, computed in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "format/safetensors.h"
#include "model/checkpoint_folder.h"

namespace plm {

class MaskHeadFolder {
 public:
  /// Of weight and bias of the matrix, gain and bias of the norm, bias of the words; empty: there is none.
  using Names = std::array<std::string_view, 5>;
  static constexpr Names kOfBert = {"cls.predictions.transform.dense.weight", "cls.predictions.transform.dense.bias",
                                    "cls.predictions.transform.LayerNorm.weight",
                                    "cls.predictions.transform.LayerNorm.bias", "cls.predictions.bias"};

  MaskHeadFolder(const std::string& name, const std::string& kind, const Names& names) {
    const std::string source = std::string(PLM_GOLDEN) + "/huggingface/" + name;
    const std::size_t sizes[] = {kHidden * kHidden, kHidden, kHidden, kHidden, kVocab};
    head_.tensors.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t at = 0; at < sizes[i]; ++at) {
        const double wave = std::sin(1.0 + static_cast<double>(at * (i + 3)) * 0.7);
        values_[i].push_back(static_cast<float>(i == 2 ? 1 + 0.2 * wave : 0.3 * wave));
      }
      if (names[i].empty()) std::ranges::fill(values_[i], 0.0F);
      if (names[i].empty()) continue;
      head_.tensors[std::string(names[i])] = {{sizes[i]}, "F32", values_[i]};
      if (i == 0) head_.tensors[std::string(names[i])].shape = {kHidden, kHidden};
    }
    head_.write();
    std::string index;
    for (const auto& [tensor, _] : head_.tensors) index += ",\"" + tensor + "\": \"head.safetensors\"";
    const auto body = SafetensorsFile::open(source + "/model.safetensors").value();
    for (const auto& [tensor, _] : body->tensors()) {
      index += ",\"" + tensor + "\": \"body.safetensors\"";
    }
    std::filesystem::rename(head_.path() + "/model.safetensors", head_.path() + "/head.safetensors");
    std::filesystem::copy(source + "/model.safetensors", head_.path() + "/body.safetensors");
    head_.add_file("model.safetensors.index.json", "{\"weight_map\": {" + index.substr(1) + "}}");
    std::stringstream config;
    config << std::ifstream(source + "/config.json").rdbuf();
    std::string text = config.str();
    text.replace(text.find(kind + "Model"), kind.size() + 5, kind + "ForMaskedLM");
    head_.add_file("config.json", text);
    for (const char* file : {"/tokenizer.json", "/tokenizer_config.json"}) {
      if (std::filesystem::exists(source + file)) std::filesystem::copy(source + file, head_.path() + file);
    }
  }

  [[nodiscard]] const std::string& path() const { return head_.path(); }

  /// What the head makes of one state, in double: words . norm(gelu(transform . state)) + bias.
  [[nodiscard]] std::vector<float> logits(const std::vector<float>& state, const std::vector<float>& words,
                                          double epsilon) const {
    std::vector<double> inner(kHidden);
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < kHidden; ++i) {
      double sum = values_[1][i];
      for (std::size_t j = 0; j < kHidden; ++j) sum += double{values_[0][i * kHidden + j]} * state[j];
      inner[i] = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
      mean += inner[i] / kHidden;
    }
    for (const double value : inner) square += (value - mean) * (value - mean) / kHidden;
    std::vector<float> all;
    for (std::size_t id = 0; id < kVocab; ++id) {
      double sum = values_[4][id];
      for (std::size_t i = 0; i < kHidden; ++i) {
        const double normed = (inner[i] - mean) / std::sqrt(square + epsilon) * values_[2][i] + values_[3][i];
        sum += normed * words[id * kHidden + i];
      }
      all.push_back(static_cast<float>(sum));
    }
    return all;
  }

 private:
  static constexpr std::size_t kHidden = 64, kVocab = 320;
  CheckpointFolder head_;
  std::array<std::vector<float>, 5> values_;
};

}  // namespace plm
