// KoboldCpp: the routes of /api/v1 and /api/extra that its clients call.
#include "engine/embedding.h"
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/text_fields.h"
#include "serve/token_json.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr std::int64_t kStandardLength = 200;  // tokens, where the request is silent

constexpr Field kGenerateFields[] = {
    {.name = "prompt", .summary = "the text to go on from"},
    {.name = "memory", .summary = "stands in front of the prompt"},
    {.name = "banned_tokens", .summary = "texts that must not appear", .type = FieldType::texts},
    {.name = "ban_eos_token", .summary = "the model may never end the text", .type = FieldType::boolean},
    {.name = "bypass_eos", .summary = "go on after the model has ended the text", .type = FieldType::boolean},
    {.name = "render_special", .use = FieldUse::is_ignored, .neutral = "[false]"},
    {.name = "logprobs", .summary = "log-probabilities of the tokens", .type = FieldType::boolean},
    {.name = "images", .use = FieldUse::is_ignored, .neutral = "[[]]"},
    {.name = "replace_instruct_placeholders", .use = FieldUse::is_ignored, .neutral = "[false]"},
};
constexpr Field kKeyFields[] = {
    {.name = "genkey", .summary = "the key that the text was asked for with"},
};
constexpr Field kCountFields[] = {
    {.name = "prompt", .summary = "the text", .type = FieldType::text},
    {.name = "special", .summary = "with what the model expects in front of a text", .type = FieldType::boolean},
};
constexpr Field kIdsFields[] = {{.name = "ids", .summary = "ids of tokens", .type = FieldType::array}};
std::span<const Field> generate_fields() { return kGenerateFields; }
std::span<const Field> key_fields() { return kKeyFields; }
std::span<const Field> count_fields() { return kCountFields; }
std::span<const Field> ids_fields() { return kIdsFields; }
constexpr FieldTable kGenerateTables[] = {generate_fields, text_fields, sampling_only_fields, foreign_fields,
                                          report_fields};
constexpr FieldTable kKeyTables[] = {key_fields, report_fields};
constexpr FieldTable kCountTables[] = {count_fields, report_fields};
constexpr FieldTable kIdsTables[] = {ids_fields, report_fields};

Json failure_json(const Failure& failure) {
  const char* type = failure.status == 503  ? "service_unavailable"
                     : failure.status < 500 ? "bad_input"
                                            : "server_error";
  Json detail = {{"msg", failure.message}, {"type", type}};
  if (!failure.field.empty()) detail["loc"] = {"body", failure.field};
  return {{"detail", detail}};
}

class GenerateForm : public AnswerForm {
 public:
  Json whole(const Answer& answer) override {
    Json results = Json::array();
    for (const TextResult& text : answer.texts) {
      Json result = {{"text", text.text},
                     {"finish_reason", openai_finish(text.reason)},
                     {"prompt_tokens", text.prompt_tokens},
                     {"completion_tokens", text.tokens.size()}};
      if (answer.plan->basis.log_probabilities.has_value()) {
        result["logprobs"] = openai_chat_logprobs(answer, text.reports);
      }
      results.push_back(std::move(result));
    }
    Json json = {{"results", results}};
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
    return json;
  }
  void piece(const Answer& /*answer*/, const Piece& piece, Frames& frames) override {
    if (!piece.text.empty()) frames.push_back(sse({{"token", piece.text}, {"finish_reason", nullptr}}, "message"));
  }
  void text_ended(const Answer& /*answer*/, const TextResult& text, Frames& frames) override {
    frames.push_back(sse({{"token", ""}, {"finish_reason", openai_finish(text.reason)}}, "message"));
  }
  void end(const Answer& answer, Frames& frames) override {
    if (!answer.report.is_null()) frames.push_back(sse({{"token", ""}, {"x_plm", answer.report}}, "message"));
  }
  void failed(const Failure& failure, Frames& frames) override {
    frames.push_back(sse(failure_json(failure), "error"));
  }
};

Result<Plan> plan_text(const Call& call, bool streams) {
  if (!call.fields.has("prompt")) return fail(ErrorKind::usage, "prompt: missing, expected a text");
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {.profile = "koboldcpp", .max_tokens = kStandardLength}, call.model, *text));
  text->streams = streams;
  if (call.fields.boolean("ban_eos_token")) PLM_TRY(text->sampling.set_json("ban_eos", true));
  text->basis.ignore_end = call.fields.boolean("bypass_eos");
  for (std::string& phrase : call.fields.texts("banned_tokens")) {
    if (!phrase.empty()) text->basis.banned_phrases.push_back(std::move(phrase));
  }
  const bool add_special = call.fields.boolean("add_bos_token", true);
  PLM_TRY_ASSIGN(TextPrompt prompt,
                 text_prompt(call.model, call.fields.text("memory") + call.fields.text("prompt"), add_special));
  text->prompts.push_back(std::move(prompt));
  PLM_TRY(check_plan(call.fields, call.model, *text));
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::make_unique<GenerateForm>();
  return plan;
}

