// Regular expressions as people write them (the regular part of ECMAScript's) to a regular language.
//
// Supported: literals, `.` (any character but a line feed; any with the flag s), classes, \d \w \s \D \W \S (ASCII),
// \t \n \r \f \v \0 \cX \xHH \uHHHH \u{...} \p{..} \P{..}, groups ( ) (?: ) (?<name> ), |, * + ? {m} {m,} {m,n} also
// with a lazy ? behind (which does not change the language), ^ and $ wherever no repetition holds them, and the flags i
// and s in front: (?i). Refused by name: back references, look-around, \b, conditions, atomic groups, possessive
// counts. Tested by tests/constraint/test_regex_parser.cpp and tests/fuzz/fuzz_regex.cpp.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "constraint/regular.h"

namespace plm {

struct RegexOptions {
  /// Whether the expression may be found anywhere in the text (as `pattern` of JSON Schema) or is all of it.
  bool search = false;
  /// \s holds, and . leaves out, what ECMAScript calls white space and line ends beyond ASCII.
  bool ecmascript_spaces = false;
  /// How one character of a set is written; not set: in UTF-8. JSON strings write theirs with escapes.
  std::function<Regular(RegularStore&, const CodePoints&)> spelling;
};

/// The language of `expression`. Errors: usage (syntax, or what is not supported; with line and column), no_room (past
/// a limit of the store).
Result<Regular> parse_regex(RegularStore& store, std::string_view expression, const RegexOptions& options = {});

}  // namespace plm
