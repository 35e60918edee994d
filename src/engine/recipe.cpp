#include "engine/recipe.h"

#include <limits>
#include <map>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::size_t kMostTexts = 4096;  // stop strings, banned phrases
constexpr std::string_view kNoDifference = "model.path";

Json given_settings(const Settings* settings, std::span<const Parameter> parameters) {
  Json given = Json::object();
  if (settings == nullptr) return given;
  const Json all = settings->as_json();
  for (const Parameter& parameter : parameters) {
    if (settings->was_given(parameter.name)) given[std::string(parameter.name)] = all.at(std::string(parameter.name));
  }
  return given;
}

// Reads the members of a recipe one by one; the first one that is wrong is the error.
class Reader {
 public:
  Reader(const Json& recipe, std::string_view name) : recipe_(recipe), name_(name) {}

  Result<const Json*> member(const Json& object, const char* key, Json::value_t type, std::string_view expected) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) {
      return fail(ErrorKind::bad_input, "{}: {} is missing; expected a recipe that plm wrote", name_, key);
    }
    const bool is_number = type == Json::value_t::number_float && found->is_number();
    if (found->type() != type && !is_number) return wrong(key, *found, expected);
    return &*found;
  }
  Result<const Json*> object(const char* key) const { return member(recipe_, key, Json::value_t::object, "an object"); }
  Result<std::string> text(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::string, "a text"));
    return value->get<std::string>();
  }
  Result<std::uint64_t> count(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::number_unsigned, "a whole number, not negative"));
    return value->get<std::uint64_t>();
  }
  Result<bool> boolean(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::boolean, "true or false"));
    return value->get<bool>();
  }
  Result<double> real(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::number_float, "a number"));
    return value->get<double>();
  }
  Result<std::vector<TokenId>> ids(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::array, "an array of token ids"));
    std::vector<TokenId> ids;
    for (const Json& id : *value) {
      if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<TokenId>::max()) {
        return wrong(key, id, "token ids");
      }
      ids.push_back(id.get<TokenId>());
    }
    return ids;
  }
  Result<std::vector<std::string>> texts(const Json& in, const char* key) const {
    PLM_TRY_ASSIGN(const Json* value, member(in, key, Json::value_t::array, "an array of texts"));
    if (value->size() > kMostTexts) return wrong(key, value->size(), fmt::format("at most {} texts", kMostTexts));
    std::vector<std::string> texts;
    for (const Json& text : *value) {
      if (!text.is_string()) return wrong(key, text, "texts");
      texts.push_back(text.get<std::string>());
    }
    return texts;
  }
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, const Json& found, std::string_view expected) const {
    return fail(ErrorKind::bad_input, "{}: {}: found {}, expected {}", name_, key, printable(json_text(found), 80),
                expected);
  }

 private:
  const Json& recipe_;
  std::string_view name_;
};

Result<GenerationRequest> read_request(const Reader& reader) {
  GenerationRequest request;
  PLM_TRY_ASSIGN(const Json* text, reader.object("text"));
  PLM_TRY_ASSIGN(request.prompt, reader.ids(*text, "prompt_ids"));
  PLM_TRY_ASSIGN(request.max_tokens, reader.count(*text, "max_tokens"));
  PLM_TRY_ASSIGN(request.stops, reader.texts(*text, "stops"));
  PLM_TRY_ASSIGN(request.seed, reader.count(*text, "seed"));
  PLM_TRY_ASSIGN(request.ignore_end, reader.boolean(*text, "ignore_end"));
  PLM_TRY_ASSIGN(request.decoder, reader.text(*text, "decoder"));
  PLM_TRY_ASSIGN(request.banned_phrases, reader.texts(*text, "banned_phrases"));
  PLM_TRY_ASSIGN(request.negative_prompt, reader.ids(*text, "negative_prompt_ids"));
  PLM_TRY_ASSIGN(request.guidance_scale, reader.real(*text, "guidance_scale"));
  PLM_TRY_ASSIGN(request.trace_top, reader.count(*text, "trace_top"));
  return request;
}

