// The texts of the strings that a rule allows, between the quotation marks (see json_schema_text.h for how they are
// spelled): lengths count characters, patterns are searches over the value, formats are patterns of the whole value.
// Tested by tests/constraint/test_json_schema_string.cpp.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "constraint/json_schema_logic.h"
#include "constraint/json_schema_rules.h"
#include "constraint/json_schema_text.h"
#include "constraint/regex_parser.h"

namespace plm {

class SchemaStrings {
 public:
  SchemaStrings(JsonText& text, SchemaRefusals& refusals) : text_(text), refusals_(refusals) {}

  /// The texts of the values that `rule` allows; in the free spelling where nothing but lengths is asked and `free`.
  /// Errors: bad_input (a pattern that is no regular expression, or a format that is not enforced).
  Result<Regular> texts(const StringRule& rule, bool free);
  /// Texts, canonically spelled, whose value has a match of `pattern`. `keyword` and `origin` are for messages.
  Result<Regular> matching(const std::string& pattern, SchemaId origin, std::string_view keyword);

 private:
  RegexOptions spelled(bool search);
  Result<Regular> of_format(const StringRule::Match& format);

  JsonText& text_;
  SchemaRefusals& refusals_;
  std::map<std::string, Regular> patterns_, formats_;
};

}  // namespace plm
