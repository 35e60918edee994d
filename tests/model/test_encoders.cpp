// Encoders against an independent float32 oracle: the hidden state of every layer, from the GGUF file and from the
// checkpoint's folder. A row a fixture. Covers src/model/layers/encoder_model.cpp, encoder_config.cpp and the encoders
// of src/model/arch/.
#include <gtest/gtest.h>

#include <algorithm>

#include "mask_head_folder.h"
#include "model/checkpoint.h"
#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

constexpr float kTolerance = 1e-4F;  // the oracle's own suggestion for float32 engines

struct Fixture {
  const char* name;  ///< of the golden file and of the folder
  const char* gguf;
  bool has_types = false;  ///< the golden was computed with token types
};

class Encoders : public testing::TestWithParam<std::tuple<Fixture, KernelChoice>> {
 protected:
  static const Fixture& fixture() { return std::get<0>(GetParam()); }
  static std::string golden_folder() { return PLM_GOLDEN; }
  static std::shared_ptr<const SafetensorsFile> golden() {
    return SafetensorsFile::open(golden_folder() + "/oracle/" + fixture().name + ".golden.safetensors").value();
  }
  static std::string gguf() { return golden_folder() + "/oracle/" + fixture().gguf; }
  static std::vector<std::int32_t> types() {
    return fixture().has_types ? golden_ids(*golden(), "token_type_ids") : std::vector<std::int32_t>();
  }
  static CpuDeviceOptions device() { return {.threads = 1, .kernels = std::get<1>(GetParam())}; }
};

TEST_P(Encoders, HiddenStatesEqualTheOracle) {
  const auto oracle = golden();
  SingleSequence ours(open_checkpoint(gguf()).value(), device());
  const auto hidden = flat(ours.encode(golden_ids(*oracle, "input_ids"), types()));
  EXPECT_LE(largest_difference(hidden, golden_floats(*oracle, "last_hidden_state")), kTolerance);
  for (std::size_t layer = 0; layer < ours.model->shape().layer_count; ++layer) {
    const std::string mine = "layer." + std::to_string(layer), theirs = "hidden." + mine + ".out";
    if (oracle->find(theirs) == nullptr) continue;  // the last one of some
    EXPECT_LE(largest_difference(ours.taps.at(mine), golden_floats(*oracle, theirs)), kTolerance) << mine;
  }
  if (oracle->find("hidden.embed.out") != nullptr) {
    EXPECT_LE(largest_difference(ours.taps.at("embed"), golden_floats(*oracle, "hidden.embed.out")), kTolerance);
  }
}

TEST_P(Encoders, TheFolderGivesTheBitsOfTheFile) {
  const auto tokens = golden_ids(*golden(), "input_ids");
  SingleSequence file(open_checkpoint(gguf()).value(), device());
  SingleSequence folder(open_checkpoint(golden_folder() + "/huggingface/" + fixture().name).value(), device());
  const auto expected = flat(file.encode(tokens, types())), found = flat(folder.encode(tokens, types()));
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Encoders,
                         testing::Combine(testing::Values(Fixture{"bert", "bert-f32.gguf"},
                                                          Fixture{"xlmr_reranker", "xlmr_reranker-bf16.gguf"},
                                                          Fixture{"modernbert", "modernbert-bf16.gguf"},
                                                          Fixture{"nomic_bert", "nomic_bert-bf16.gguf", true}),
                                          testing::Values(KernelChoice::reference, KernelChoice::fast)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) +
                                  (std::get<1>(instance.param) == KernelChoice::fast ? "_fast" : "_reference");
                         });

TEST(EncoderModel, TokenTypesTellThePartsOfAPair) {
  const std::string path = std::string(PLM_GOLDEN) + "/oracle/bert";
  const auto oracle = SafetensorsFile::open(path + ".golden.safetensors").value();
  SingleSequence ours(open_checkpoint(path + "-f32.gguf").value(), {.threads = 1});
  const auto tokens = golden_ids(*oracle, "input_ids");
  auto types = golden_ids(*oracle, "token_type_ids");
  const auto hidden = flat(ours.encode(tokens, types));
  EXPECT_LE(largest_difference(hidden, golden_floats(*oracle, "last_hidden_state_types")), kTolerance);
  types[3] = 2;
  EXPECT_THROW(ours.encode(tokens, types), std::runtime_error);
}

