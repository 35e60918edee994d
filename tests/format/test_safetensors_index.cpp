#include "format/safetensors_index.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

std::string refusal(std::string_view text) {
  const auto index = parse_safetensors_index(text, "i.json");
  if (index) return "accepted";
  EXPECT_EQ(index.error().kind, ErrorKind::bad_input);
  return index.error().message;
}

TEST(SafetensorsIndex, ReadsTheListAndNothingElse) {
  const auto index = parse_safetensors_index(
      R"({"metadata": {"total_size": 5, "weight_map": {"no": "x"}}, "other": [1, [2], {"weight_map": 3}],
          "weight_map": {"a.weight": "one.safetensors", "b": "two.safetensors"}, "end": null})",
      "i.json");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->size(), 2U);
  EXPECT_EQ(index->at("a.weight"), "one.safetensors");
  EXPECT_EQ(index->at("b"), "two.safetensors");
}

TEST(SafetensorsIndex, ALongListTakesNoTime) {
  std::string text = "{\"weight_map\": {";
  for (int i = 0; i < 100'000; ++i) text += "\"tensor." + std::to_string(i) + "\": \"m.safetensors\", ";
  text += "\"last\": \"m.safetensors\"}}";
  EXPECT_EQ(parse_safetensors_index(text, "i.json").value().size(), 100'001U);
}

TEST(SafetensorsIndex, NamesWhatItRefuses) {
  EXPECT_EQ(refusal("{}"), "i.json: weight_map is missing, expected an object of tensors and shards");
  EXPECT_EQ(refusal("{\"weight_map\": 3}"), "i.json: weight_map is missing, expected an object of tensors and shards");
  EXPECT_EQ(refusal("{\"weight_map\": {\"a\": 3}}"), "i.json: weight_map: a lies in a number, expected a file name");
  EXPECT_EQ(refusal("{\"weight_map\": {\"a\": {}}}"), "i.json: weight_map: a lies in an object, expected a file name");
  EXPECT_EQ(refusal("{\"weight_map\": {\"a\": []}}"), "i.json: weight_map: a lies in a list, expected a file name");
  for (const char* name : {"../m.safetensors", "/etc/m.safetensors", ".safetensors", "m.bin", ""}) {
    EXPECT_NE(refusal(std::string("{\"weight_map\": {\"a\": \"") + name + "\"}}").find("weight_map: a lies in \""),
              std::string::npos)
        << name;
  }
  EXPECT_EQ(refusal(R"({"weight_map": {"a": "m.safetensors", "a": "m.safetensors"}})"),
            "i.json: weight_map: a tensor stands twice");
  EXPECT_EQ(refusal(R"({"weight_map": {}, "weight_map": {}})"), "i.json: weight_map: stands twice");
  EXPECT_NE(refusal("{\"weight_map\": {").find("not valid JSON at byte"), std::string::npos);
  EXPECT_EQ(refusal(std::string(100'000, '[')), "i.json: nested too deep");
}

}  // namespace
}  // namespace plm
