#include "model/diffusion_traits.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

constexpr const char* kTwin = PLM_MODELS "/twin-mdm.gguf";

Result<std::optional<DiffusionTraits>> read(const std::vector<std::string>& overrides,
                                            const DiffusionTraits* of_architecture, const char* path = kTwin) {
  auto file = GgufFile::overridden(GgufFile::open(path).value(), overrides).value();
  return read_diffusion_traits(*file, of_architecture);
}

TEST(DiffusionTraits, ComeFromTheArchitectureAndThenFromTheFile) {
  constexpr DiffusionTraits kShifted{.shifts_logits = true};
  const auto plain = read({}, &kShifted).value();
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->mask_token, 258);
  EXPECT_FALSE(plain->shifts_logits) << "the file says so";
  EXPECT_EQ(plain->attention, DiffusionAttention::full);
  EXPECT_EQ(plain->block_length, 0U);
  EXPECT_FALSE(plain->edits);

  const auto set = read({"diffusion.kind=edit", "diffusion.attention=block_causal", "diffusion.block_length=32",
                         "diffusion.shift_logits=true", "diffusion.mask_token_id=7"},
                        nullptr)
                       .value();
  EXPECT_TRUE(set->edits);
  EXPECT_TRUE(set->shifts_logits);
  EXPECT_EQ(set->attention, DiffusionAttention::block_causal);
  EXPECT_EQ(set->block_length, 32U);
  EXPECT_EQ(set->mask_token, 7);
  EXPECT_FALSE(set->is_causal_too);
}

TEST(DiffusionTraits, OfAModelThatWritesBothWays) {
  const auto traits = read({}, nullptr, PLM_MODELS "/twin-tri.gguf").value();
  ASSERT_TRUE(traits.has_value());
  EXPECT_EQ(traits->attention, DiffusionAttention::causal_context);
  EXPECT_TRUE(traits->is_causal_too);
  EXPECT_EQ(traits->block_length, 8U);
}

TEST(DiffusionTraits, NoiseNeedsNoMaskToken) {
  constexpr DiffusionTraits kCanvas{.noise = DiffusionNoise::uniform, .block_length = 256};
  const auto traits = read({}, &kCanvas, PLM_MODELS "/twin-ar.gguf").value();
  EXPECT_EQ(traits->noise, DiffusionNoise::uniform);
  EXPECT_EQ(traits->mask_token, -1);
  EXPECT_EQ(read({"diffusion.kind=uniform"}, nullptr).value()->noise, DiffusionNoise::uniform);
}

TEST(DiffusionTraits, SomeCheckpointsAreKnownByName) {
  constexpr DiffusionTraits kFamily{.editing_name = "llada2.1"};
  const auto edits = [&](std::vector<std::string> overrides) { return read(overrides, &kFamily).value()->edits; };
  EXPECT_FALSE(edits({}));
  EXPECT_FALSE(edits({"general.name=LLaDA2.0-mini"}));
  EXPECT_TRUE(edits({"general.name=LLaDA2.1-mini"}));
  EXPECT_TRUE(edits({"general.name=LLaDA 2.1 flash"}));
  EXPECT_FALSE(edits({"general.name=LLaDA2.1-mini", "diffusion.kind=mask"})) << "what the file says counts";
}

TEST(DiffusionTraits, ThereAreNoneWhereNobodySpeaksOfThem) {
  EXPECT_FALSE(read({}, nullptr, PLM_MODELS "/twin-ar.gguf").value().has_value());
}

TEST(DiffusionTraits, RefusesWhatItDoesNotKnow) {
  const auto error = [](const std::string& set) {
    const auto traits = read({set}, nullptr);
    const auto with_kind = read({set, "diffusion.kind=mask"}, nullptr);
    const auto& failed = traits.has_value() ? with_kind : traits;
    EXPECT_FALSE(failed.has_value()) << set;
    return failed.has_value() ? std::string() : failed.error().message;
  };
  EXPECT_NE(error("diffusion.kind=gaussian").find("uniform"), std::string::npos);
  EXPECT_NE(error("diffusion.attention=sideways").find("block_causal"), std::string::npos);
  EXPECT_NE(error("diffusion.block_length=0").find("from 1"), std::string::npos);
  EXPECT_NE(error("diffusion.mask_token_id=4294967295").find("mask_token_id"), std::string::npos);
}

}  // namespace
}  // namespace plm
