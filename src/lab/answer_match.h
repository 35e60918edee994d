// Whether answers are right, and what follows from several of them. Source: reference metrics.md; exact match as SQuAD
// has it (arXiv 1606.05250); pass@k: Chen et al., arXiv 2107.03374. Tested by tests/lab/test_answer_match.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plm {

/// Lower case, without ASCII punctuation and articles, blanks collapsed.
[[nodiscard]] std::string plain_answer(std::string_view text);
[[nodiscard]] bool is_exact_match(std::string_view a, std::string_view b);

/// The last number of a text: thousands in groups of three by commas, decimals, exponents, fractions a/b. Nothing when
/// there is none, or it divides by 0.
[[nodiscard]] std::optional<double> last_number(std::string_view text);
struct NumberTolerance {
  double relative = 1e-6;
  double absolute = 1e-9;
};
[[nodiscard]] bool is_numeric_match(std::string_view a, std::string_view b, const NumberTolerance& tolerance = {});

/// Of n samples, c of them right: the chance that at least one of k drawn ones is, and that all are. Nothing when k is
/// not from 1 to n.
[[nodiscard]] std::optional<double> pass_at_k(std::uint64_t n, std::uint64_t c, std::uint64_t k);
[[nodiscard]] std::optional<double> pass_all_k(std::uint64_t n, std::uint64_t c, std::uint64_t k);

struct Vote {
  std::string answer;
  std::optional<double> share;  ///< of the weight of all that answered; nothing when that is 0
};
/// The answer with most weight; of equal ones the first. Nothing when nobody answered. Without weights, each has 1.
[[nodiscard]] std::optional<Vote> weigh_votes(std::span<const std::optional<std::string>> answers,
                                              std::span<const double> weights = {});

/// Expected calibration error over bins of equal width, and Brier's score. Nothing of no answers.
[[nodiscard]] std::optional<double> calibration_error(std::span<const double> confidences,
                                                      std::span<const bool> is_right, std::size_t bins = 10);
[[nodiscard]] std::optional<double> brier_score(std::span<const double> confidences, std::span<const bool> is_right);

}  // namespace plm
