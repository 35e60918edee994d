#include "model/model_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/tiny_llama.h"

namespace plm {
namespace {

template <typename T>
std::string refusal(const Result<T>& result) {
  if (result.has_value()) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().message;
}

std::string refusal_to_open(const TinyLlama& model) {
  const std::vector<std::byte> bytes = model.writer().bytes();
  return refusal(ModelFile::open(GgufFile::parse(bytes, TinyLlama::kName).value()));
}

TEST(ModelFile, OpensByArchitecture) {
  EXPECT_EQ(OpenTiny(TinyLlama{}).file.architecture(), "llama");
  TinyLlama model;
  model.keys["general.architecture"] = "";
  EXPECT_EQ(refusal_to_open(model), "tiny.gguf: general.architecture: empty, expected the name of an architecture");
  model.keys["general.architecture"] = 7U;
  EXPECT_NE(refusal_to_open(model).find("general.architecture"), std::string::npos);
  model.keys.erase("general.architecture");
  EXPECT_NE(refusal_to_open(model).find("general.architecture"), std::string::npos);
}

TEST(ModelFile, ReadsIntegersWithinARange) {
  TinyLlama model;
  model.keys["llama.signed"] = std::int32_t{12};
  model.keys["llama.negative"] = std::int32_t{-12};
  const OpenTiny open(model);
  EXPECT_EQ(open.file.integer("block_count", {1, 2}).value(), 2U);
  EXPECT_EQ(open.file.integer("signed", {1, 100}).value(), 12U);
  EXPECT_EQ(refusal(open.file.integer("block_count", {3, 9})),
            "tiny.gguf: llama.block_count = 2: must be between 3 and 9");
  EXPECT_EQ(refusal(open.file.integer("block_count", {0, 1})),
            "tiny.gguf: llama.block_count = 2: must be between 0 and 1");
  EXPECT_EQ(refusal(open.file.integer("block_count", {4, 4})), "tiny.gguf: llama.block_count = 2: must be 4");
  for (const char* key : {"missing", "negative", "attention.layer_norm_rms_epsilon"}) {
    const std::string message = refusal(open.file.integer(key, {0, 100}));
    EXPECT_NE(message.find("tiny.gguf"), std::string::npos) << message;
    EXPECT_NE(message.find(std::string("llama.") + key), std::string::npos) << message;
  }
}

TEST(ModelFile, ADefaultStandsForAMissingKeyOnly) {
  TinyLlama model;
  model.keys["llama.text"] = "two";
  const OpenTiny open(model);
  EXPECT_EQ(open.file.integer_or("missing", 5, {1, 2}).value(), 5U);
  EXPECT_EQ(open.file.integer_or("block_count", 5, {1, 2}).value(), 2U);
  EXPECT_NE(refusal(open.file.integer_or("block_count", 5, {5, 6})).find("between 5 and 6"), std::string::npos);
  EXPECT_NE(refusal(open.file.integer_or("text", 5, {1, 2})).find("llama.text"), std::string::npos);
  EXPECT_EQ(open.file.positive_real_or("missing", 0.5, 1).value(), 0.5);
  EXPECT_NE(refusal(open.file.positive_real_or("text", 0.5, 1)).find("llama.text"), std::string::npos);
  EXPECT_EQ(open.file.text_or("missing", "none").value(), "none");
  EXPECT_EQ(open.file.text_or("text", "none").value(), "two");
  EXPECT_NE(refusal(open.file.text_or("block_count", "none")).find("llama.block_count"), std::string::npos);
}

TEST(ModelFile, ReadsPositiveReals) {
  TinyLlama model;
  const float infinity = std::numeric_limits<float>::infinity();
  model.keys["llama.good"] = 0.25F;
  model.keys["llama.zero"] = 0.0F;
  model.keys["llama.negative"] = -1.0F;
  model.keys["llama.not_a_number"] = std::numeric_limits<float>::quiet_NaN();
  model.keys["llama.infinite"] = infinity;
  model.keys["llama.large"] = 2.5F;
  const OpenTiny open(model);
  EXPECT_EQ(open.file.positive_real("good", 0.25).value(), 0.25);
  EXPECT_EQ(refusal(open.file.positive_real("large", 2)),
            "tiny.gguf: llama.large = 2.5: must be above 0 and at most 2");
  for (const char* key : {"zero", "negative", "not_a_number", "infinite", "missing", "block_count"}) {
    const std::string message = refusal(open.file.positive_real(key, 1e30));
    EXPECT_NE(message.find("tiny.gguf"), std::string::npos) << message;
    EXPECT_NE(message.find(std::string("llama.") + key), std::string::npos) << message;
  }
}

TEST(ModelFile, ReadsTensorsByNameAndShape) {
  TinyLlama model;
  model.tensors["cube"] = {{4, 4, 2}};
  OpenTiny open(model);
  const auto found = open.file.tensor("blk.0.ffn_up.weight", {.outputs = 64, .inputs = 32});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->type, &quant_f32);
  EXPECT_EQ(found->entry->bytes.size(), 64U * 32 * 4);
  EXPECT_TRUE(open.file.tensor("output_norm.weight", {.outputs = 1, .inputs = 32}).has_value());

