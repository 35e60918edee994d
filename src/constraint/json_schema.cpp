#include "constraint/json_schema.h"

#include <algorithm>
#include <utility>

#include "constraint/json_schema_logic.h"
#include "constraint/json_schema_writer.h"

namespace plm {

Result<Part> json_schema_part(GrammarBuilder& builder, std::string_view schema, const JsonSchemaOptions& options,
                              JsonSchemaReport* report) {
  PLM_TRY_ASSIGN(const auto document, SchemaDocument::read(schema, options.limits));
  SchemaRefusals refusals(*document, options.lenient);
  SchemaLogic logic(*document, refusals);
  SchemaWriter writer(builder, logic, options);
  SchemaTerms terms;
  add_term(terms, {document->root(), true});
  PLM_TRY_ASSIGN(const RuleId root, writer.write(terms));
  if (builder.store().exhausted()) return tl::unexpected<Error>(builder.store().exhaustion().within("json schema"));
  if (report != nullptr) {
    report->refused = refusals.refused();
    report->warnings = document->warnings();
    report->enforced = document->asserted();
    std::erase_if(report->enforced, [&](const SchemaRemark& remark) {
      return std::any_of(report->refused.begin(), report->refused.end(), [&](const SchemaRemark& refused) {
        return refused.pointer == remark.pointer && refused.keyword == remark.keyword;
      });
    });
  }
  return builder.rule(root);
}

Result<Grammar> json_schema_grammar(std::string_view schema, const JsonSchemaOptions& options,
                                    JsonSchemaReport* report) {
  GrammarBuilder builder(options.limits);
  PLM_TRY_ASSIGN(const Part part, json_schema_part(builder, schema, options, report));
  const RuleId root = builder.declare("json");
  builder.define(root, part);
  auto grammar = builder.finish(root);
  if (!grammar.has_value()) {
    if (grammar.error().kind == ErrorKind::unsatisfiable) {
      return fail(ErrorKind::unsatisfiable, "json schema: #: no value fits; two keywords contradict each other");
    }
    return tl::unexpected<Error>(grammar.error().within("json schema"));
  }
  if (report != nullptr) report->rules = grammar->rules().size();
  return grammar;
}

}  // namespace plm
