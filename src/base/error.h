// Errors as values, the only way a failure travels that a stranger (file, request, budget) can cause.
//
// A message is one sentence in lower case that says object, found, expected and remedy, without a full stop:
// "model.gguf: tensor blk.3.attn_q.weight: 2304 bytes past end of file; the file is truncated, download it again".
// Broken invariants of our own are PLM_CHECK: loud, and unreachable by input (DESIGN section 8).
// Tested by tests/base/test_error.cpp.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace plm {

/// Kind of a failure; the value is the exit code of the command line (DESIGN section 8).
enum class ErrorKind : int {
  failed = 1,         ///< failed while running
  usage = 2,          ///< the caller's words are off
  bad_input = 3,      ///< model or input file missing or bad
  no_room = 4,        ///< does not fit in memory or on disk
  network = 5,        ///< network or port
  unsatisfiable = 6,  ///< a constraint cannot be satisfied
  model_changed = 7,  ///< the model file changed underneath us
  interrupted = 130,  ///< stopped by the user
};

/// A failure: its kind and one sentence for a person.
struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string message;

  /// The same failure seen from one level further out: "where: message".
  [[nodiscard]] Error within(std::string_view where) const { return {kind, fmt::format("{}: {}", where, message)}; }
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Makes the error branch of a Result: `return fail(ErrorKind::usage, "{}: unknown flag", flag);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

/// Prints the broken invariant to stderr and aborts. Called by PLM_CHECK only.
[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

}  // namespace plm

#define PLM_CHECK(condition) \
  (__builtin_expect(!!(condition), 1) ? static_cast<void>(0) : ::plm::broken_invariant(#condition, __FILE__, __LINE__))

#define PLM_JOIN_(a, b) a##b
#define PLM_JOIN(a, b) PLM_JOIN_(a, b)

/// Evaluates a Result<void> (or any Result whose value is not needed) and returns its error, if any.
#define PLM_TRY(expression)                                                   \
  do {                                                                        \
    if (auto plm_try_result = (expression); !plm_try_result.has_value()) {    \
      return tl::unexpected<::plm::Error>(std::move(plm_try_result).error()); \
    }                                                                         \
  } while (false)

/// `PLM_TRY_ASSIGN(auto file, open(path));` declares or assigns the value, or returns the error.
#define PLM_TRY_ASSIGN(target, expression) PLM_TRY_ASSIGN_(PLM_JOIN(plm_result_, __LINE__), target, expression)
#define PLM_TRY_ASSIGN_(result, target, expression)                                        \
  auto result = (expression);                                                              \
  if (!result.has_value()) return tl::unexpected<::plm::Error>(std::move(result).error()); \
  target = std::move(result).value()