  EXPECT_EQ(refusal(open.file.tensor("blk.0.ffn_up.weight", {.outputs = 32, .inputs = 64})),
            "tiny.gguf: tensor blk.0.ffn_up.weight: shape [32, 64], expected [64, 32] by llama.context_length = 64, "
            "llama.feed_forward_length = 64");
  EXPECT_EQ(refusal(open.file.tensor("output_norm.weight", {.outputs = 1, .inputs = 33})),
            "tiny.gguf: tensor output_norm.weight: shape [32], expected [33] by the hyper-parameters");
  EXPECT_NE(refusal(open.file.tensor("cube", {.outputs = 4, .inputs = 4})).find("[4, 4, 2]"), std::string::npos);
  EXPECT_EQ(refusal(open.file.tensor("blk.7.attn_q.weight", {.outputs = 32, .inputs = 32})),
            "tiny.gguf: tensor blk.7.attn_q.weight: missing; the file is incomplete or of another architecture than "
            "llama");
}

TEST(ModelFile, NamesAStorageTypeThatCannotBeUsed) {
  TinyLlama model;
  model.tensors["blk.0.ffn_up.weight"].type = "Q8_1";
  OpenTiny open(model);
  const std::string message = refusal(open.file.tensor("blk.0.ffn_up.weight", {.outputs = 64, .inputs = 32}));
  EXPECT_EQ(message.find("tiny.gguf: tensor blk.0.ffn_up.weight: storage type Q8_1 cannot be used here"), 0U);
  for (const StorageType* usable : storage_types()) {
    EXPECT_NE(message.find(usable->name()), std::string::npos) << message;
  }
}

TEST(ModelFile, CountsWhatWasTakenOnce) {
  TinyLlama model;
  model.tensors = {{"a", {{32, 3}}}, {"b", {{32}}}};
  OpenTiny open(model);
  std::vector<double> told;
  open.file.set_progress([&](double fraction) { told.push_back(fraction); });
  for (const char* name : {"a", "a", "b"}) open.file.tell_taken(*open.file.gguf().find_tensor(name));
  EXPECT_EQ(told, (std::vector<double>{0.75, 1.0}));
  EXPECT_EQ(open.file.parameter_count(), 4U * 32);
}

TEST(ModelFile, WarnsOfTensorsThatNothingAskedFor) {
  TinyLlama model;
  model.tensors = {{"used", {{32}}}, {"stray", {{32}}}};
  OpenTiny open(model);
  ASSERT_TRUE(open.file.tensor("used", {.outputs = 1, .inputs = 32}).has_value());
  const std::size_t before = open.file.warnings().size();
  open.file.warn_about_unused_tensors();
  ASSERT_EQ(open.file.warnings().size(), before + 1);
  EXPECT_EQ(open.file.warnings().back(), "tiny.gguf: tensor stray: not used by architecture llama; ignored");
}

TEST(ModelFile, AFileFullOfStrayTensorsMakesFewWarnings) {
  TinyLlama model;
  for (int i = 0; i < 100; ++i) model.tensors["stray." + std::to_string(i)] = {{1}};
  model.tensors.erase("token_embd.weight");
  OpenTiny open(model);
  const std::size_t before = open.file.warnings().size();
  open.file.warn_about_unused_tensors();
  EXPECT_LE(open.file.warnings().size(), before + 10);
  const std::string rest = std::to_string(model.tensors.size() - 8) + " more tensors";
  EXPECT_NE(open.file.warnings().back().find(rest), std::string::npos) << open.file.warnings().back();
}

}  // namespace
}  // namespace plm
