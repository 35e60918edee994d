#include "serve/openapi.h"

#include <cmath>

#include "base/json.h"
#include "base/settings.h"
#include "sampling/chain.h"
#include "serve/dialect.h"
#include "serve/sampling_fields.h"

namespace plm {
namespace {

void add_range(Json& schema, double min, double max) {
  if (std::isfinite(min)) schema["minimum"] = min;
  if (std::isfinite(max)) schema["maximum"] = max;
}

Json schema_of(const Field& field) {
  Json schema = Json::object();
  const Json text = {{"type", "string"}};
  switch (field.type) {
    case FieldType::boolean: schema["type"] = "boolean"; break;
    case FieldType::integer: schema["type"] = "integer"; break;
    case FieldType::real: schema["type"] = "number"; break;
    case FieldType::text: schema["type"] = "string"; break;
    case FieldType::texts: schema["anyOf"] = {text, {{"type", "array"}, {"items", text}}}; break;
    case FieldType::object: schema["type"] = "object"; break;
    case FieldType::array: schema["type"] = "array"; break;
    case FieldType::any: break;
  }
  add_range(schema, field.min, field.max);
  if (!field.summary.empty()) schema["description"] = field.summary;
  return schema;
}

Json schema_of(const Parameter& parameter) {
  Json schema = {{"description", parameter.summary}};
  switch (parameter.type) {
    case ParameterType::boolean: schema["type"] = "boolean"; break;
    case ParameterType::integer: schema["type"] = "integer"; break;
    case ParameterType::real: schema["type"] = "number"; break;
    case ParameterType::text: break;  // also lists and objects
    case ParameterType::choice:
      schema["type"] = "string";
      for (const std::string_view choice : split_list(parameter.choices)) schema["enum"].push_back(choice);
  }
  add_range(schema, parameter.min, parameter.max);
  return schema;
}

// A field under each of its names.
void add_field(Json& properties, const Field& field) {
  if (field.use == FieldUse::is_ignored) return;
  const Json schema = schema_of(field);
  properties[std::string(field.name)] = schema;
  for (const std::string_view alias : split_list(field.aliases)) properties[std::string(alias)] = schema;
}

Json body_of(const Route& route) {
  Json properties = Json::object();
  bool samples = false;
  for (const FieldTable table : route.fields) {
    samples |= table == &sampling_only_fields;
    for (const Field& field : table()) add_field(properties, field);
  }
  if (samples) {
    for (const Parameter& parameter : sampling_parameters()) {
      const std::string name(parameter.name);
      if (!properties.contains(name)) properties[name] = schema_of(parameter);
    }
  }
  const Json schema = {{"type", "object"}, {"properties", properties}};
  return {{"content", {{"application/json", {{"schema", schema}}}}}};
}

}  // namespace

Json openapi_document(std::string_view version) {
  Json paths = Json::object();
  for (const Dialect* dialect : dialects()) {
    for (const Route& route : dialect->routes) {
      std::string path(route.path);
      Json operation = {{"summary", route.summary}, {"tags", {dialect->head.name}}};
      if (path.ends_with("{}")) {
        path.insert(path.size() - 1, "name");
        operation["parameters"] = {
            {{"name", "name"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}};
      }
      if (!route.fields.empty()) operation["requestBody"] = body_of(route);
      operation["responses"] = {{"200", {{"description", "the answer"}}}, {"400", {{"description", "a bad request"}}}};
      paths[path][route.method == "GET" ? "get" : "post"] = operation;
    }
  }
  return {{"openapi", "3.1.0"}, {"info", {{"title", "Palimpsest"}, {"version", version}}}, {"paths", paths}};
}

}  // namespace plm
