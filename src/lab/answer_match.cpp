#include "lab/answer_match.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace plm {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_punctuation(char letter) {
  return (letter >= '!' && letter <= '/') || (letter >= ':' && letter <= '@') || (letter >= '[' && letter <= '`') ||
         (letter >= '{' && letter <= '~');
}
bool is_blank(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

// Reads numbers out of a text, left to right.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}

  // The number that begins at `at`, and where it ends; an empty one if none does.
  [[nodiscard]] std::string_view read(std::size_t at) const {
    const std::size_t begin = at;
    if (peek(at) == '-' || peek(at) == '+') ++at;
    if (peek(at) == '.' && is_digit(peek(at + 1))) return text_.substr(begin, digits(at + 1) - begin);
    if (!is_digit(peek(at))) return {};
    at = whole(at);
    if (peek(at) == '.' && is_digit(peek(at + 1))) at = digits(at + 1);
    at = exponent(at);
    if (peek(at) == '/' && is_digit(peek(at + 1))) at = digits(at + 1);
    return text_.substr(begin, at - begin);
  }

 private:
  [[nodiscard]] char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  [[nodiscard]] std::size_t digits(std::size_t at) const {
    while (is_digit(peek(at))) ++at;
    return at;
  }
  [[nodiscard]] bool is_group(std::size_t at) const {
    return peek(at) == ',' && is_digit(peek(at + 1)) && is_digit(peek(at + 2)) && is_digit(peek(at + 3));
  }
  // One to three digits and groups of three, or digits alone.
  [[nodiscard]] std::size_t whole(std::size_t at) const {
    const std::size_t end = digits(at);
    const std::size_t head = std::min(end, at + 3);
    if (head != end || !is_group(head)) return end;
    std::size_t next = head;
    while (is_group(next)) next += 4;
    return next;
  }
  [[nodiscard]] std::size_t exponent(std::size_t at) const {
    if (peek(at) != 'e' && peek(at) != 'E') return at;
    std::size_t first = at + 1;
    if (peek(first) == '-' || peek(first) == '+') ++first;
    return is_digit(peek(first)) ? digits(first) : at;
  }

  std::string_view text_;
};

std::optional<double> value_of(std::string_view text) {
  std::string plain;
  for (const char letter : text) {
    if (letter != ',' && !(letter == '+' && plain.empty())) plain += letter;
  }
  double value = 0;
  const auto [end, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (code == std::errc::invalid_argument) return std::nullopt;
  return value;
}

std::optional<double> number_of(std::string_view text) {
  const std::size_t bar = text.find('/');
  if (bar == std::string_view::npos) return value_of(text);
  const auto above = value_of(text.substr(0, bar)), below = value_of(text.substr(bar + 1));
  if (!above.has_value() || !below.has_value() || *below == 0) return std::nullopt;
  return *above / *below;
}

}  // namespace

std::string plain_answer(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if (is_punctuation(letter)) continue;
    letters += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  std::string result;
  for (std::size_t at = 0; at < letters.size();) {
    if (is_blank(letters[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < letters.size() && !is_blank(letters[end])) ++end;
    const std::string word = letters.substr(at, end - at);
    at = end;
    if (word == "a" || word == "an" || word == "the") continue;
    result += (result.empty() ? "" : " ") + word;
  }
  return result;
}

bool is_exact_match(std::string_view a, std::string_view b) { return plain_answer(a) == plain_answer(b); }

std::optional<double> last_number(std::string_view text) {
  const NumberReader reader(text);
  std::string_view last;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view found = reader.read(at);
    if (!found.empty()) last = found;
    at += std::max<std::size_t>(found.size(), 1);
  }
  return last.empty() ? std::nullopt : number_of(last);
}

bool is_numeric_match(std::string_view a, std::string_view b, const NumberTolerance& tolerance) {
  const auto x = last_number(a), y = last_number(b);
  if (!x.has_value() || !y.has_value()) return false;
  return std::abs(*x - *y) <= std::max(tolerance.absolute, tolerance.relative * std::abs(*y));
}

std::optional<double> pass_at_k(std::uint64_t n, std::uint64_t c, std::uint64_t k) {
  if (k > n || k < 1 || c > n) return std::nullopt;
  if (n - c < k) return 1.0;
  double none = 1;
  for (std::uint64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

std::optional<double> pass_all_k(std::uint64_t n, std::uint64_t c, std::uint64_t k) {
  if (k > n || k < 1 || c > n) return std::nullopt;
  double all = 1;
  for (std::uint64_t i = 0; i < k; ++i) {
    if (c <= i) return 0.0;
    all *= static_cast<double>(c - i) / static_cast<double>(n - i);
  }
  return all;
}

std::optional<Vote> weigh_votes(std::span<const std::optional<std::string>> answers, std::span<const double> weights) {
  constexpr double kRounding = 1e-12;
  std::vector<std::pair<std::string, double>> totals;  // in the order in which they were seen
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) continue;
    const double weight = i < weights.size() ? weights[i] : 1;
    auto total = std::ranges::find(totals, *answers[i], &std::pair<std::string, double>::first);
    if (total == totals.end()) total = totals.insert(total, {*answers[i], 0});
    total->second += weight;
    sum += weight;
  }
  if (totals.empty()) return std::nullopt;
  const double most = std::ranges::max_element(totals, {}, &std::pair<std::string, double>::second)->second;
  const auto first = std::ranges::find_if(totals, [most](const auto& each) { return each.second >= most - kRounding; });
  return Vote{first->first, sum > 0 ? std::optional(first->second / sum) : std::nullopt};
}

std::optional<double> calibration_error(std::span<const double> confidences, std::span<const bool> is_right,
                                        std::size_t bins) {
  if (confidences.empty() || bins == 0) return std::nullopt;
  std::map<double, double> gaps;  // by bin: what was believed, less what was right
  for (std::size_t i = 0; i < confidences.size(); ++i) {
    const double bin = std::ceil(confidences[i] * static_cast<double>(bins)) - 1;
    gaps[std::clamp(bin, 0.0, static_cast<double>(bins - 1))] += confidences[i] - (is_right[i] ? 1 : 0);
  }
  double sum = 0;
  for (const auto& [bin, gap] : gaps) sum += std::abs(gap);
  return sum / static_cast<double>(confidences.size());
}

std::optional<double> brier_score(std::span<const double> confidences, std::span<const bool> is_right) {
  if (confidences.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < confidences.size(); ++i) {
    const double off = confidences[i] - (is_right[i] ? 1 : 0);
    sum += off * off;
  }
  return sum / static_cast<double>(confidences.size());
}

}  // namespace plm
