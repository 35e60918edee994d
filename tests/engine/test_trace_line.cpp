#include "engine/trace_line.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/engine_runs.h"

namespace plm {
namespace {

TEST(TraceLine, DescribesEachTokenWithItsText) {
  const auto engine = load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf");
  Settings sampling(sampling_parameters());
  std::vector<Json> lines;
  GenerationRequest request{
      .prompt = encoded(*engine, "A385+739="), .max_tokens = 8, .sampling = &sampling, .seed = 1, .trace_top = 2};
  request.listener = [&](const Event& event) {
    const auto line = trace_line(event, engine->vocabulary());
    EXPECT_EQ(line.has_value(), event.kind == EventKind::committed);
    if (line.has_value()) lines.push_back(parse_json(*line, "line").value());
  };
  const auto generation = engine->start(std::move(request)).value();
  ASSERT_TRUE(engine->run().has_value());
  ASSERT_EQ(lines.size(), 5U);  // 1124 and the end
  EXPECT_EQ(lines[0]["position"], 10);
  EXPECT_EQ(lines[0]["text"], "1");
  EXPECT_EQ(lines[0]["id"], 49);
  EXPECT_EQ(lines[0]["raw"]["top"][0]["text"], "1");
  EXPECT_EQ(lines[0]["raw"]["top"].size(), 2U);
  EXPECT_EQ(lines[0]["steps"].size(), 4U);
}

TEST(TraceLine, WhatWasTakenBackIsNamedByItsPosition) {
  const auto engine = load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf");
  EXPECT_EQ(trace_line({.kind = EventKind::deleted, .position = 7}, engine->vocabulary()), R"({"taken_back":7})");
  EXPECT_FALSE(trace_line({.kind = EventKind::committed}, engine->vocabulary()).has_value()) << "nobody traced it";
}

}  // namespace
}  // namespace plm
