#include "plan/sketch_json.h"

#include "plan_cases.h"

namespace plm {
namespace {

constexpr std::string_view kTiny = R"({"id": "tiny", "vocab": 100, "d_model": 8, "tied": true, "final": 8,
  "kinds": {"a": {"mix": {"type": "attn", "nq": 2, "nkv": 1, "hd": 4, "window": 16}, "ffn": {"type": "mlp", "ff": 16},
            "norm": 16},
            "p": {"mix": {"type": "parallel", "parts": [{"type": "attn", "nq": 2, "nkv": 2, "hd": 4},
                  {"type": "mamba2", "d_inner": 16, "groups": 1, "d_state": 4, "heads": 2, "d_conv": 4}]}}},
  "layers": "apa"})";

Result<ModelSketch> parsed(std::string text) { return parse_sketch_json(parse_json(text, "x").value(), "x.json"); }

std::string without(std::string_view part, std::string_view instead = "") {
  std::string text(kTiny);
  text.replace(text.find(part), part.size(), instead);
  return text;
}

TEST(SketchJson, ReadsKindsAndLayers) {
  const auto sketch = parsed(std::string(kTiny));
  ASSERT_TRUE(sketch.has_value()) << sketch.error().message;
  EXPECT_EQ(sketch->name, "tiny");
  EXPECT_EQ(sketch->layers, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(std::get<AttentionMixer>(sketch->layer(2).mixers.front()).window, 16U);
  ASSERT_EQ(sketch->layer(1).mixers.size(), 2U);
  EXPECT_EQ(std::get<StateSpaceMixer>(sketch->layer(1).mixers.back()).inner_size, 16U);
  EXPECT_FALSE(sketch->layer(1).feed_forward.has_value());
}

TEST(SketchJson, ErrorsNameFileAndField) {
  const auto message = [](const std::string& text) {
    const auto sketch = parsed(text);
    EXPECT_FALSE(sketch.has_value()) << text;
    return sketch.has_value() ? "" : sketch.error().message;
  };
  EXPECT_NE(message(without("\"nq\": 2, ")).find("x.json: kinds.a.mix.nq = missing"), std::string::npos);
  EXPECT_NE(message(without("\"ff\": 16", "\"ff\": -1")).find("kinds.a.ffn.ff = -1"), std::string::npos);
  EXPECT_NE(message(without("\"apa\"", "\"apz\"")).find("kinds.z"), std::string::npos);
  EXPECT_NE(message(without("\"apa\"", "\"\"")).find("layers"), std::string::npos);
  EXPECT_NE(message(without("\"mamba2\"", "\"rwkv\"")).find("rwkv"), std::string::npos);
  EXPECT_NE(message(without("\"mamba2\"", "\"parallel\"")).find("type"), std::string::npos);
  EXPECT_NE(message("[]").find("object"), std::string::npos);
}

TEST(SketchJson, KnowsADescriptionFromASettingsFile) {
  EXPECT_TRUE(is_sketch_json(parse_json(kTiny, "x").value()));
  EXPECT_FALSE(is_sketch_json(parse_json(R"({"hidden_size": 8})", "x").value()));
  EXPECT_FALSE(is_sketch_json(parse_json("3", "x").value()));
}

}  // namespace
}  // namespace plm
