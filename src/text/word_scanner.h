// Hand-written equals of the commonest pre-tokeniser expressions, several times faster than the expressions.
//
// Each follows its expression alternative by alternative; pre_tokenizer_rows.cpp says which stands for which.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <cstddef>
#include <string_view>

namespace plm {

/// Where the piece ends that begins at byte `at` < text.size() of well-formed UTF-8.
using WordScanner = std::size_t (*)(std::string_view text, std::size_t at);

/// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
[[nodiscard]] std::size_t scan_gpt2(std::string_view text, std::size_t at);
/// \p{N} first, each digit a piece, then GPT-2 on what lies between.
[[nodiscard]] std::size_t scan_gpt2_single_digits(std::string_view text, std::size_t at);
/// Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
/// |\s*[\r\n]+|\s+(?!\S)|\s+
[[nodiscard]] std::size_t scan_llama3(std::string_view text, std::size_t at);
/// Qwen 2: the same with \p{N}.
[[nodiscard]] std::size_t scan_qwen2(std::string_view text, std::size_t at);
/// Qwen 3.5: the same with [\p{L}\p{M}]+ and [^\s\p{L}\p{M}\p{N}]+.
[[nodiscard]] std::size_t scan_qwen35(std::string_view text, std::size_t at);
/// [^\n]+|[\n]+
[[nodiscard]] std::size_t scan_lines(std::string_view text, std::size_t at);

}  // namespace plm
