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
  EXPECT_NE(error("diffusion.kind=uniform").find("diffusion.kind"), std::string::npos);
  EXPECT_NE(error("diffusion.attention=sideways").find("block_causal"), std::string::npos);
  EXPECT_NE(error("diffusion.block_length=0").find("from 1"), std::string::npos);
  EXPECT_NE(error("diffusion.mask_token_id=4294967295").find("mask_token_id"), std::string::npos);
}

}  // namespace
}  // namespace plm
