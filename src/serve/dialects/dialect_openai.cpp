// OpenAI's API: what most clients speak. Completions with echo, log-probabilities, token arrays and batches (as lm-eval
// asks), conversations with tools and reasoning, embeddings.
#include "base/base64.h"
#include "engine/embedding.h"
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/text_fields.h"
#include "serve/token_json.h"
#include "serve/tool_calls.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr std::int64_t kCompletionTokens = 16;  // where the request is silent

constexpr Field kCompletionFields[] = {
    {.name = "prompt", .summary = "a text, an array of token ids, or an array of either", .type = FieldType::any},
    {.name = "suffix", .summary = "what stands behind the text"},
    {.name = "echo", .summary = "the answer begins with the prompt", .type = FieldType::boolean},
    {.name = "stream_options", .summary = "{\"include_usage\": true}", .type = FieldType::object},
};
constexpr Field kChatFields[] = {
    {.name = "messages", .summary = "who said what", .type = FieldType::array},
    {.name = "tools", .summary = "functions that the model may call", .type = FieldType::array},
    {.name = "tool_choice", .summary = "auto or none", .type = FieldType::any},
    {.name = "documents", .type = FieldType::array},
    {.name = "add_generation_prompt", .type = FieldType::boolean},
    {.name = "continue_final_message", .type = FieldType::boolean},
    {.name = "enable_thinking", .type = FieldType::boolean},
    {.name = "chat_template_kwargs", .summary = "more variables for the template", .type = FieldType::object},
    {.name = "stream_options", .summary = "{\"include_usage\": true}", .type = FieldType::object},
};
constexpr Field kEmbeddingFields[] = {
    {.name = "input", .summary = "a text, or an array of texts", .type = FieldType::any},
    {.name = "encoding_format", .summary = "float or base64"},
    {.name = "dimensions", .type = FieldType::integer, .min = 1, .max = 1 << 20},
    {.name = "model", .use = FieldUse::is_inert},
    {.name = "user", .use = FieldUse::is_inert},
};
std::span<const Field> completion_fields() { return kCompletionFields; }
std::span<const Field> chat_fields() { return kChatFields; }
std::span<const Field> embedding_fields() { return kEmbeddingFields; }
constexpr FieldTable kCompletionTables[] = {completion_fields, text_fields, sampling_only_fields, foreign_fields,
                                            report_fields};
constexpr FieldTable kChatTables[] = {chat_fields, text_fields, sampling_only_fields, foreign_fields, report_fields};
constexpr FieldTable kEmbeddingTables[] = {embedding_fields, report_fields};

Json failure_json(const Failure& failure) {
  const char* type = failure.status == 401   ? "authentication_error"
                     : failure.status == 404 ? "not_found_error"
                     : failure.status < 500  ? "invalid_request_error"
                     : failure.status == 503 ? "unavailable_error"
                                             : "server_error";
  return {{"error",
           {{"message", failure.message},
            {"type", type},
            {"param", failure.field.empty() ? Json() : Json(failure.field)},
            {"code", failure.status}}}};
}

bool includes_usage(const RequestFields& fields) {
  const Json* options = fields.find("stream_options");
  return options != nullptr && options->value("include_usage", Json()) == true;
}

// What chunks of a stream have in common with one another, and with the whole.
Json envelope(const Answer& answer, std::string_view prefix, std::string_view object) {
  return {{"id", fmt::format("{}-{}", prefix, answer.id)},
          {"object", object},
          {"created", answer.created},
          {"model", answer.model},
          {"choices", Json::array()}};
}

void end_stream(Json last, const Answer& answer, bool with_usage, AnswerForm::Frames& frames) {
  if (with_usage) last["usage"] = openai_usage(answer);
  if (!answer.report.is_null()) last["x_plm"] = answer.report;
  if (with_usage || !answer.report.is_null()) frames.push_back(sse(last));
  frames.emplace_back("data: [DONE]\n\n");
}