Json constraint_json(const ConstraintRequest& constraint) {
  const ConstraintSource& source = constraint.source;
  return {{"language", constraint_language_name(source.language)},
          {"text", source.text},
          {"choices", source.choices},
          {"lenient", source.lenient},
          {"closes", constraint.closes},
          {"resamples", constraint.resamples}};
}

// Recipes of texts without a constraint have no such member.
Result<void> read_constraint(const Reader& reader, const Json& recipe, GenerationRequest& request) {
  if (!recipe.is_object() || !recipe.contains("constraint")) return {};
  PLM_TRY_ASSIGN(const Json* json, reader.object("constraint"));
  ConstraintRequest& constraint = request.constraint.emplace();
  PLM_TRY_ASSIGN(const std::string language, reader.text(*json, "language"));
  const auto known = find_constraint_language(language);
  if (!known.has_value()) return reader.wrong("constraint.language", language, "gbnf, regex, choice or json_schema");
  constraint.source.language = *known;
  PLM_TRY_ASSIGN(constraint.source.text, reader.text(*json, "text"));
  PLM_TRY_ASSIGN(constraint.source.choices, reader.texts(*json, "choices"));
  PLM_TRY_ASSIGN(constraint.source.lenient, reader.boolean(*json, "lenient"));
  PLM_TRY_ASSIGN(constraint.closes, reader.boolean(*json, "closes"));
  PLM_TRY_ASSIGN(constraint.resamples, reader.boolean(*json, "resamples"));
  return {};
}

Json thinking_json(const ThinkingLimit& thinking) {
  return {{"size", thinking.size},   {"begin", thinking.begin},
          {"end", thinking.end},     {"begins_inside", thinking.begins_inside},
          {"grace", thinking.grace}, {"by_block", thinking.scope == BudgetScope::block},
          {"soft", thinking.soft},   {"message", thinking.message}};
}

// Recipes of texts without a budget for thinking have no such member.
Result<void> read_thinking(const Reader& reader, const Json& recipe, GenerationRequest& request) {
  if (!recipe.contains("thinking")) return {};
  PLM_TRY_ASSIGN(const Json* json, reader.object("thinking"));
  ThinkingLimit& thinking = request.thinking.emplace();
  PLM_TRY_ASSIGN(thinking.size, reader.text(*json, "size"));
  PLM_TRY_ASSIGN(thinking.begin, reader.text(*json, "begin"));
  PLM_TRY_ASSIGN(thinking.end, reader.text(*json, "end"));
  PLM_TRY_ASSIGN(thinking.begins_inside, reader.boolean(*json, "begins_inside"));
  PLM_TRY_ASSIGN(thinking.grace, reader.count(*json, "grace"));
  PLM_TRY_ASSIGN(const bool by_block, reader.boolean(*json, "by_block"));
  thinking.scope = by_block ? BudgetScope::block : BudgetScope::turn;
  PLM_TRY_ASSIGN(thinking.soft, reader.real(*json, "soft"));
  PLM_TRY_ASSIGN(thinking.message, reader.text(*json, "message"));
  return {};
}

Result<void> read_settings(const Json& values, Settings& settings, std::string_view where) {
  for (const auto& [key, value] : values.items()) {
    const auto set = settings.set_json(key, value);
    if (!set.has_value()) return fail(ErrorKind::bad_input, "{}: {}", where, set.error().message);
  }
  return {};
}

// "a.b.c" of every member that holds no others; a key that would not read as one is quoted.
void flatten(const Json& json, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& fields) {
  if (!json.is_object() || json.empty()) {
    fields.emplace_back(prefix, json_text(json));
    return;
  }
  for (const auto& [key, value] : json.items()) {
    const bool is_plain = !key.empty() && key.find_first_of(".\"") == std::string::npos;
    const std::string name = is_plain ? key : json_text(Json(key));
    flatten(value, prefix.empty() ? name : prefix + "." + name, fields);
  }
}

}  // namespace

