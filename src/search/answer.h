// What a text answers, in a form in which equal answers are equal texts: the last number without separators and
// trailing zeros, the last choice letter, what stands in \boxed{}, the last line, or all of it.
// Tested by tests/search/test_answer.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plm {

enum class AnswerForm : unsigned char { number, choice, boxed, line, text };
inline constexpr std::string_view kAnswerForms = "number, choice, boxed, line, text";

/// The form of that name in kAnswerForms.
[[nodiscard]] std::optional<AnswerForm> find_answer_form(std::string_view name);

/// Nothing when the text holds no such answer.
[[nodiscard]] std::optional<std::string> answer_of(std::string_view text, AnswerForm form);

/// "-1,234.50" as "-1234.5"; nothing when it is no number.
[[nodiscard]] std::optional<std::string> canonical_number(std::string_view text);

}  // namespace plm
