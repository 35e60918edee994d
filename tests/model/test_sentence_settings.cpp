// What folders say of sentence embeddings and scores, as keys.
#include "model/sentence_settings.h"

#include <gtest/gtest.h>

#include "checkpoint_folder.h"
#include "model/checkpoint.h"

namespace plm {
namespace {

constexpr const char* kModules = R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                                     {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])";

std::string refusal(const CheckpointFolder& folder) {
  const auto file = open_checkpoint(folder.path());
  return file.has_value() ? "accepted" : file.error().message;
}

void expect_names(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(SentenceSettings, PoolingIsSaidInEitherWay) {
  const std::pair<const char*, std::uint64_t> cases[] = {{R"({"pooling_mode_mean_tokens": true})", 1},
                                                         {R"({"pooling_mode_cls_token": true})", 2},
                                                         {R"({"pooling_mode_lasttoken": true})", 3},
                                                         {R"({"pooling_mode": "mean"})", 1},
                                                         {R"({"pooling_mode": "lasttoken"})", 3}};
  for (const auto& [settings, number] : cases) {
    const CheckpointFolder folder;
    folder.add_file("modules.json", kModules);
    folder.add_file("1_Pooling/config.json", settings);
    const auto file = open_checkpoint(folder.path()).value();
    EXPECT_EQ(file->unsigned_value("llama.pooling_type").value(), number) << settings;
    EXPECT_EQ(file->optional_boolean("llama.embedding.normalize").value(), false) << "no module for it";
  }
}

TEST(SentenceSettings, RefusesPoolingThatItDoesNotKnow) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"pooling_mode_max_tokens": true})", "pooling_mode_max_tokens = true"},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})", "pooling_mode_cls_token = true"},
      {R"({"pooling_mode_mean_tokens": true, "include_prompt": false})", "include_prompt = false"},
      {R"({"pooling_mode": "median"})", "pooling_mode = \"median\""},
      {"{}", "pooling_mode is missing"}};
  for (const auto& [settings, part] : cases) {
    const CheckpointFolder folder;
    folder.add_file("modules.json", kModules);
    folder.add_file("1_Pooling/config.json", settings);
    expect_names(refusal(folder), part);
  }
}

TEST(SentenceSettings, RefusesModulesThatItDoesNotKnow) {
  const CheckpointFolder folder;
  folder.add_file("modules.json", R"([{"type": "sentence_transformers.models.LSTM", "path": "1_LSTM"}])");
  expect_names(refusal(folder), "[0].type = \"sentence_transformers.models.LSTM\"");
  folder.add_file("modules.json", R"([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])");
  folder.add_file("2_Dense/config.json", R"({"in_features": 16, "out_features": 4})");
  expect_names(refusal(folder), "2_Dense: tensor linear.weight: missing");
  folder.add_file(
      "2_Dense/config.json",
      R"({"in_features": 16, "out_features": 4, "activation_function": "torch.nn.modules.activation.GELU"})");
  expect_names(refusal(folder), "activation_function = \"torch.nn.modules.activation.GELU\"");
}

TEST(SentenceSettings, LengthAndPromptsAreHandedOn) {
  const CheckpointFolder folder;
  folder.add_file("modules.json", R"([{"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}])");
  folder.add_file("sentence_bert_config.json", R"({"max_seq_length": 256})");
  folder.add_file("config_sentence_transformers.json",
                  R"({"prompts": {"query": "search_query: ", "document": ""}, "default_prompt_name": "query"})");
  const auto file = open_checkpoint(folder.path()).value();
  EXPECT_EQ(file->unsigned_value("llama.embedding.max_tokens").value(), 256U);
  EXPECT_EQ(file->optional_boolean("llama.embedding.normalize").value(), true);
  EXPECT_EQ(file->string_value("llama.embedding.default_prompt").value(), "query");
  EXPECT_EQ(file->find("llama.embedding.prompts")->as_strings()->size(), 2U);
  folder.add_file("config_sentence_transformers.json", R"({"prompts": {"query": 3}})");
  expect_names(refusal(folder), "prompts");
}

TEST(SentenceSettings, AClassThatScoresHasLabels) {
  CheckpointFolder folder;
  folder.config["architectures"] = "[\"LlamaForSequenceClassification\"]";
  folder.config["id2label"] = R"({"0": "bad", "1": "good"})";
  folder.tensors["score.weight"] = {{2, 16}};
  folder.tensors["lm_head.weight"] = {{32, 16}};
  folder.write();
  const auto file = open_checkpoint(folder.path()).value();
  EXPECT_NE(file->find_tensor("cls.output.weight"), nullptr);
  EXPECT_EQ(file->find_tensor("output.weight"), nullptr) << "not used";
  EXPECT_EQ(file->unsigned_value("llama.pooling_type").value(), 4U);
  const auto labels = file->find("llama.classifier.output_labels")->as_strings()->views();
  EXPECT_EQ(labels, (std::vector<std::string_view>{"bad", "good"}));
  folder.config["id2label"] = R"({"0": "bad", "7": "good"})";
  folder.write();
  expect_names(refusal(folder), "id2label");
  folder.config["architectures"] = "[\"LlamaForCausalLM\"]";
  folder.write();
  EXPECT_EQ(open_checkpoint(folder.path()).value()->find_tensor("cls.output.weight"), nullptr) << "of no use here";
}

}  // namespace
}  // namespace plm
