// Measures of one distribution over tokens, and of two. Natural logarithms, double precision, one pass.
// Source: reference metrics.md. Tested by tests/lab/test_distribution.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plm {

/// Probabilities of logits; empty when none is above minus infinity.
[[nodiscard]] std::vector<double> softmax(std::span<const double> logits);

[[nodiscard]] double entropy(std::span<const double> probabilities);
/// Of the logits, at temperature 1, without making probabilities of them.
[[nodiscard]] double entropy_of_logits(std::span<const double> logits);
/// How much the surprise of a token varies around the entropy.
[[nodiscard]] double varentropy(std::span<const double> probabilities);
/// Entropy over the largest that so many tokens can have; nothing for fewer than two.
[[nodiscard]] std::optional<double> normalised_entropy(std::span<const double> probabilities);
/// Tokens with a probability above 0.
[[nodiscard]] std::size_t support_size(std::span<const double> probabilities);
/// Tokens that an even distribution with the same entropy, or the same sum of squares, would have.
[[nodiscard]] double effective_support(std::span<const double> probabilities);
[[nodiscard]] double simpson_support(std::span<const double> probabilities);
/// The fewest tokens that have `share` of all probability together.
[[nodiscard]] std::size_t nucleus_size(std::span<const double> probabilities, double share);

/// Of p from q; infinite where q lacks a token of p. Both have one number for each token.
[[nodiscard]] double kl_divergence(std::span<const double> p, std::span<const double> q);
[[nodiscard]] double total_variation(std::span<const double> p, std::span<const double> q);

/// exp of the mean surprise; nothing of no tokens, infinite when one had probability 0.
[[nodiscard]] std::optional<double> perplexity(std::span<const double> log_probabilities);
[[nodiscard]] std::optional<double> bits_per_byte(std::span<const double> log_probabilities, std::size_t bytes);

}  // namespace plm
