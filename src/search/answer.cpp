#include "search/answer.h"

#include <algorithm>

namespace plm {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Where the number that begins at `at` (a digit, or a point before one) ends. A comma belongs to it before three
// digits, a point before one.
std::size_t number_end(std::string_view text, std::size_t at) {
  const auto digits_from = [&](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end - from;
  };
  std::size_t end = at + digits_from(at);
  while (end < text.size() && text[end] == ',' && end > at && digits_from(end + 1) == 3) end += 4;
  if (end < text.size() && text[end] == '.' && digits_from(end + 1) > 0) end += 1 + digits_from(end + 1);
  return end;
}

std::optional<std::string> last_number(std::string_view text) {
  std::optional<std::string> last;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = is_digit(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]));
    if (!begins) {
      ++at;
      continue;
    }
    // A minus belongs to the number unless it stands between two things: "7-3".
    const bool is_negative = at > 0 && text[at - 1] == '-' &&
                             (at < 2 || (!is_digit(text[at - 2]) && !is_letter(text[at - 2]) && text[at - 2] != ')'));
    const std::size_t end = number_end(text, at);
    last = canonical_number((is_negative ? "-" : "") + std::string(text.substr(at, end - at)));
    at = std::max(end, at + 1);
  }
  return last;
}

// The last capital letter from A to J that stands alone, as (B), B. or **B**.
std::optional<std::string> last_choice(std::string_view text) {
  for (std::size_t at = text.size(); at > 0; --at) {
    const char c = text[at - 1];
    const bool stands_alone =
        (at < 2 || !(is_letter(text[at - 2]) || is_digit(text[at - 2]) || text[at - 2] == '\'')) &&
        (at == text.size() || !(is_letter(text[at]) || is_digit(text[at]) || text[at] == '\''));
    const bool is_word = at < text.size() && text[at] == ' ' && (c == 'A' || c == 'I');  // an article, a pronoun
    if (c >= 'A' && c <= 'J' && stands_alone && !is_word) return std::string(1, c);
  }
  return std::nullopt;
}

// Of the last \boxed{...}, braces balanced.
std::optional<std::string> last_boxed(std::string_view text) {
  constexpr std::string_view kMark = "\\boxed{";
  const std::size_t begin = text.rfind(kMark);
  if (begin == std::string_view::npos) return std::nullopt;
  std::size_t depth = 1;
  for (std::size_t at = begin + kMark.size(); at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) {
      const std::string_view inside = trimmed(text.substr(begin + kMark.size(), at - begin - kMark.size()));
      return canonical_number(inside).value_or(std::string(inside));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<AnswerForm> find_answer_form(std::string_view name) {
  constexpr std::pair<std::string_view, AnswerForm> kForms[] = {{"number", AnswerForm::number},
                                                                {"choice", AnswerForm::choice},
                                                                {"boxed", AnswerForm::boxed},
                                                                {"line", AnswerForm::line},
                                                                {"text", AnswerForm::text}};
  const auto* found = std::ranges::find(kForms, name, [](const auto& form) { return form.first; });
  return found == std::end(kForms) ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> canonical_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('$')) text.remove_prefix(1);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('$')) text.remove_prefix(1);
  const bool begins = !text.empty() && (is_digit(text[0]) || (text.size() > 1 && text[0] == '.' && is_digit(text[1])));
  if (!begins || number_end(text, 0) != text.size()) return std::nullopt;
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != ','; });
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty() || digits.starts_with('.')) digits.insert(0, "0");
  return is_negative && digits != "0" ? "-" + digits : digits;
}

std::optional<std::string> answer_of(std::string_view text, AnswerForm form) {
  switch (form) {
    case AnswerForm::number: return last_number(text);
    case AnswerForm::choice: return last_choice(text);
    case AnswerForm::boxed: return last_boxed(text);
    case AnswerForm::line:
      text = trimmed(text);
      text.remove_prefix(text.rfind('\n') + 1);
      break;
    case AnswerForm::text: break;
  }
  text = trimmed(text);
  return text.empty() ? std::nullopt : std::optional(std::string(text));
}

}  // namespace plm