class CompletionForm : public AnswerForm {
 public:
  CompletionForm(bool echoes, bool with_usage) : echoes_(echoes), with_usage_(with_usage) {}

  Json whole(const Answer& answer) override {
    Json json = envelope(answer, "cmpl", "text_completion");
    for (const TextResult& text : answer.texts) {
      const bool has_logprobs = answer.plan->basis.log_probabilities.has_value();
      std::size_t offset = 0;
      Json logprobs;
      if (has_logprobs && echoes_) logprobs = openai_echo_logprobs(answer, text);
      if (has_logprobs && !echoes_) logprobs = openai_logprobs(answer, text.reports, offset);
      json["choices"].push_back({{"index", text.index},
                                 {"text", (echoes_ ? prompt_of(answer, text.index) : "") + text.text},
                                 {"logprobs", logprobs},
                                 {"finish_reason", openai_finish(text.reason)}});
    }
    json["usage"] = openai_usage(answer);
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
    return json;
  }

  void begin(const Answer& answer, Frames& frames) override {
    if (!echoes_) return;
    for (std::size_t i = 0; i < answer.plan->prompts.size() * answer.plan->count; ++i) {
      frames.push_back(sse(chunk(answer, i, prompt_of(answer, i), nullptr, nullptr)));
    }
  }
  void piece(const Answer& answer, const Piece& piece, Frames& frames) override {
    Json logprobs;
    if (answer.plan->basis.log_probabilities.has_value()) {
      offsets_.resize(std::max(offsets_.size(), piece.index + 1));
      logprobs = openai_logprobs(answer, piece.tokens, offsets_[piece.index]);
    }
    frames.push_back(sse(chunk(answer, piece.index, piece.text, logprobs, nullptr)));
  }
  void text_ended(const Answer& answer, const TextResult& text, Frames& frames) override {
    frames.push_back(sse(chunk(answer, text.index, "", nullptr, openai_finish(text.reason))));
  }
  void end(const Answer& answer, Frames& frames) override {
    end_stream(envelope(answer, "cmpl", "text_completion"), answer, with_usage_, frames);
  }
  void failed(const Failure& failure, Frames& frames) override { frames.push_back(sse(failure_json(failure))); }

 private:
  static std::string prompt_of(const Answer& answer, std::size_t index) {
    return answer.plan->prompts[index / answer.plan->count].text;
  }
  static Json chunk(const Answer& answer, std::size_t index, const std::string& text, Json logprobs, Json finish) {
    Json json = envelope(answer, "cmpl", "text_completion");
    json["choices"].push_back(
        {{"index", index}, {"text", text}, {"logprobs", std::move(logprobs)}, {"finish_reason", std::move(finish)}});
    return json;
  }

  bool echoes_, with_usage_;
  std::vector<std::size_t> offsets_;  // of each text, in characters
};

class ChatForm : public AnswerForm {
 public:
  ChatForm(Json tools, bool with_usage) : tools_(std::move(tools)), with_usage_(with_usage) {}

  Json whole(const Answer& answer) override {
    Json json = envelope(answer, "chatcmpl", "chat.completion");
    for (const TextResult& text : answer.texts) {
      Json message = {{"role", "assistant"}, {"content", text.text}};
      std::string_view finish = openai_finish(text.reason);
      if (!text.thinking.empty()) message["reasoning_content"] = text.thinking;
      if (!tools_.empty()) {
        const CalledTools called = find_tool_calls(text.text, tools_);
        if (!called.calls.empty()) {
          message["content"] = called.text.empty() ? Json() : Json(called.text);
          message["tool_calls"] = calls_json(answer, text.index, called, false);
          finish = "tool_calls";
        }
      }
      Json logprobs;
      if (answer.plan->basis.log_probabilities.has_value()) logprobs = openai_chat_logprobs(answer, text.reports);
      json["choices"].push_back(
          {{"index", text.index}, {"message", message}, {"logprobs", logprobs}, {"finish_reason", finish}});
    }
    json["usage"] = openai_usage(answer);
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
    return json;
  }

