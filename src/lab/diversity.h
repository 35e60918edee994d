// How varied texts are, one by itself or several beside each other. Undefined results are nothing, never 0.
// Source: reference metrics.md; distinct-n: Li et al., arXiv 1510.03055; self-BLEU: Zhu et al., arXiv 1802.01886, with
// epsilon smoothing as Texygen has it; Vendi score: Friedman and Dieng, arXiv 2210.02410.
// Tested by tests/lab/test_diversity.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "lab/repetition.h"

namespace plm {

using Texts = std::span<const std::vector<std::int32_t>>;

/// Different n-grams of all texts together.
[[nodiscard]] std::size_t unique_ngrams(Texts texts, std::size_t n);
/// The same as a share of all n-grams, or of all tokens.
enum class DistinctOf { ngrams, tokens };
[[nodiscard]] std::optional<double> distinct_ngrams(Texts texts, std::size_t n, DistinctOf of = DistinctOf::ngrams);
/// Different n-grams over those expected of as many even draws from `vocabulary`.
[[nodiscard]] std::optional<double> expected_distinct(Texts texts, double vocabulary, std::size_t n);

/// Different tokens over all.
[[nodiscard]] std::optional<double> type_token_ratio(Tokens tokens);
/// The mean of the same over all windows of a length; of a shorter text, its own.
[[nodiscard]] std::optional<double> moving_type_token_ratio(Tokens tokens, std::size_t window);

struct BleuRule {
  std::size_t most_n = 4;
  double epsilon = 0.1;  ///< stands for a numerator of 0
};
[[nodiscard]] double bleu(Tokens text, Texts references, const BleuRule& rule = {});
/// Mean of BLEU of each text with the others as references; nothing for fewer than two.
[[nodiscard]] std::optional<double> self_bleu(Texts texts, const BleuRule& rule = {});

/// Phrases of the exhaustive history (Lempel and Ziv 1976). Nothing for more than kMostPhraseTokens: the time grows
/// with the square of the length.
inline constexpr std::size_t kMostPhraseTokens = 16384;
[[nodiscard]] std::optional<std::size_t> phrase_count(Tokens tokens);

/// Bytes over bytes that DEFLATE makes of them (zlib, level 9). Says little below some 200 bytes.
[[nodiscard]] std::optional<double> compression_ratio(std::string_view bytes);

using Vectors = std::span<const std::vector<double>>;
/// How many different texts their vectors are worth: 1 when all are equal, as many as there are when all are at right
/// angles.
[[nodiscard]] std::optional<double> vendi_score(Vectors vectors);
/// Mean of 1 - cosine over all pairs.
[[nodiscard]] std::optional<double> mean_pairwise_distance(Vectors vectors);

}  // namespace plm
