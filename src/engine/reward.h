// Rewards: what a model that was trained to judge gives a text. One score for all of it (Ouyang et al., arXiv
// 2203.02155), or one for each step of a solution, read at a token that ends each step (Lightman et al., arXiv
// 2305.20050; Qwen2.5-Math-PRM, arXiv 2501.07301). Classifiers of texts are read in the same way.
// Tested by tests/engine/test_reward.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/hidden_rows.h"

namespace plm {

struct Reward {
  std::vector<float> scores;  ///< [outputs of the head], as they are
  std::size_t tokens = 0;
  bool is_cut = false;  ///< the text was longer than the model reads
  /// Of each step: the probability that it is right, from two numbers; else the head's first number.
  std::vector<double> steps;
};

/// Scores of each text. With `step`, scores are read at each token of that id, and `scores` are those of the last.
/// Errors (usage): a model without a head, an empty text, a text without that token; interrupted.
[[nodiscard]] Result<std::vector<Reward>> reward(Engine& engine, std::span<const FramedText> texts,
                                                 std::optional<TokenId> step = {}, const ReadingHooks& hooks = {});

/// The control token that ends a step: the one whose text is `text`. Error (usage): it is none.
[[nodiscard]] Result<TokenId> step_token(const Engine& engine, std::string_view text);

/// A conversation in the model's chat form, nothing cut. Where `step_text` is not empty it becomes its control token in
/// messages as well. Errors: the template's.
[[nodiscard]] Result<FramedText> frame_conversation(const Engine& engine, const Json& messages,
                                                    std::string_view step_text = {});

}  // namespace plm
