#include "decode/thinking_budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::int64_t kMostTokens = 1 << 30;

// A number without sign, all of it.
std::optional<double> read_number(std::string_view text) {
  const bool is_plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!is_plain || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<BudgetSize> BudgetSize::parse(std::string_view text) {
  BudgetSize size;
  if (text == "-1") {
    size.is_bounded_ = false;
    return size;
  }
  const std::size_t sign = std::min(text.find_first_of("+-"), text.size());
  const bool is_share = text.substr(0, sign).find('.') != std::string_view::npos;
  const auto first = read_number(text.substr(0, sign));
  const auto second = sign < text.size() ? read_number(text.substr(sign + 1)) : std::optional(0.0);
  const bool has_whole_offset = text.find('.', sign) == std::string_view::npos;
  const bool is_valid = first && second && has_whole_offset && (is_share || sign == text.size()) &&
                        std::max(*first, *second) <= static_cast<double>(kMostTokens) &&
                        (!is_share || !text.substr(0, sign).ends_with('.'));
  if (!is_valid) {
    return fail(ErrorKind::usage,
                "thinking budget '{}': expected a number of tokens, a share of the conversation such as 0.5, 0.5+4000 "
                "or 0.5-2300, or -1 for no bound",
                printable(text, 40));
  }
  size.share_ = is_share ? *first : 0;
  size.offset_ = static_cast<std::int64_t>(is_share ? *second : *first);
  if (sign < text.size() && text[sign] == '-') size.offset_ = -size.offset_;
  return size;
}

std::optional<std::size_t> BudgetSize::tokens(std::size_t conversation_tokens) const {
  if (!is_bounded_) return std::nullopt;
  const double share = std::floor(share_ * static_cast<double>(conversation_tokens) + 1e-9);
  return static_cast<std::size_t>(std::max(0.0, share + static_cast<double>(offset_)));
}

ThinkingBudget::ThinkingBudget(BudgetRules rules) : rules_(std::move(rules)) {
  PLM_CHECK(!rules_.begin.empty() && !rules_.end.empty());
}

std::span<const TokenId> ThinkingBudget::feed(TokenId token) {
  recent_.push_back(token);
  if (recent_.size() > std::max(rules_.begin.size(), rules_.end.size())) recent_.erase(recent_.begin());
  if (!is_inside_) return ends_with(rules_.begin) ? enter() : std::span<const TokenId>();
  if (ends_with(rules_.end)) {
    is_inside_ = false;
    recent_.clear();
    return {};
  }
  ++used_;
  return is_used_up() && rules_.grace == 0 ? close() : std::span<const TokenId>();
}

std::span<const TokenId> ThinkingBudget::begin_inside() { return enter(); }

std::span<const TokenId> ThinkingBudget::enter() {
  is_inside_ = true;
  recent_.clear();
  if (rules_.scope == BudgetScope::block) used_ = 0;
  return is_used_up() ? close() : std::span<const TokenId>();  // nothing was begun that could be cut
}

bool ThinkingBudget::may_close(CutPlace place) const {
  constexpr std::size_t kLongWord = 16;
  if (!is_inside_ || !is_used_up()) return false;
  const std::size_t beyond = used_ - *rules_.tokens;
  switch (place) {
    case CutPlace::line: return true;
    case CutPlace::word: return beyond >= rules_.grace / 2;
    case CutPlace::letters: return beyond >= rules_.grace + kLongWord;
    case CutPlace::character: break;
  }
  return false;
}

std::span<const TokenId> ThinkingBudget::close() {
  is_inside_ = false;
  ++forced_ends_;
  recent_.clear();
  return rules_.closing;
}

bool ThinkingBudget::ends_with(std::span<const TokenId> mark) const {
  return recent_.size() >= mark.size() && std::equal(mark.begin(), mark.end(), recent_.end() - std::ssize(mark));
}

CutPlace cut_place(std::string_view written, std::string_view next) {
  constexpr unsigned char kContinuation = 0x80, kLead = 0xC0;
  const auto is_letter = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= kContinuation || (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
  };
  if (written.empty() || next.empty()) return CutPlace::line;
  const auto first = static_cast<unsigned char>(next.front());
  if (first >= kContinuation && first < kLead) return CutPlace::character;
  if (written.back() == '\n' || next.front() == '\n') return CutPlace::line;
  const std::size_t last = written.find_last_not_of(' ');
  const bool is_apart = written.back() == ' ' || next.front() == ' ';
  const bool ends_sentence = last != std::string_view::npos && std::string_view(".!?").find(written[last]) < 3;
  if (is_apart && ends_sentence) return CutPlace::line;
  return is_letter(written.back()) && is_letter(next.front()) ? CutPlace::letters : CutPlace::word;
}

double closing_bias(const BudgetRamp& ramp, double probability, std::size_t used) {
  if (used < ramp.soft) return 0;
  if (used >= ramp.hard) return std::numeric_limits<double>::infinity();
  if (probability <= 0) return 0;
  const double way = static_cast<double>(used - ramp.soft + 1) / static_cast<double>(ramp.hard - ramp.soft);
  const double wanted = ramp.most * exp_f64(ramp.gamma * log_f64(way));
  const auto logit = [](double p) { return log_f64(p / (1 - p)); };
  return std::max(0.0, logit(wanted) - logit(probability));
}

}  // namespace plm