TEST(EncoderModel, KeepsNoStateOfOneLayerForAnother) {
  SingleSequence ours(open_checkpoint(std::string(PLM_GOLDEN) + "/oracle/modernbert-bf16.gguf").value(),
                      {.threads = 1});
  ASSERT_EQ(ours.layout.layers.size(), 4U);
  EXPECT_EQ(ours.layout.page_bytes, ours.layout.layers.front().bytes());
}

TEST(EncoderModel, RefusesPositionsThatWereNotLearned) {
  SingleSequence ours(open_checkpoint(std::string(PLM_GOLDEN) + "/oracle/bert-f32.gguf").value(), {.threads = 1});
  EXPECT_EQ(ours.encode(std::vector<std::int32_t>(128, 5)).size(), 128U);
  EXPECT_THROW(ours.encode(std::vector<std::int32_t>(129, 5)), std::runtime_error);
}

TEST(EncoderModel, AHeadThatFillsMasksGivesLogits) {
  const std::tuple<const char*, const char*, MaskHeadFolder::Names, double> cases[] = {
      {"bert", "Bert", MaskHeadFolder::kOfBert, 1e-12},
      {"modernbert", "ModernBert", {"head.dense.weight", "", "head.norm.weight", "", "decoder.bias"}, 1e-5}};
  for (const auto& [name, kind, names, epsilon] : cases) {
    const MaskHeadFolder folder(name, kind, names);
    SingleSequence ours(open_checkpoint(folder.path()).value(), {.threads = 1});
    EXPECT_TRUE(ours.gguf->warnings().empty()) << ours.gguf->warnings().front();
    const TensorEntry& table = *ours.gguf->find_tensor("token_embd.weight");
    std::vector<float> words(table.element_count());
    const StorageType& type = *find_storage_type(table.type->id);
    type.unpack(ours.gguf->read(table)->bytes.data(), words.data(), words.size() / type.block_size);
    const std::vector<std::int32_t> tokens{2, 17, 60, 103, 9, 300, 3};
    const auto states = ours.encode(tokens);
    const auto logits = ours.append_block(tokens);
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      EXPECT_LE(largest_difference(logits[row], folder.logits(states[row], words, epsilon)), 1e-4F) << name << row;
    }
  }
}

TEST(EncoderModel, RefusesWhatItDoesNotDo) {
  const auto refusal = [](const std::string& gguf, const std::string& setting) {
    const auto file = GgufFile::open(PLM_GOLDEN + ("/oracle/" + gguf)).value();
    const auto set = GgufFile::overridden(file, std::vector<std::string>{setting}).value();
    ModelFile model_file = ModelFile::open(set).value();
    const auto device = make_cpu_device({.threads = 1});
    const auto loaded = load_model(model_file, *device);
    return loaded.has_value() ? std::string("accepted") : loaded.error().message;
  };
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"bert-f32.gguf", "bert.attention.causal=true", "bert.attention.causal = true: must be false"},
      {"bert-f32.gguf", "bert.attention.head_count=3", "bert.attention.head_count = 3"},
      {"bert-f32.gguf", "bert.attention.layer_norm_epsilon=-1.0", "bert.attention.layer_norm_epsilon = -1"},
      {"bert-f32.gguf", "bert.context_length=64", "tensor position_embd.weight: shape [64, 128], expected [64, 64]"},
      {"bert-f32.gguf", "bert.attention.sliding_window=8", "attention.sliding_window"},
      {"modernbert-bf16.gguf", "modern-bert.attention.sliding_window_pattern=0", "sliding_window_pattern = 0"},
      {"modernbert-bf16.gguf", "modern-bert.feed_forward_length=97", "tensor blk.0.ffn_up.weight: shape"},
      {"nomic_bert-bf16.gguf", "nomic-bert.rope.freq_base=-1.0", "rope.freq_base = -1"},
  };
  for (const auto& [gguf, setting, part] : cases) {
    EXPECT_NE(refusal(gguf, setting).find(part), std::string::npos) << setting << ": " << refusal(gguf, setting);
  }
}

}  // namespace
}  // namespace plm
