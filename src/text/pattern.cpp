#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::uint32_t kHeapLimitKib = 64 << 10;

// Steps that one search may take: plenty for expressions that look at each character a few times.
std::uint32_t step_limit(std::size_t text_bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(1'000'000 + 8 * text_bytes, std::numeric_limits<std::uint32_t>::max()));
}

// The expression with \s and \S spelled as the property that its author means.
std::string with_unicode_spaces(std::string_view expression) {
  std::string spelled;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '\\' || at + 1 == expression.size()) {
      spelled.push_back(expression[at]);
      continue;
    }
    const char escaped = expression[++at];
    if (escaped == 's') {
      spelled += "\\p{White_Space}";
    } else if (escaped == 'S') {
      spelled += "\\P{White_Space}";
    } else {
      spelled.push_back('\\');
      spelled.push_back(escaped);
    }
  }
  return spelled;
}

std::string pcre_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

PatternSearch::PatternSearch(std::size_t text_bytes)
    : context_(pcre2_match_context_create(nullptr)), data_(pcre2_match_data_create(1, nullptr)) {
  PLM_CHECK(context_ != nullptr && data_ != nullptr);
  pcre2_set_match_limit(context_.get(), step_limit(text_bytes));
  pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
}

void PatternSearch::Free::operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
void PatternSearch::Free::operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
void Pattern::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Result<Pattern> Pattern::compile(std::string_view expression) {
  const std::string spelled = with_unicode_spaces(expression);
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern pattern;
  pattern.expression_ = expression;
  pattern.code_.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(), kOptions, &error, &offset, nullptr));
  if (pattern.code_ == nullptr) {
    return fail(ErrorKind::bad_input, "expression '{}' does not compile: {} (before '{}')", printable(expression),
                pcre_message(error), printable(spelled.substr(offset), 20));
  }
  pcre2_jit_compile(pattern.code_.get(), PCRE2_JIT_COMPLETE);  // where it cannot, pcre2_match interprets
  return pattern;
}

Result<std::optional<Pattern::Span>> Pattern::find(std::string_view text, std::size_t from,
                                                   PatternSearch& search) const {
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, search.data_.get(), search.context_.get());
  };
  int code = match(0);
  if (code == PCRE2_ERROR_JIT_STACKLIMIT) code = match(PCRE2_NO_JIT);  // the interpreter keeps its stack on the heap
  if (code == PCRE2_ERROR_NOMATCH) return std::optional<Span>();
  if (code < 0) {
    return fail(ErrorKind::failed, "expression '{}' on a text of {} bytes: {}", printable(expression_), text.size(),
                pcre_message(code));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(search.data_.get());
  return Span{ends[0], ends[1]};
}

}  // namespace plm
