// llama.cpp's server. Log-probabilities come in its shapes of today and of before, side by side; /tokenize also
// understands vLLM's way to ask, as it is the same path.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "engine/embedding.h"
#include "engine/rerank.h"
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/text_fields.h"
#include "serve/token_json.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr Field kCompletionFields[] = {
    {.name = "prompt",
     .summary = "a text, an array of token ids and texts, or an array of prompts",
     .type = FieldType::any},
    {.name = "return_tokens", .summary = "the answer has the tokens' ids", .type = FieldType::boolean},
    {.name = "response_fields", .summary = "only these fields of the answer", .type = FieldType::array},
};
constexpr Field kInfillFields[] = {
    {.name = "input_prefix", .summary = "what stands before the hole"},
    {.name = "input_suffix", .summary = "what stands behind it"},
    {.name = "prompt", .summary = "more text in front of the hole", .type = FieldType::any},
    {.name = "input_extra", .use = FieldUse::is_ignored, .neutral = "[[]]"},
    {.name = "return_tokens", .type = FieldType::boolean},
    {.name = "response_fields", .type = FieldType::array},
};
constexpr Field kTokenizeFields[] = {
    {.name = "content", .aliases = "prompt, text", .summary = "the text", .type = FieldType::any},
    {.name = "add_special",
     .aliases = "add_special_tokens, add_bos_token",
     .summary = "with what the model expects in front of a text",
     .type = FieldType::boolean},
    {.name = "parse_special", .summary = "control tokens may be spelled", .type = FieldType::boolean},
    {.name = "with_pieces", .aliases = "return_token_strs", .summary = "with texts", .type = FieldType::boolean},
    {.name = "messages", .summary = "a conversation in place of a text", .type = FieldType::array},
    {.name = "model", .use = FieldUse::is_inert},
};
constexpr Field kDetokenizeFields[] = {
    {.name = "tokens", .aliases = "ids", .summary = "ids of tokens", .type = FieldType::array},
    {.name = "model", .use = FieldUse::is_inert},
};
constexpr Field kTemplateFields[] = {
    {.name = "messages", .type = FieldType::array},
    {.name = "tools", .type = FieldType::array},
    {.name = "documents", .type = FieldType::array},
    {.name = "add_generation_prompt", .type = FieldType::boolean},
    {.name = "continue_final_message", .type = FieldType::boolean},
    {.name = "enable_thinking", .type = FieldType::boolean},
    {.name = "chat_template_kwargs", .type = FieldType::object},
    {.name = "model", .use = FieldUse::is_inert},
};
constexpr Field kEmbeddingFields[] = {
    {.name = "content", .aliases = "input, prompt", .summary = "a text, or an array of texts", .type = FieldType::any},
    {.name = "embd_normalize", .summary = "2: length 1; -1: as the model gives it", .type = FieldType::integer},
    {.name = "model", .use = FieldUse::is_inert},
};
constexpr Field kRerankFields[] = {
    {.name = "query", .summary = "what is looked for"},
    {.name = "documents", .aliases = "texts", .summary = "texts, or objects with text", .type = FieldType::array},
    {.name = "top_n", .summary = "only the best", .type = FieldType::integer, .min = 1, .max = 0x1p53},
    {.name = "return_documents", .aliases = "return_text", .type = FieldType::boolean},
    {.name = "model", .use = FieldUse::is_inert},
};
std::span<const Field> completion_fields() { return kCompletionFields; }
std::span<const Field> infill_fields() { return kInfillFields; }
std::span<const Field> tokenize_fields() { return kTokenizeFields; }
std::span<const Field> detokenize_fields() { return kDetokenizeFields; }
std::span<const Field> template_fields() { return kTemplateFields; }
std::span<const Field> embedding_fields() { return kEmbeddingFields; }
std::span<const Field> rerank_fields() { return kRerankFields; }
constexpr FieldTable kCompletionTables[] = {completion_fields, text_fields, sampling_only_fields, foreign_fields,
                                            report_fields};
constexpr FieldTable kInfillTables[] = {infill_fields, text_fields, sampling_only_fields, foreign_fields,
                                        report_fields};
constexpr FieldTable kTokenizeTables[] = {tokenize_fields, report_fields};
constexpr FieldTable kDetokenizeTables[] = {detokenize_fields, report_fields};
constexpr FieldTable kTemplateTables[] = {template_fields, report_fields};
constexpr FieldTable kEmbeddingTables[] = {embedding_fields, report_fields};
constexpr FieldTable kRerankTables[] = {rerank_fields, report_fields};

Json failure_json(const Failure& failure) {
  const char* type = failure.status < 500 ? "invalid_request_error" : "server_error";
  Json error = {{"code", failure.status}, {"message", failure.message}, {"type", type}};
  if (!failure.field.empty()) error["param"] = failure.field;
  return {{"error", error}};
}

