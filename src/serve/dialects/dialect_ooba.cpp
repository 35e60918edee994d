// text-generation-webui: what its clients ask besides OpenAI's API, which is the same here.
// Tested by tests/serve/dialects/test_dialect_tabby.cpp.
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/text_fields.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr Field kEncodeFields[] = {{.name = "text", .summary = "the text"}};
constexpr Field kDecodeFields[] = {{.name = "tokens", .summary = "ids of tokens", .type = FieldType::array}};
constexpr Field kStopFields[] = {{.name = "genkey"}};
std::span<const Field> encode_fields() { return kEncodeFields; }
std::span<const Field> decode_fields() { return kDecodeFields; }
std::span<const Field> stop_fields() { return kStopFields; }
constexpr FieldTable kEncodeTables[] = {encode_fields, report_fields};
constexpr FieldTable kDecodeTables[] = {decode_fields, report_fields};
constexpr FieldTable kStopTables[] = {stop_fields, report_fields};

Json failure_json(const Failure& failure) { return {{"detail", failure.message}}; }

Result<Plan> info(const Call& call) {
  return answer_now({{"model_name", call.model.name}, {"lora_names", Json::array()}, {"loader", "palimpsest"}});
}
Result<Plan> list(const Call& call) { return answer_now({{"model_names", Json::array({call.model.name})}}); }

Result<Plan> encode(const Call& call) {
  PLM_TRY_ASSIGN(const TextPrompt prompt, text_prompt(call.model, call.fields.text("text"), true));
  return answer_now({{"tokens", prompt.tokens}, {"length", prompt.tokens.size()}});
}
Result<Plan> count(const Call& call) {
  PLM_TRY_ASSIGN(const TextPrompt prompt, text_prompt(call.model, call.fields.text("text"), true));
  return answer_now({{"length", prompt.tokens.size()}});
}

Result<Plan> decode(const Call& call) {
  PLM_TRY_ASSIGN(const auto tokens, ids_of(call.fields, "tokens", call.model));
  return answer_now({{"text", detokenize(call.model.vocabulary(), tokens, {.show_special = true})}});
}

Result<Plan> stop(const Call& call) {
  (void)call.server.break_off(call.fields.text("genkey"));
  return answer_now("OK");
}

constexpr Route kRoutes[] = {
    {"GET", "/v1/internal/model/info", "the model that is served", {}, info},
    {"GET", "/v1/internal/model/list", "the model that is served", {}, list},
    {"POST", "/v1/internal/encode", "cuts a text into tokens", kEncodeTables, encode},
    {"POST", "/v1/internal/decode", "joins tokens to a text", kDecodeTables, decode},
    {"POST", "/v1/internal/token-count", "counts a text's tokens", kEncodeTables, count},
    {"POST", "/v1/internal/stop-generation", "ends the running text", kStopTables, stop},
};

}  // namespace

extern constinit const Dialect dialect_ooba = {
    .head = {.name = "ooba", .summary = "text-generation-webui's own routes", .source = "ecosystem notes, 1.1"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
