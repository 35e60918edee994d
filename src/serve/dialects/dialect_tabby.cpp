// TabbyAPI: what its clients ask besides OpenAI's API, which is the same here.
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/text_fields.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr Field kEncodeFields[] = {
    {.name = "text", .summary = "a text, or an array of messages", .type = FieldType::any},
    {.name = "add_bos_token", .type = FieldType::boolean},
    {.name = "encode_special_tokens", .summary = "control tokens may be spelled", .type = FieldType::boolean},
    {.name = "decode_special_tokens", .use = FieldUse::is_inert},
};
constexpr Field kDecodeFields[] = {
    {.name = "tokens", .summary = "ids of tokens", .type = FieldType::array},
    {.name = "decode_special_tokens", .type = FieldType::boolean},
    {.name = "add_bos_token", .use = FieldUse::is_inert},
    {.name = "encode_special_tokens", .use = FieldUse::is_inert},
};
std::span<const Field> encode_fields() { return kEncodeFields; }
std::span<const Field> decode_fields() { return kDecodeFields; }
constexpr FieldTable kEncodeTables[] = {encode_fields, report_fields};
constexpr FieldTable kDecodeTables[] = {decode_fields, report_fields};

Json failure_json(const Failure& failure) {
  return {{"error", {{"message", failure.message}}}, {"detail", failure.message}};
}

Json model_card(const ServedModel& model) {
  return {
      {"id", model.name},
      {"object", "model"},
      {"created", model.created},
      {"owned_by", "palimpsest"},
      {"parameters", {{"max_seq_len", model.engine.context_length()}, {"cache_size", model.engine.context_length()}}}};
}

Result<Plan> model(const Call& call) { return answer_now(model_card(call.model)); }
Result<Plan> models(const Call& call) {
  return answer_now({{"object", "list"}, {"data", Json::array({model_card(call.model)})}});
}

Result<Plan> encode(const Call& call) {
  const Json* text = call.fields.find("text");
  if (text == nullptr) return fail(ErrorKind::usage, "text: missing, expected a text");
  std::vector<TokenId> tokens;
  if (text->is_array()) {
    TextPlan plan;
    PLM_TRY(read_conversation({{"messages", *text}}, call.model, plan));
    tokens = std::move(plan.prompts.front().tokens);
  } else if (text->is_string()) {
    const EncodeOptions options{.add_special = call.fields.boolean("add_bos_token", true),
                                .parse_special = call.fields.boolean("encode_special_tokens", true)};
    PLM_TRY_ASSIGN(tokens, call.model.tokenizer().encode(text->get<std::string>(), options));
  } else {
    return fail(ErrorKind::usage, "text: expected a text, or an array of messages");
  }
  return answer_now({{"tokens", tokens}, {"length", tokens.size()}});
}

Result<Plan> decode(const Call& call) {
  PLM_TRY_ASSIGN(const auto tokens, ids_of(call.fields, "tokens", call.model));
  const DetokenizeOptions options{.show_special = call.fields.boolean("decode_special_tokens")};
  return answer_now({{"text", detokenize(call.model.vocabulary(), tokens, options)}});
}

Result<Plan> nothing(const Call& /*call*/) { return answer_now({{"object", "list"}, {"data", Json::array()}}); }
Result<Plan> permission(const Call& /*call*/) { return answer_now({{"permission", "api"}}); }

constexpr Route kRoutes[] = {
    {"GET", "/v1/model", "the model that is served", {}, model},
    {"GET", "/v1/model/list", "the model that is served", {}, models},
    {"GET", "/v1/lora", "none", {}, nothing},
    {"GET", "/v1/loras", "none", {}, nothing},
    {"GET", "/v1/lora/list", "none", {}, nothing},
    {"GET", "/v1/auth/permission", "what a key allows", {}, permission},
    {"POST", "/v1/token/encode", "cuts a text into tokens", kEncodeTables, encode},
    {"POST", "/v1/token/decode", "joins tokens to a text", kDecodeTables, decode},
};

}  // namespace

extern constinit const Dialect dialect_tabby = {
    .head = {.name = "tabby", .summary = "TabbyAPI's own routes", .source = "ecosystem notes, 1.1"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