  void begin(const Answer& answer, Frames& frames) override {
    filters_.resize(answer.plan->prompts.size() * answer.plan->count);
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      frames.push_back(sse(chunk(answer, i, {{"role", "assistant"}, {"content", ""}}, nullptr)));
    }
  }
  void piece(const Answer& answer, const Piece& piece, Frames& frames) override {
    Json delta = Json::object();
    if (!piece.thinking.empty()) delta["reasoning_content"] = piece.thinking;
    const std::string text = tools_.empty() ? piece.text : filters_[piece.index].push(piece.text);
    if (!text.empty()) delta["content"] = text;
    const bool has_logprobs = answer.plan->basis.log_probabilities.has_value();
    if (delta.empty() && !has_logprobs) return;
    Json json = chunk(answer, piece.index, std::move(delta), nullptr);
    if (has_logprobs) json["choices"][0]["logprobs"] = openai_chat_logprobs(answer, piece.tokens);
    frames.push_back(sse(json));
  }
  void text_ended(const Answer& answer, const TextResult& text, Frames& frames) override {
    std::string_view finish = openai_finish(text.reason);
    if (!tools_.empty()) {
      const CalledTools called = find_tool_calls(filters_[text.index].finish(), tools_);
      if (!called.text.empty()) frames.push_back(sse(chunk(answer, text.index, {{"content", called.text}}, nullptr)));
      if (!called.calls.empty()) {
        frames.push_back(
            sse(chunk(answer, text.index, {{"tool_calls", calls_json(answer, text.index, called, true)}}, nullptr)));
        finish = "tool_calls";
      }
    }
    frames.push_back(sse(chunk(answer, text.index, Json::object(), finish)));
  }
  void end(const Answer& answer, Frames& frames) override {
    end_stream(envelope(answer, "chatcmpl", "chat.completion.chunk"), answer, with_usage_, frames);
  }
  void failed(const Failure& failure, Frames& frames) override { frames.push_back(sse(failure_json(failure))); }

 private:
  static Json chunk(const Answer& answer, std::size_t index, Json delta, Json finish) {
    Json json = envelope(answer, "chatcmpl", "chat.completion.chunk");
    json["choices"].push_back(
        {{"index", index}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", std::move(finish)}});
    return json;
  }
  static Json calls_json(const Answer& answer, std::size_t text, const CalledTools& called, bool with_index) {
    Json calls = Json::array();
    for (std::size_t i = 0; i < called.calls.size(); ++i) {
      Json call = {{"id", fmt::format("call_{}_{}_{}", answer.id, text, i)},
                   {"type", "function"},
                   {"function", {{"name", called.calls[i].name}, {"arguments", json_text(called.calls[i].arguments)}}}};
      if (with_index) call["index"] = i;
      calls.push_back(std::move(call));
    }
    return calls;
  }

  Json tools_;  // null or empty: none
  bool with_usage_;
  std::vector<ToolCallFilter> filters_;  // one a text
};

Result<Plan> completions(const Call& call) {
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {.max_tokens = kCompletionTokens}, call.model, *text));
  const bool echoes = call.fields.boolean("echo");
  const std::string suffix = call.fields.text("suffix");
  if (!suffix.empty()) {
    const Json* prompt = call.fields.find("prompt");
    if (prompt == nullptr || !prompt->is_string())
      return fail(ErrorKind::usage, "prompt: expected one text with suffix");
    PLM_TRY(set_hole(prompt->get<std::string>(), suffix, call.model, *text));
  } else {
    PLM_TRY(read_prompts(call.fields, "prompt", call.model, *text));
  }
  if (echoes && text->basis.log_probabilities.has_value()) text->basis.log_probabilities->prompt = true;
  PLM_TRY(check_plan(call.fields, call.model, *text));
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::make_unique<CompletionForm>(echoes, includes_usage(call.fields));
  return plan;
}