const char* stop_type(FinishReason reason) {
  switch (reason) {
    case FinishReason::end_of_text: return "eos";
    case FinishReason::stop: return "word";
    case FinishReason::length:
    case FinishReason::context: return "limit";
    default: return "none";
  }
}

double per_second(std::size_t tokens, double ms) { return ms > 0 ? static_cast<double>(tokens) / ms * 1000 : 0; }

Json timings_of(const TextResult& text) {
  const std::size_t read = text.prompt_tokens - text.reused_tokens, written = text.tokens.size();
  return {{"cache_n", text.reused_tokens},
          {"prompt_n", read},
          {"prompt_ms", text.prompt_ms},
          {"prompt_per_second", per_second(read, text.prompt_ms)},
          {"predicted_n", written},
          {"predicted_ms", text.decode_ms},
          {"predicted_per_second", per_second(written, text.decode_ms)}};
}

Json settings_of(const TextPlan& plan) {
  Json settings = plan.sampling.as_json();
  settings["n_predict"] = plan.basis.max_tokens == std::size_t(-1) ? Json(-1) : Json(plan.basis.max_tokens);
  settings["seed"] = plan.basis.seed;
  settings["stop"] = plan.basis.stops;
  settings["stream"] = plan.streams;
  return settings;
}

class CompletionForm : public AnswerForm {
 public:
  CompletionForm(bool with_tokens, std::vector<std::string> only) : with_tokens_(with_tokens), only_(std::move(only)) {}

  Json whole(const Answer& answer) override {
    if (answer.texts.size() == 1) return one(answer, answer.texts.front());
    Json list = Json::array();
    for (const TextResult& text : answer.texts) list.push_back(one(answer, text));
    return list;
  }

  void piece(const Answer& answer, const Piece& piece, Frames& frames) override {
    Json tokens = Json::array();
    for (const TokenReport& report : piece.tokens) tokens.push_back(report.id);
    Json json = {{"index", piece.index}, {"content", piece.text}, {"tokens", tokens}, {"stop", false}};
    if (answer.plan->basis.log_probabilities.has_value()) {
      json["completion_probabilities"] = llamacpp_probabilities(answer, piece.tokens);
    }
    frames.push_back(sse(json));
  }
  void text_ended(const Answer& answer, const TextResult& text, Frames& frames) override {
    Json json = last(answer, text);
    json["content"] = "";
    json["tokens"] = Json::array();
    // The report comes with the end of the last text, which is not known here; it goes with each.
    frames.push_back(sse(json));
  }
  void end(const Answer& answer, Frames& frames) override {
    if (!answer.report.is_null()) frames.push_back(sse({{"content", ""}, {"stop", true}, {"x_plm", answer.report}}));
  }
  void failed(const Failure& failure, Frames& frames) override { frames.push_back(sse(failure_json(failure))); }

 private:
  static Json last(const Answer& answer, const TextResult& text) {
    const TextPrompt& prompt = answer.plan->prompts[text.index / answer.plan->count];
    return {{"index", text.index},
            {"content", text.text},
            {"tokens", Json::array()},
            {"id_slot", 0},
            {"stop", true},
            {"model", answer.model},
            {"tokens_predicted", text.tokens.size()},
            {"tokens_evaluated", text.prompt_tokens},
            {"generation_settings", settings_of(*answer.plan)},
            {"prompt", prompt.text},
            {"has_new_line", text.text.find('\n') != std::string::npos},
            {"truncated", false},
            {"stop_type", stop_type(text.reason)},
            {"stopped_eos", text.reason == FinishReason::end_of_text},
            {"stopped_word", text.reason == FinishReason::stop},
            {"stopped_limit", text.reason == FinishReason::length || text.reason == FinishReason::context},
            {"stopping_word", text.stop},
            {"tokens_cached", text.prompt_tokens + text.tokens.size()},
            {"timings", timings_of(text)}};
  }
  Json one(const Answer& answer, const TextResult& text) const {
    Json json = last(answer, text);
    if (with_tokens_) json["tokens"] = text.tokens;
    if (answer.plan->basis.log_probabilities.has_value()) {
      json["completion_probabilities"] = llamacpp_probabilities(answer, text.reports);
    }
    if (!only_.empty()) {
      Json some = Json::object();
      for (const std::string& name : only_) {
        if (json.contains(name)) some[name] = json[name];
      }
      json = std::move(some);
    }
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
    return json;
  }

  bool with_tokens_;
  std::vector<std::string> only_;  // fields of the answer; empty: all
};

