#include "text/folder_settings.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

FolderSettings settings(std::string_view config, std::string_view map = "") {
  return FolderSettings::parse(config, map, "d").value();
}

TEST(FolderSettings, TokensAreTextsOrObjects) {
  const FolderSettings both =
      settings(R"({"eos_token": {"content": "</s>", "lstrip": false}, "bos_token": null, "add_bos_token": true})",
               R"({"eos_token": "other", "bos_token": "<s>", "unk_token": 3})");
  EXPECT_EQ(both.text("eos_token"), "</s>") << "tokenizer_config.json first";
  EXPECT_EQ(both.text("bos_token"), "<s>");
  EXPECT_EQ(both.text("unk_token"), "");
  EXPECT_EQ(both.flag("add_bos_token"), true);
  EXPECT_EQ(both.flag("add_eos_token"), std::nullopt);
}

TEST(FolderSettings, OfSeveralTemplatesTheDefault) {
  EXPECT_EQ(settings(R"({"chat_template": "t"})").chat_template(), "t");
  EXPECT_EQ(settings(R"({"chat_template": [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]})")
                .chat_template(),
            "d");
  EXPECT_EQ(settings("").chat_template(), "");
}

TEST(FolderSettings, AddedTokensComeByTheirIds) {
  const auto tokens = settings(R"({"added_tokens_decoder": {"10": {"content": "b", "special": true},
                                                            "9": {"content": "a"}}})")
                          .added_tokens()
                          .value();
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].text, "a");
  EXPECT_EQ(tokens[0].id, 9);
  EXPECT_FALSE(tokens[0].is_control);
  EXPECT_TRUE(tokens[1].is_control);
  EXPECT_TRUE(settings("{}").added_tokens()->empty());
}

TEST(FolderSettings, WhatIsWrongIsNamed) {
  EXPECT_TRUE(FolderSettings::parse("[]", "", "d").error().message.starts_with("d: tokenizer_config.json: expected"));
  EXPECT_TRUE(FolderSettings::parse("", "{", "d").error().message.starts_with("d: special_tokens_map.json: not JSON"));
  const std::pair<const char*, const char*> cases[] = {
      {R"({"added_tokens_decoder": []})", "d: tokenizer_config.json: added_tokens_decoder: expected an object"},
      {R"({"added_tokens_decoder": {"-1": {"content": "x"}}})",
       "d: tokenizer_config.json: added_tokens_decoder.-1: expected an id from 0 to 16777215"},
      {R"({"added_tokens_decoder": {"7x": {"content": "x"}}})",
       "d: tokenizer_config.json: added_tokens_decoder.7x: expected an id from 0 to 16777215"},
      {R"({"added_tokens_decoder": {"7": {}}})",
       "d: tokenizer_config.json: added_tokens_decoder.7: content is missing or no string"},
      {R"({"added_tokens_decoder": {"7": {"content": ""}}})",
       "d: tokenizer_config.json: added_tokens_decoder.7: content is empty"},
  };
  for (const auto& [config, message] : cases) EXPECT_EQ(settings(config).added_tokens().error().message, message);
}

}  // namespace
}  // namespace plm
