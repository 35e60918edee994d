// The planner's cases in ../shared/conformance/plan, for tests of several files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "plan/sketch_json.h"

namespace plm {

inline std::string plan_folder() { return std::string(PLM_SHARED) + "/conformance/plan"; }
inline bool has_plan_cases() { return std::filesystem::exists(plan_folder() + "/plan.jsonl"); }

/// All cases with this "op", in their order.
inline std::vector<Json> plan_cases(std::string_view op) {
  std::vector<Json> cases;
  std::ifstream file(plan_folder() + "/plan.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json one = parse_json(line, "case").value();
    if (one["op"] == op) cases.push_back(std::move(one));
  }
  return cases;
}

inline ModelSketch plan_model(const std::string& name) {
  static std::map<std::string, ModelSketch> known;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::ifstream file(plan_folder() + "/model-configs/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  auto sketch = parse_sketch_json(parse_json(text.str(), name).value(), name);
  if (!sketch.has_value()) throw std::runtime_error(sketch.error().message);
  return known.emplace(name, *sketch).first->second;
}

}  // namespace plm

#define PLM_NEEDS_PLAN_CASES() \
  if (!::plm::has_plan_cases()) GTEST_SKIP() << "no planner cases in " << ::plm::plan_folder()