Result<Plan> finish(const Call& call, std::unique_ptr<TextPlan> text) {
  PLM_TRY(check_plan(call.fields, call.model, *text));
  std::vector<std::string> only;
  if (const Json* names = call.fields.find("response_fields"); names != nullptr) {
    for (const Json& name : *names) {
      if (!name.is_string()) return fail(ErrorKind::usage, "response_fields: expected names of fields");
      only.push_back(name.get<std::string>());
    }
  }
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::make_unique<CompletionForm>(call.fields.boolean("return_tokens"), std::move(only));
  return plan;
}

Result<Plan> completion(const Call& call) {
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {.profile = "llamacpp"}, call.model, *text));
  PLM_TRY(read_prompts(call.fields, "prompt", call.model, *text));
  return finish(call, std::move(text));
}

Result<Plan> infill(const Call& call) {
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {.profile = "llamacpp"}, call.model, *text));
  const Json* prompt = call.fields.find("prompt");
  if (prompt != nullptr && !prompt->is_string()) return fail(ErrorKind::usage, "prompt: expected a text");
  const std::string more = prompt == nullptr ? std::string() : prompt->get<std::string>();
  PLM_TRY(set_hole(call.fields.text("input_prefix") + more, call.fields.text("input_suffix"), call.model, *text));
  return finish(call, std::move(text));
}

// vLLM puts the beginning of a text in front unless told otherwise, llama.cpp does not.
Result<Plan> tokenize(const Call& call) {
  const bool is_vllm = call.body.contains("prompt") || call.body.contains("messages");
  const bool add_special = call.fields.boolean("add_special", is_vllm);
  std::vector<TokenId> tokens;
  if (call.fields.has("messages")) {
    TextPlan text;
    PLM_TRY(read_conversation(call.body, call.model, text));
    tokens = std::move(text.prompts.front().tokens);
  } else {
    const Json* content = call.fields.find("content");
    if (content == nullptr) return fail(ErrorKind::usage, "content: missing, expected a text");
    if (!content->is_string()) return fail(ErrorKind::usage, "content: expected a text");
    const EncodeOptions options{.add_special = add_special,
                                .parse_special = call.fields.boolean("parse_special", true)};
    PLM_TRY_ASSIGN(tokens, call.model.tokenizer().encode(content->get<std::string>(), options));
  }
  Json list = Json(tokens), pieces = Json::array(), texts = Json::array();
  for (const TokenId id : tokens) {
    const std::string bytes = token_bytes(call.model.vocabulary(), id);
    Json piece = bytes;
    if (!utf8_is_valid(bytes)) {
      piece = Json::array();
      for (const char c : bytes) piece.push_back(static_cast<unsigned char>(c));
    }
    pieces.push_back({{"id", id}, {"piece", piece}});
    texts.push_back(utf8_sanitized(bytes));
  }
  const bool with_pieces = call.fields.boolean("with_pieces");
  Json json = {{"tokens", with_pieces && !is_vllm ? pieces : list},
               {"ids", list},
               {"count", tokens.size()},
               {"length", tokens.size()},
               {"value", tokens.size()},
               {"max_model_len", call.model.engine.context_length()}};
  if (with_pieces && is_vllm) json["token_strs"] = texts;
  return answer_now(json);
}

Result<Plan> detokenize_ids(const Call& call) {
  PLM_TRY_ASSIGN(const auto tokens, ids_of(call.fields, "tokens", call.model));
  const std::string text = detokenize(call.model.vocabulary(), tokens, {.show_special = true});
  return answer_now({{"content", text}, {"prompt", text}});
}

Result<Plan> apply_template(const Call& call) {
  TextPlan text;
  PLM_TRY(read_conversation(call.body, call.model, text));
  return answer_now({{"prompt", text.prompts.front().text}});
}

std::string special_text(const ServedModel& model, SpecialToken purpose) {
  const auto id = model.vocabulary().special(purpose);
  return id.has_value() ? std::string(model.vocabulary().text(*id)) : std::string();
}

Result<Plan> props(const Call& call) {
  const ServedModel& model = call.model;
  const Settings standards(sampling_parameters());
  return answer_now(
      {{"default_generation_settings",
        {{"id", 0}, {"n_ctx", model.engine.context_length()}, {"params", standards.as_json()}}},
       {"total_slots", call.server.slots().size()},
       {"model_alias", model.name},
       {"model_path", model.name},
       {"modalities", {{"vision", false}, {"audio", false}}},
       {"chat_template", model.chat_template.has_value() ? model.chat_template->source().text : std::string()},
       {"bos_token", special_text(model, SpecialToken::bos)},
       {"eos_token", special_text(model, SpecialToken::eos)},
       {"build_info", "palimpsest " + model.version}});
}