Json make_recipe(const Engine& engine, const GenerationRequest& request, const Generation& generation,
                 const RecipeFacts& facts, const RecipeResult& result) {
  Json recipe{{"recipe", kRecipeVersion},
              {"program", {{"version", facts.program_version}, {"device", engine.device().describe()}}},
              {"model",
               {{"path", facts.model_path},
                {"header_sha256", facts.model.header},
                {"content_sha256", facts.model.content},
                {"context_length", engine.context_length()}}},
              {"engine", facts.engine_flags},
              {"text",
               {{"prompt_ids", request.prompt},
                {"max_tokens", request.max_tokens},
                {"stops", request.stops},
                {"seed", request.seed},
                {"ignore_end", request.ignore_end},
                {"decoder", request.decoder},
                {"banned_phrases", request.banned_phrases},
                {"negative_prompt_ids", request.negative_prompt},
                {"guidance_scale", request.guidance_scale},
                {"trace_top", request.trace_top.value_or(0)}}},
              {"sampling", given_settings(request.sampling, sampling_parameters())},
              {"sampling_from_model", facts.model_controls},
              {"parallel", given_settings(request.parallel, parallel_parameters())},
              {"chain", generation.chain()},
              {"result",
               {{"text", result.text},
                {"ids", result.ids},
                {"finish_reason", finish_reason_name(result.reason)},
                {"trace_sha256", result.trace_sha256}}}};
  if (request.constraint.has_value()) recipe["constraint"] = constraint_json(*request.constraint);
  if (request.thinking.has_value()) recipe["thinking"] = thinking_json(*request.thinking);
  return recipe;
}

Result<ReadRecipe> read_recipe(const Json& recipe, std::string_view name) {
  const Reader reader(recipe, name);
  PLM_TRY_ASSIGN(const auto version, reader.count(recipe, "recipe"));
  if (version != kRecipeVersion) return reader.wrong("recipe", version, fmt::format("{}", kRecipeVersion));
  ReadRecipe read;
  read.all = recipe;
  PLM_TRY_ASSIGN(const Json* model, reader.object("model"));
  PLM_TRY_ASSIGN(read.model_path, reader.text(*model, "path"));
  PLM_TRY_ASSIGN(const Json* engine_flags, reader.object("engine"));
  read.engine_flags = *engine_flags;
  PLM_TRY_ASSIGN(read.request, read_request(reader));
  PLM_TRY(read_constraint(reader, recipe, read.request));
  PLM_TRY(read_thinking(reader, recipe, read.request));
  PLM_TRY_ASSIGN(const Json* sampling, reader.object("sampling"));
  PLM_TRY(read_settings(*sampling, read.sampling, fmt::format("{}: sampling", name)));
  // Recipes of before these two had neither.
  if (recipe.contains("sampling_from_model")) {
    PLM_TRY_ASSIGN(read.model_controls, reader.texts(recipe, "sampling_from_model"));
  }
  if (recipe.contains("parallel")) {
    PLM_TRY_ASSIGN(const Json* parallel, reader.object("parallel"));
    PLM_TRY(read_settings(*parallel, read.parallel, fmt::format("{}: parallel", name)));
  }
  PLM_TRY(reader.object("result"));
  return read;
}

std::vector<RecipeDifference> recipe_differences(const Json& before, const Json& after) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  Fields of_before, of_after;
  flatten(before, "", of_before);
  flatten(after, "", of_after);
  const std::map<std::string, std::string> known_before(of_before.begin(), of_before.end());
  const std::map<std::string, std::string> known_after(of_after.begin(), of_after.end());
  std::vector<RecipeDifference> differences;
  for (const auto& [field, value] : of_before) {
    const auto other = known_after.find(field);
    const std::string found = other == known_after.end() ? std::string() : other->second;
    if (field != kNoDifference && found != value) differences.push_back({field, value, found});
  }
  for (const auto& [field, value] : of_after) {
    if (field != kNoDifference && !known_before.contains(field)) differences.push_back({field, "", value});
  }
  return differences;
}

}  // namespace plm
