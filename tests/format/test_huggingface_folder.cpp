#include "format/huggingface_folder.h"

#include <gtest/gtest.h>

#include "bad_inputs.h"
#include "raw_gguf.h"

namespace plm {
namespace {

class HuggingFaceFolderTest : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << content;
  }
  void add_shard(const std::string& name, const std::string& tensor) const {
    add(name, raw_string("{\"" + tensor + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}") + "1234");
  }
  [[nodiscard]] std::string path() const { return folder_.path().string(); }
  [[nodiscard]] std::string refusal(const FolderLimits& limits = {}) const {
    const auto opened = HuggingFaceFolder::open(path(), limits);
    if (opened) return "accepted";
    EXPECT_EQ(opened.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(opened.error().message.find(path() + "/"), 0U) << opened.error().message;
    return opened.error().message.substr(path().size() + 1);
  }

 private:
  TemporaryFolder folder_;
};

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST_F(HuggingFaceFolderTest, MayHoldNothing) {
  const auto folder = HuggingFaceFolder::open(path()).value();
  EXPECT_FALSE(folder->config().has_value());
  EXPECT_TRUE(folder->tensors().empty());
  EXPECT_FALSE(folder->read_text("tokenizer.json").value().has_value());
  EXPECT_EQ(HuggingFaceFolder::open(path() + "//").value()->path(), path());
}

TEST_F(HuggingFaceFolderTest, OneFileComesBeforeAnIndex) {
  add("config.json", "{\"model_type\": \"llama\"}");
  add_shard("model.safetensors", "a");
  add("model.safetensors.index.json", "never read");
  const auto folder = HuggingFaceFolder::open(path()).value();
  EXPECT_EQ(folder->config()->text("model_type").value(), "llama");
  ASSERT_NE(folder->find_tensor("a"), nullptr);
  EXPECT_EQ(folder->find_tensor("a")->entry->bytes.size(), 4U);
  EXPECT_EQ(folder->find_tensor("b"), nullptr);
}

TEST_F(HuggingFaceFolderTest, ShardsAreFoundByTheIndex) {
  add_shard("x-1.safetensors", "b");
  add_shard("x-2.safetensors", "a");
  add("model.safetensors.index.json", R"({"weight_map": {"a": "x-2.safetensors", "b": "x-1.safetensors"}})");
  const auto folder = HuggingFaceFolder::open(path()).value();
  ASSERT_EQ(folder->tensors().size(), 2U);
  EXPECT_EQ(folder->tensors()[0].name, "a");
  EXPECT_EQ(folder->shards()[folder->tensors()[0].shard]->path(), path() + "/x-2.safetensors");
  EXPECT_NAMES(refusal({.shards = 1}), "weight_map names 2 shards, at most 1 are read");
}

TEST_F(HuggingFaceFolderTest, TheIndexMustTellTheTruth) {
  add_shard("x-1.safetensors", "a");
  add("model.safetensors.index.json", R"({"weight_map": {"a": "x-1.safetensors", "b": "x-1.safetensors"}})");
  EXPECT_NAMES(refusal(), "weight_map: b is not in x-1.safetensors");
  add("model.safetensors.index.json", R"({"weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors"}})");
  EXPECT_NAMES(refusal(), "x-2.safetensors: no such file");
  add_shard("x-2.safetensors", "a");
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(HuggingFaceFolderTest, ATensorStandsInOneShardOnly) {
  for (const char* name : {"x-1.safetensors", "x-2.safetensors"}) {
    add(name, raw_string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)" + std::string("\"") + name +
                         R"(":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})") +
                  "1234");
  }
  add("model.safetensors.index.json",
      R"({"weight_map": {"x-1.safetensors": "x-1.safetensors", "x-2.safetensors": "x-2.safetensors"}})");
  const auto opened = HuggingFaceFolder::open(path());
  ASSERT_FALSE(opened);
  EXPECT_NAMES(opened.error().message, "tensor a: stands in two shards");
}

TEST_F(HuggingFaceFolderTest, TextsHaveALimit) {
  add("config.json", "{}          ");
  EXPECT_NAMES(refusal({.text_bytes = 5}), "config.json: 12 bytes, at most 5 are read");
}

TEST_F(HuggingFaceFolderTest, DamagedWeightsAreNamed) {
  add("model.safetensors", "1234567");
  EXPECT_NAMES(refusal(), "model.safetensors: header length takes 8 bytes");
}

}  // namespace
}  // namespace plm