Result<Plan> generate(const Call& call) { return plan_text(call, false); }
Result<Plan> generate_stream(const Call& call) { return plan_text(call, true); }

Result<Plan> check(const Call& call) {
  return answer_now({{"results", {{{"text", call.server.running_text(call.fields.text("genkey"))}}}}});
}
Result<Plan> check_now(const Call& call) {
  return answer_now({{"results", {{{"text", call.server.running_text("")}}}}});
}
Result<Plan> break_off(const Call& call) {
  return answer_now({{"success", call.server.break_off(call.fields.text("genkey")) ? "true" : "false"}});
}

Result<Plan> token_count(const Call& call) {
  const EncodeOptions options{.add_special = call.fields.boolean("special", true), .parse_special = true};
  PLM_TRY_ASSIGN(const auto tokens, call.model.tokenizer().encode(call.fields.text("prompt"), options));
  return answer_now({{"value", tokens.size()}, {"ids", tokens}});
}

Result<Plan> text_of_ids(const Call& call) {
  PLM_TRY_ASSIGN(const auto tokens, ids_of(call.fields, "ids", call.model));
  return answer_now(
      {{"result", detokenize(call.model.vocabulary(), tokens, {.show_special = true})}, {"success", true}});
}

Result<Plan> model(const Call& call) { return answer_now({{"result", "koboldcpp/" + call.model.name}}); }
Result<Plan> context_length(const Call& call) { return answer_now({{"value", call.model.engine.context_length()}}); }
Result<Plan> length(const Call& /*call*/) { return answer_now({{"value", kStandardLength}}); }
Result<Plan> api_version(const Call& /*call*/) { return answer_now({{"result", "1.2.5"}}); }
// Clients read from the number which fields are understood.
Result<Plan> version(const Call& call) {
  return answer_now({{"result", "KoboldCpp"},
                     {"version", "1.100"},
                     {"protected", false},
                     {"llm", true},
                     {"txt2img", false},
                     {"vision", false},
                     {"transcribe", false},
                     {"multiplayer", false},
                     {"websearch", false},
                     {"tts", false},
                     {"embeddings", true},
                     {"program", "palimpsest " + call.model.version}});
}

Result<Plan> perf(const Call& call) {
  const ServerView::Totals totals = call.server.totals();
  const EngineWorker::Occupancy occupancy = call.server.occupancy();
  return answer_now({{"last_process", totals.last_prompt_ms / 1000},
                     {"last_eval", totals.last_decode_ms / 1000},
                     {"last_token_count", totals.last_written_tokens},
                     {"last_input_count", totals.last_prompt_tokens},
                     {"last_seed", totals.last_seed},
                     {"total_gens", totals.texts},
                     {"stop_reason", 0},
                     {"queue", occupancy.waiting},
                     {"idle", occupancy.running == 0 ? 1 : 0},
                     {"uptime", totals.uptime_s},
                     {"idletime", totals.idle_s}});
}

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/model", "the model's name", {}, model},
    {"GET", "/api/v1/info/version", "the API's version", {}, api_version},
    {"GET", "/api/latest/model", "the model's name", {}, model},
    {"GET", "/api/v1/config/max_context_length", "tokens of prompt and text", {}, context_length},
    {"GET", "/api/v1/config/max_length", "tokens of a text", {}, length},
    {"POST", "/api/v1/generate", "goes on from a prompt", kGenerateTables, generate},
    {"POST", "/api/latest/generate", "goes on from a prompt", kGenerateTables, generate},
    {"GET", "/api/extra/version", "what this server is", {}, version},
    {"GET", "/api/extra/true_max_context_length", "tokens of prompt and text", {}, context_length},
    {"GET", "/api/extra/perf", "times of the last text", {}, perf},
    {"POST", "/api/extra/generate/stream", "goes on from a prompt, in pieces", kGenerateTables, generate_stream},
    {"POST", "/api/extra/generate/check", "the running text so far", kKeyTables, check},
    {"GET", "/api/extra/generate/check", "the running text so far", {}, check_now},
    {"POST", "/api/extra/abort", "ends the running text", kKeyTables, break_off},
    {"POST", "/api/extra/tokencount", "counts tokens", kCountTables, token_count},
    {"POST", "/api/extra/tokenize", "counts tokens", kCountTables, token_count},
    {"POST", "/api/extra/detokenize", "joins tokens to a text", kIdsTables, text_of_ids},
};

}  // namespace

extern constinit const Dialect dialect_koboldcpp = {
    .head = {.name = "koboldcpp",
             .summary = "KoboldCpp's API",
             .source = "KoboldCpp's API description; ecosystem notes, 1.3"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