Result<Plan> chat(const Call& call) {
  if (!call.fields.has("messages")) return fail(ErrorKind::usage, "messages: missing, expected an array of messages");
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(call.fields, {}, call.model, *text));
  Json conversation = call.body;
  const Json* choice = call.fields.find("tool_choice");
  if (choice != nullptr && *choice == "none") conversation.erase("tools");
  if (choice != nullptr && *choice != "none" && *choice != "auto") {
    text->report.ignored.emplace_back("tool_choice");
    text->report.notes.emplace_back("tool_choice: a call cannot be forced without constraints; the model chooses");
  }
  PLM_TRY(read_conversation(conversation, call.model, *text));
  PLM_TRY(check_plan(call.fields, call.model, *text));
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::make_unique<ChatForm>(conversation.value("tools", Json::array()), includes_usage(call.fields));
  return plan;
}

Result<Plan> embeddings(const Call& call) {
  PLM_TRY_ASSIGN(const auto texts, texts_of(call.fields, "input", call.model));
  const std::string format = call.fields.text("encoding_format");
  if (!format.empty() && format != "float" && format != "base64") {
    return fail(ErrorKind::usage, "encoding_format: found \"{}\", expected float or base64", format);
  }
  EmbeddingOptions options;
  options.dimensions = static_cast<std::size_t>(call.fields.integer("dimensions").value_or(0));
  Plan plan;
  plan.task = [texts, options, format, name = call.model.name](
                  Engine& engine, const std::function<bool()>& interrupted) -> Result<Json> {
    PLM_TRY_ASSIGN(const auto embeddings, embed(engine, texts, options, {.interrupted = interrupted}));
    Json data = Json::array();
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < embeddings.size(); ++i) {
      const std::vector<float>& values = embeddings[i].values;
      const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
      data.push_back({{"object", "embedding"},
                      {"index", i},
                      {"embedding", format == "base64" ? Json(base64_encode(bytes)) : Json(values)}});
      tokens += embeddings[i].tokens;
    }
    return Json{{"object", "list"},
                {"data", data},
                {"model", name},
                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
  };
  return plan;
}

Json model_json(const ServedModel& model) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "palimpsest"},
          {"max_model_len", model.engine.context_length()},
          {"meta",
           {{"vocab_type", model.vocabulary().kind().name},
            {"n_vocab", model.vocabulary().size()},
            {"n_ctx", model.engine.context_length()},
            {"size", model.file_bytes}}}};
}

Result<Plan> models(const Call& call) { return answer_now({{"object", "list"}, {"data", {model_json(call.model)}}}); }

Result<Plan> one_model(const Call& call) {
  if (call.argument == call.model.name) return answer_now(model_json(call.model));
  return answer_now(
      failure_json(
          {.status = 404, .message = fmt::format("model: this server has only {}", call.model.name), .field = "model"}),
      404);
}

constexpr std::string_view kComplete = "goes on from prompts", kChat = "answers in a conversation",
                           kEmbed = "gives texts vectors", kList = "the model that is served";
constexpr Route kRoutes[] = {
    {"GET", "/v1/models", kList, {}, models},
    {"GET", "/models", kList, {}, models},
    {"GET", "/v1/models/{}", kList, {}, one_model},
    {"POST", "/v1/completions", kComplete, kCompletionTables, completions},
    {"POST", "/v1/chat/completions", kChat, kChatTables, chat},
    {"POST", "/chat/completions", kChat, kChatTables, chat},
    {"POST", "/v1/embeddings", kEmbed, kEmbeddingTables, embeddings},
};

}  // namespace

extern constinit const Dialect dialect_openai = {
    .head = {.name = "openai",
             .summary = "OpenAI's API: completions, conversations, embeddings",
             .source = "OpenAI's API reference; ecosystem notes, 1.5"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
