// Holes of a text filled by a model of either kind, as plm infill and plm edit do it: drawn on the terminal, recorded
// as a trajectory. Tested by tests/cli/test_infill.py.
#pragma once

#include <string>
#include <vector>

#include "cli/page_animation.h"
#include "cli/trajectory_file.h"
#include "engine/infill.h"
#include "engine/pass_tally.h"

namespace plm {

struct FilledHole {
  std::string text;
  std::vector<TokenId> ids;  ///< without an end token
};

class HoleFilling {
 public:
  /// Call and engine must outlive it.
  HoleFilling(Invocation& call, Engine& engine) : call_(call), engine_(engine) {}

  /// Errors (usage): the model neither fills masks nor has the tokens to fill in the middle.
  Result<void> check_model() const;
  [[nodiscard]] bool fills_masks() const { return engine_.diffusion().has_value(); }

  /// The text of every hole. `ahead`: given tokens in front of the text's own, an instruction. Errors: those of
  /// Engine::start; interrupted.
  Result<std::vector<FilledHole>> fill(const HoleyText& text, std::span<const TokenId> ahead = {});
  /// The same for tokens and holes as they are; only for models that fill masks. `shown_from`: given tokens in front
  /// that are not drawn.
  Result<std::vector<FilledHole>> fill(const GivenAndHoles& page, std::size_t shown_from);

  [[nodiscard]] const PassTally& cost() const { return cost_; }

 private:
  Result<FilledHole> fill_in_the_middle(std::string_view before, std::string_view behind, std::size_t length,
                                        std::uint64_t seed);
  Result<GenerationRequest> request() const;
  Result<DecodeOutcome> write(GenerationRequest request, std::size_t shown_from);
  [[nodiscard]] FilledHole filled(std::vector<TokenId> ids, bool begins_text) const;
  [[nodiscard]] EncodeOptions encode_options() const;

  Invocation& call_;
  Engine& engine_;
  PassTally cost_;
};

/// The text with its holes filled.
[[nodiscard]] std::string joined(const HoleyText& text, std::span<const FilledHole> holes);

}  // namespace plm
