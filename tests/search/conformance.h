// The cases of ../shared/conformance/test-time, where they are there.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "base/json.h"

namespace plm {

/// Calls check(input, expected) for each case of that operation.
inline void for_each_case(const std::string& operation, const std::function<void(const Json&, const Json&)>& check) {
  std::ifstream file(PLM_SHARED "/conformance/test-time/test_time.jsonl");
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    const Json row = parse_json(line, "test_time.jsonl").value();
    if (row["op"] != operation) continue;
    SCOPED_TRACE(row["id"].get<std::string>());
    check(row["input"], row["expect"]);
    ++found;
  }
  if (file.is_open() || found > 0) {
    EXPECT_GT(found, 0U) << operation;
  }
}

}  // namespace plm