Result<Plan> slots(const Call& call) {
  Json list = Json::array();
  for (const EngineWorker::Slot& slot : call.server.slots()) {
    list.push_back({{"id", slot.id},
                    {"n_ctx", call.model.engine.context_length()},
                    {"is_processing", slot.is_busy},
                    {"n_past", slot.read_tokens}});
  }
  return answer_now(list);
}

Result<Plan> embedding(const Call& call) {
  PLM_TRY_ASSIGN(const auto texts, texts_of(call.fields, "content", call.model));
  EmbeddingOptions options;
  if (const auto norm = call.fields.integer("embd_normalize"); norm.has_value()) {
    if (*norm != 2 && *norm != -1) return fail(ErrorKind::usage, "embd_normalize: found {}, expected 2 or -1", *norm);
    options.normalizes = *norm == 2;
  }
  Plan plan;
  plan.task = [texts, options](Engine& engine, const std::function<bool()>& interrupted) -> Result<Json> {
    PLM_TRY_ASSIGN(const auto embeddings, embed(engine, texts, options, {.interrupted = interrupted}));
    Json list = Json::array();
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
      list.push_back({{"index", i}, {"embedding", {embeddings[i].values}}});
    }
    return list;
  };
  return plan;
}

Result<std::vector<std::string>> documents_of(const RequestFields& fields) {
  const Json* given = fields.find("documents");
  if (given == nullptr || given->empty()) return fail(ErrorKind::usage, "documents: missing, expected texts");
  if (given->size() > kTextLimits.prompts) {
    return fail(ErrorKind::usage, "documents: {}, expected at most {}", given->size(), kTextLimits.prompts);
  }
  std::vector<std::string> documents;
  for (const Json& document : *given) {
    const Json& text = document.is_object() && document.contains("text") ? document["text"] : document;
    if (!text.is_string()) {
      return fail(ErrorKind::usage, "documents[{}]: found {}, expected a text", documents.size(),
                  printable(json_text(document), 80));
    }
    documents.push_back(text.get<std::string>());
  }
  return documents;
}

Result<Plan> rank(const Call& call) {
  if (!call.fields.has("query")) return fail(ErrorKind::usage, "query: missing, expected a text");
  PLM_TRY_ASSIGN(const auto documents, documents_of(call.fields));
  const auto most =
      static_cast<std::size_t>(call.fields.integer("top_n").value_or(static_cast<std::int64_t>(documents.size())));
  Plan plan;
  plan.task = [documents, query = call.fields.text("query"), most, name = call.model.name,
               with_text = call.fields.boolean("return_documents")](
                  Engine& engine, const std::function<bool()>& interrupted) -> Result<Json> {
    PLM_TRY_ASSIGN(const auto ranking, rerank(engine, {query, documents}, {}, {.interrupted = interrupted}));
    Json results = Json::array();
    std::size_t tokens = 0;
    for (const Ranking& one : ranking) {
      tokens += one.tokens;
      if (results.size() >= most) continue;
      results.push_back({{"index", one.document}, {"relevance_score", one.score}});
      if (with_text) results.back()["document"] = {{"text", documents[one.document]}};
    }
    return Json{{"model", name},
                {"object", "list"},
                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
                {"results", results}};
  };
  return plan;
}

Result<Plan> no_adapters(const Call& /*call*/) { return answer_now(Json::array()); }

constexpr std::string_view kComplete = "goes on from prompts", kRank = "ranks documents by how well they answer",
                           kEmbed = "gives texts vectors";
constexpr Route kRoutes[] = {
    {"POST", "/completion", kComplete, kCompletionTables, completion},
    {"POST", "/completions", kComplete, kCompletionTables, completion},
    {"POST", "/infill", "fills in the middle of a text", kInfillTables, infill},
    {"POST", "/tokenize", "cuts a text into tokens", kTokenizeTables, tokenize},
    {"POST", "/detokenize", "joins tokens to a text", kDetokenizeTables, detokenize_ids},
    {"POST", "/apply-template", "what the model sees of a conversation", kTemplateTables, apply_template},
    {"POST", "/embedding", kEmbed, kEmbeddingTables, embedding},
    {"POST", "/embeddings", kEmbed, kEmbeddingTables, embedding},
    {"POST", "/rerank", kRank, kRerankTables, rank},
    {"POST", "/reranking", kRank, kRerankTables, rank},
    {"POST", "/v1/rerank", kRank, kRerankTables, rank},
    {"POST", "/v1/reranking", kRank, kRerankTables, rank},
    {"GET", "/props", "the model and its defaults", {}, props},
    {"GET", "/slots", "the texts in work", {}, slots},
    {"GET", "/lora-adapters", "none", {}, no_adapters},
};

}  // namespace

extern constinit const Dialect dialect_llamacpp = {
    .head = {.name = "llamacpp",
             .summary = "llama.cpp's server",
             .source = "llama.cpp, tools/server; ecosystem notes, 1.2"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
