#include "constraint/constraint_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "constraint/gbnf_parser.h"
#include "constraint/json_schema.h"
#include "constraint/regex_parser.h"

namespace plm {
namespace {

constexpr std::array<std::pair<std::string_view, ConstraintLanguage>, 4> kNames{{
    {"gbnf", ConstraintLanguage::gbnf},
    {"regex", ConstraintLanguage::regex},
    {"choice", ConstraintLanguage::choice},
    {"json_schema", ConstraintLanguage::json_schema},
}};

Result<Grammar> of_regex(std::string_view expression) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root");
  PLM_TRY_ASSIGN(const Regular language, parse_regex(builder.store(), expression));
  builder.define(root, builder.regular(language));
  return builder.finish(root);
}

Result<Grammar> of_choices(const std::vector<std::string>& choices) {
  if (choices.empty()) return fail(ErrorKind::usage, "a choice of nothing; give one text at least");
  for (const std::string& choice : choices) {
    if (!utf8_is_valid(choice)) return fail(ErrorKind::usage, "the choice '{}' is not UTF-8", printable(choice));
  }
  GrammarBuilder builder;
  const RuleId root = builder.declare("root");
  builder.define(root, builder.regular(builder.store().literals(choices)));
  return builder.finish(root);
}

}  // namespace

std::string_view constraint_language_name(ConstraintLanguage language) {
  return std::ranges::find(kNames, language, &decltype(kNames)::value_type::second)->first;
}

std::optional<ConstraintLanguage> find_constraint_language(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::first);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

Result<Grammar> grammar_of(const ConstraintSource& source, const NamedTokens& tokens,
                           std::vector<std::string>& warnings) {
  switch (source.language) {
    case ConstraintLanguage::gbnf: {
      GbnfOptions options{.lenient = source.lenient, .limits = {}, .find_token = tokens.find, .tokens = tokens.count};
      options.warnings = &warnings;
      return parse_gbnf(source.text, options);
    }
    case ConstraintLanguage::regex: return of_regex(source.text);
    case ConstraintLanguage::choice: return of_choices(source.choices);
    case ConstraintLanguage::json_schema: break;
  }
  JsonSchemaReport report;
  JsonSchemaOptions options;
  options.lenient = source.lenient;
  PLM_TRY_ASSIGN(Grammar grammar, json_schema_grammar(source.text, options, &report));
  for (const std::vector<SchemaRemark>* remarks : {&report.refused, &report.warnings}) {
    for (const SchemaRemark& remark : *remarks) {
      warnings.push_back(fmt::format("JSON Schema, {}: {}: {}", remark.pointer, remark.keyword, remark.text));
    }
  }
  return grammar;
}

}  // namespace plm
