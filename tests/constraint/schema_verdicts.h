// What a schema accepts, judged by the slow oracle.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/grammar_oracle.h"
#include "constraint/json_schema.h"

namespace plm::testing {

inline Grammar compiled(std::string_view schema, const JsonSchemaOptions& options = {}) {
  auto grammar = json_schema_grammar(schema, options);
  if (!grammar.has_value()) ADD_FAILURE() << schema << ": " << grammar.error().message;
  return grammar.has_value() ? std::move(*grammar) : json_schema_grammar("true").value();
}

// Which of the texts the schema accepts, as "10110".
inline std::string verdicts(std::string_view schema, const std::vector<std::string>& texts,
                            const JsonSchemaOptions& options = {}) {
  Grammar grammar = compiled(schema, options);
  GrammarOracle oracle(grammar);
  std::string result;
  for (const std::string& text : texts) result += oracle.accepts(text) ? '1' : '0';
  return result;
}

inline Error refusal(std::string_view schema, const JsonSchemaOptions& options = {}) {
  const auto grammar = json_schema_grammar(schema, options);
  return grammar.has_value() ? Error{ErrorKind::failed, "was not refused"} : grammar.error();
}

}  // namespace plm::testing
