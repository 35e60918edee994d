#include "constraint/response_format.h"

#include "base/json.h"
#include "base/utf8.h"
#include "constraint/structural_tags.h"

namespace plm {
namespace {

Result<std::optional<Grammar>> of_schema(const std::string& schema, const JsonSchemaOptions& options,
                                         JsonSchemaReport* report) {
  auto grammar = json_schema_grammar(schema, options, report);
  if (!grammar.has_value()) return tl::unexpected<Error>(grammar.error().within("response_format"));
  return std::optional<Grammar>(std::move(*grammar));
}

Result<std::optional<Grammar>> of_tags(const Json& format, const JsonSchemaOptions& options, JsonSchemaReport* report) {
  PLM_TRY_ASSIGN(const StructuralTags tags, read_structural_tags(format));
  GrammarBuilder builder(options.limits);
  PLM_TRY_ASSIGN(const Part part, structural_tags(builder, tags, options, report));
  const RuleId root = builder.declare("response");
  builder.define(root, part);
  PLM_TRY_ASSIGN(Grammar grammar, builder.finish(root));
  return std::optional<Grammar>(std::move(grammar));
}

}  // namespace

Result<std::optional<Grammar>> response_format_grammar(const Json& format, const JsonSchemaOptions& options,
                                                       JsonSchemaReport* report) {
  const auto type = format.is_object() ? format.find("type") : format.end();
  if (!format.is_object() || type == format.end() || !type->is_string()) {
    return fail(ErrorKind::bad_input, "response_format: expected an object with a \"type\"");
  }
  if (*type == "text") return std::optional<Grammar>();
  if (*type == "json_object") return of_schema(R"({"type": "object"})", options, report);
  if (*type == "structural_tag") return of_tags(format, options, report);
  if (*type != "json_schema") {
    return fail(ErrorKind::bad_input,
                "response_format: unknown type \"{}\"; known are text, json_object, json_schema, structural_tag",
                printable(type->get<std::string>(), 60));
  }
  const auto outer = format.find("json_schema");
  if (outer == format.end() || !outer->is_object() || !outer->contains("schema")) {
    return fail(ErrorKind::bad_input, "response_format: \"json_schema\" must be an object with a \"schema\"");
  }
  return of_schema(json_text((*outer)["schema"]), options, report);
}

}  // namespace plm
