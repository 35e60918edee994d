// Families that fill masks, against an independent float32 oracle: logits and hidden states of passes in which the rows
// of a block see one another and all before, the same from Hugging Face folders, files and what plm convert writes. A
// row a fixture. What they write is tested by tests/engine/test_masked_families.cpp.
// Covers src/model/diffusion_form.cpp, src/model/arch/arch_llada.cpp, arch_dream.cpp, arch_llada_moe.cpp,
// arch_sdar.cpp.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/thread_team.h"
#include "checkpoint_folder.h"
#include "model/checkpoint.h"
#include "model/gguf_export.h"
#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

constexpr float kTolerance = 1e-4F;  // the oracle's own suggestion for float32 engines

struct Fixture {
  const char* name;
  const char* gguf;          ///< what llama.cpp's converter wrote; empty: it does not know the family
  std::size_t block = 1000;  ///< rows that see one another
  bool is_shifted = false;   ///< row i - 1 speaks for position i
};

const Fixture kFixtures[] = {
    {"llada", "llada-f32.gguf"},
    {"dream", "dream-bf16.gguf", 1000, true},
    {"llada_moe", "llada_moe-bf16.gguf"},
    {"sdar", "", 4},
    {"rnd1", "", 1000, true},
    {"fast_dllm_v2", "", 8, true},
    {"llada2", "", 8},
};

class MaskedFamilies : public testing::TestWithParam<Fixture> {
 protected:
  // Some are too large for this repository, and tested where the conformance data are at hand.
  static std::string shared() { return std::string(PLM_SHARED) + "/conformance/oracle/"; }
  static std::string either(std::string own, std::string other) { return std::filesystem::exists(own) ? own : other; }
  static std::string folder() {
    return either(std::string(PLM_GOLDEN) + "/huggingface/" + GetParam().name,
                  shared() + "fixtures/" + GetParam().name);
  }
  static std::string gguf() {
    return either(std::string(PLM_GOLDEN) + "/oracle/" + GetParam().gguf, shared() + "gguf/" + GetParam().gguf);
  }
  static std::string golden_path() {
    return either(std::string(PLM_GOLDEN) + "/oracle/" + GetParam().name + ".golden.safetensors",
                  shared() + "fixtures/" + GetParam().name + "/golden.safetensors");
  }

  static bool has_file() { return *GetParam().gguf != '\0' && std::filesystem::exists(gguf()); }
  static bool has_folder() { return std::filesystem::exists(folder()); }
  static std::vector<std::shared_ptr<const GgufFile>> files() {
    std::vector<std::shared_ptr<const GgufFile>> all;
    if (has_folder()) all.push_back(open_checkpoint(folder()).value());
    if (has_file()) all.push_back(GgufFile::open(gguf()).value());
    return all;
  }
  static std::vector<std::int32_t> tokens() {
    return golden_ids(*SafetensorsFile::open(golden_path()).value(), "input_ids");
  }

  /// Logits of every row, and the readings by name, blocks put behind one another.
  using Readings = std::map<std::string, std::vector<float>>;
  static Readings read(std::shared_ptr<const GgufFile> file, KernelChoice kernels = KernelChoice::fast) {
    SingleSequence sequence(std::move(file), {.threads = 1, .kernels = kernels});
    const std::vector<std::int32_t> all = tokens();
    Readings readings;
    const auto add = [&](const std::string& name, const std::vector<float>& values) {
      readings[name].insert(readings[name].end(), values.begin(), values.end());
    };
    for (std::size_t at = 0; at < all.size(); at += GetParam().block) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
      const auto count = std::min(GetParam().block, all.size() - at);
      add("logits", flat(sequence.append_block({first, first + static_cast<std::ptrdiff_t>(count)})));
      for (const auto& [name, values] : sequence.taps) add(name, values);
    }
    return readings;
  }
};

TEST_P(MaskedFamilies, LogitsAndHiddenStatesEqualTheOracle) {
  if (files().empty()) GTEST_SKIP() << "no shared data";
  const auto oracle = SafetensorsFile::open(golden_path()).value();
  for (const auto& file : files()) {
    for (const KernelChoice kernels : {KernelChoice::reference, KernelChoice::fast}) {
      const Readings ours = read(file, kernels);
      const auto expect = [&](const std::string& mine, const std::string& theirs) {
        EXPECT_LE(largest_difference(ours.at(mine), golden_floats(*oracle, theirs)), kTolerance) << mine;
      };
      expect("logits", "logits");
      if (oracle->find("cached_block_logits") != nullptr) {  // by an oracle that remembers what is before the block
        const auto cached = golden_floats(*oracle, "cached_block_logits");
        const std::vector<float>& all = ours.at("logits");
        EXPECT_LE(largest_difference({all.end() - static_cast<std::ptrdiff_t>(cached.size()), all.end()}, cached),
                  kTolerance);
      }
      const std::pair<std::string, std::string> taps[] = {{"embed", "hidden.embed.out"},
                                                          {"final_norm", "hidden.final_norm.out"},
                                                          {"layer.0", "hidden.layer.0.out"},
                                                          {"layer.0.attn", "hidden.layer.0.self_attn.out"},
                                                          {"layer.1", "hidden.layer.1.out"},
                                                          {"layer.1.attn", "hidden.layer.1.self_attn.out"},
                                                          {"layer.0.ffn", "hidden.layer.0.mlp.out"},
                                                          {"layer.1.ffn", "hidden.layer.1.mlp.out"}};
      for (const auto& [mine, theirs] : taps) {
        if (oracle->find(theirs) != nullptr) expect(mine, theirs);
      }
    }
  }
}

TEST_P(MaskedFamilies, AFolderAFileAndWhatIsConvertedAreOneModel) {
  if (!has_folder()) GTEST_SKIP() << "no " << folder();
  const auto from_folder = open_checkpoint(folder()).value();
  const auto expected = read(from_folder).at("logits");
  for (const auto& file : files()) EXPECT_EQ(read(file).at("logits"), expected);

  const CheckpointFolder scratch;
  const std::string path = scratch.path() + "/out.gguf";
  GgufWriter keys;
  for (const MetaEntry& entry : from_folder->metadata()) keys.add(entry.key, entry.value);
  ThreadTeam team(1);
  ASSERT_TRUE(export_gguf(*from_folder, std::move(keys), path, {}, team).has_value());
  EXPECT_EQ(read(GgufFile::open(path).value()).at("logits"), expected);
}

TEST_P(MaskedFamilies, TheFolderSaysHowItFillsMasks) {
  if (!has_folder()) GTEST_SKIP() << "no " << folder();
  const auto file = open_checkpoint(folder()).value();
  const auto architecture = find_architecture(ModelFile::open(file).value()).value();
  const auto traits = read_diffusion_traits(*file, architecture->diffusion).value();
  EXPECT_EQ(traits->mask_token, 3);
  EXPECT_EQ(traits->shifts_logits, GetParam().is_shifted);
  const bool is_blockwise = GetParam().block < 1000;
  EXPECT_EQ(traits->attention, is_blockwise ? DiffusionAttention::block_causal : DiffusionAttention::full);
  EXPECT_EQ(traits->block_length, is_blockwise ? GetParam().block : 0);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, MaskedFamilies, testing::ValuesIn(kFixtures),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace plm
