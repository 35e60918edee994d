// Ollama: its clients read one JSON object a line, and some take whatever one read gives them for one object; so every
// object is written alone, with a little gap behind it. Sampling controls are in `options`.
#include <chrono>

#include "base/utf8.h"
#include "engine/embedding.h"
#include "serve/dialect.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/text_fields.h"
#include "serve/token_json.h"
#include "serve/tool_calls.h"

namespace plm {
namespace {

constexpr int kGapMs = 2;

constexpr Field kCommonFields[] = {
    {.name = "model", .use = FieldUse::is_inert},
    {.name = "options", .summary = "sampling controls, num_predict, stop, seed", .type = FieldType::object},
    {.name = "stream",
     .summary = "the answer comes while it is written; true if not given",
     .type = FieldType::boolean},
    {.name = "think", .summary = "whether the model is to think first", .type = FieldType::any},
    {.name = "keep_alive", .use = FieldUse::is_inert},
    {.name = "format", .type = FieldType::any},
    {.name = "logprobs", .type = FieldType::boolean},
    {.name = "top_logprobs", .type = FieldType::integer, .min = 0, .max = 1000},
    {.name = "truncate", .type = FieldType::any},
    {.name = "shift", .use = FieldUse::is_ignored, .neutral = "[false, true]"},
};
constexpr Field kGenerateFields[] = {
    {.name = "prompt", .summary = "the text to go on from, or what the user says"},
    {.name = "suffix", .summary = "what stands behind the text"},
    {.name = "system", .summary = "the system message"},
    {.name = "raw", .summary = "the prompt goes to the model as it is", .type = FieldType::boolean},
    {.name = "template", .use = FieldUse::is_ignored, .neutral = "[\"\"]"},
    {.name = "context", .use = FieldUse::is_ignored, .neutral = "[[]]"},
    {.name = "images", .use = FieldUse::is_ignored, .neutral = "[[]]"},
};
constexpr Field kChatFields[] = {
    {.name = "messages", .summary = "who said what", .type = FieldType::array},
    {.name = "tools", .summary = "functions that the model may call", .type = FieldType::array},
};
constexpr Field kEmbedFields[] = {
    {.name = "input", .aliases = "prompt", .summary = "a text, or an array of texts", .type = FieldType::any},
    {.name = "dimensions", .type = FieldType::integer, .min = 1, .max = 1 << 20},
    {.name = "truncate", .summary = "cut what is too long; true if not given", .type = FieldType::boolean},
    {.name = "options", .use = FieldUse::is_ignored, .neutral = "[{}]"},
    {.name = "keep_alive", .use = FieldUse::is_inert},
    {.name = "model", .use = FieldUse::is_inert},
};
constexpr Field kShowFields[] = {
    {.name = "model", .aliases = "name", .use = FieldUse::is_inert},
    {.name = "verbose", .use = FieldUse::is_inert},
};
std::span<const Field> common_fields() { return kCommonFields; }
std::span<const Field> generate_fields() { return kGenerateFields; }
std::span<const Field> chat_fields() { return kChatFields; }
std::span<const Field> embed_fields() { return kEmbedFields; }
std::span<const Field> show_fields() { return kShowFields; }
constexpr FieldTable kGenerateTables[] = {generate_fields, common_fields, report_fields};
constexpr FieldTable kChatTables[] = {chat_fields, common_fields, report_fields};
constexpr FieldTable kEmbedTables[] = {embed_fields, report_fields};
constexpr FieldTable kShowTables[] = {show_fields, report_fields};
// Of `options`, in which the rest of the request is put for reading.
constexpr FieldTable kOptionTables[] = {text_fields, sampling_only_fields, foreign_fields, report_fields};

Json failure_json(const Failure& failure) { return {{"error", failure.message}}; }

std::string time_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::int64_t nanoseconds(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

class OllamaForm : public AnswerForm {
 public:
  OllamaForm(bool is_chat, Json tools) : is_chat_(is_chat), tools_(std::move(tools)) {}

  std::string_view stream_type() const override { return "application/x-ndjson"; }
  int gap_ms() const override { return kGapMs; }

  Json whole(const Answer& answer) override {
    const TextResult& text = answer.texts.front();
    const CalledTools called = calls_in(text.text);
    Json json = object(answer, called.text, text.thinking, called.calls);
    if (answer.plan->basis.log_probabilities.has_value()) {
      json["logprobs"] = openai_chat_logprobs(answer, text.reports)["content"];
    }
    finish(json, answer, text);
    return json;
  }

  void piece(const Answer& answer, const Piece& piece, Frames& frames) override {
    const std::string text = tools_.empty() ? piece.text : filter_.push(piece.text);
    const bool has_logprobs = answer.plan->basis.log_probabilities.has_value();
    if (text.empty() && piece.thinking.empty() && !has_logprobs) return;
    Json json = object(answer, text, piece.thinking, {});
    if (has_logprobs) json["logprobs"] = openai_chat_logprobs(answer, piece.tokens)["content"];
    json["done"] = false;
    frames.push_back(line(json));
  }
  void end(const Answer& answer, Frames& frames) override {
    if (!tools_.empty()) {
      const CalledTools called = calls_in(filter_.finish());
      if (!called.text.empty() || !called.calls.empty()) {
        Json json = object(answer, called.text, "", called.calls);
        json["done"] = false;
        frames.push_back(line(json));
      }
    }
    Json json = object(answer, "", "", {});
    finish(json, answer, answer.texts.front());
    frames.push_back(line(json));
  }
  void failed(const Failure& failure, Frames& frames) override { frames.push_back(line(failure_json(failure))); }

 private:
  static std::string line(const Json& json) { return json_text(json) + "\n"; }

  [[nodiscard]] CalledTools calls_in(const std::string& text) const {
    return tools_.empty() ? CalledTools{text, {}} : find_tool_calls(text, tools_);
  }

  [[nodiscard]] Json object(const Answer& answer, const std::string& text, const std::string& thinking,
                            const std::vector<ToolCall>& calls) const {
    Json json = {{"model", answer.model}, {"created_at", time_text(answer.created)}};
    if (!is_chat_) {
      json["response"] = text;
      if (!thinking.empty()) json["thinking"] = thinking;
      return json;
    }
    json["message"] = {{"role", "assistant"}, {"content", text}};
    if (!thinking.empty()) json["message"]["thinking"] = thinking;
    for (const ToolCall& call : calls) {
      json["message"]["tool_calls"].push_back({{"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    return json;
  }

  static void finish(Json& json, const Answer& answer, const TextResult& text) {
    json["done"] = true;
    json["done_reason"] = openai_finish(text.reason);
    json["total_duration"] = nanoseconds(text.queue_ms + text.prompt_ms + text.decode_ms);
    json["load_duration"] = 0;
    json["prompt_eval_count"] = text.prompt_tokens;
    json["prompt_eval_duration"] = nanoseconds(text.prompt_ms);
    json["eval_count"] = text.tokens.size();
    json["eval_duration"] = nanoseconds(text.decode_ms);
    if (!answer.report.is_null()) json["x_plm"] = answer.report;
  }

  bool is_chat_;
  Json tools_;  // empty: none
  ToolCallFilter filter_;
};

// The request in the form that the other dialects have: the options beside what is common.
Json flattened(const Call& call) {
  Json flat = Json::object();
  if (const Json* options = call.fields.find("options"); options != nullptr) flat = *options;
  for (const char* name : {"format", "logprobs", "top_logprobs", "truncate", "x_plm", "strict"}) {
    if (const Json* value = call.fields.find(name); value != nullptr) flat[name] = *value;
  }
  if (flat.contains("truncate") && flat["truncate"].is_boolean()) flat.erase("truncate");  // never in silence
  flat["stream"] = call.fields.boolean("stream", true);
  return flat;
}

void note_unread(const Call& call, TextPlan& text) {
  const auto& ignored = call.fields.ignored();
  text.report.ignored.insert(text.report.ignored.end(), ignored.begin(), ignored.end());
  for (const auto& [name, value] : call.fields.undeclared()) text.report.ignored.push_back(printable(name, 80));
  const Json* options = call.fields.find("options");
  const auto context = static_cast<std::int64_t>(call.model.engine.context_length());
  if (options == nullptr || !options->contains("num_ctx") || !(*options)["num_ctx"].is_number_integer()) return;
  if ((*options)["num_ctx"].get<std::int64_t>() <= context) return;
  text.report.clamped.emplace_back("num_ctx");
  text.report.notes.push_back(
      fmt::format("num_ctx: the context was fixed at {} tokens when the server started", context));
}

Json conversation_of(const Call& call) {
  Json conversation = Json::object();
  conversation["messages"] = Json::array();
  if (const Json* think = call.fields.find("think"); think != nullptr && think->is_boolean()) {
    conversation["enable_thinking"] = *think;
  }
  return conversation;
}

Result<Plan> finish(const RequestFields& options, const Call& call, std::unique_ptr<TextPlan> text,
                    std::unique_ptr<OllamaForm> form) {
  PLM_TRY(check_plan(options, call.model, *text));
  Plan plan;
  plan.text = std::move(text);
  plan.form = std::move(form);
  return plan;
}

// Loading, which clients ask for by an empty request, has been done.
Plan loaded(const Call& call, const char* key) {
  Json json = {{"model", call.model.name}, {"created_at", time_text(call.model.created)}};
  json[key] = std::string_view(key) == "message" ? Json{{"role", "assistant"}, {"content", ""}} : Json("");
  json["done"] = true;
  json["done_reason"] = "load";
  return answer_now(json);
}

Result<Plan> generate(const Call& call) {
  const std::string prompt = call.fields.text("prompt"), suffix = call.fields.text("suffix");
  if (prompt.empty() && suffix.empty()) return loaded(call, "response");
  const Json flat = flattened(call);
  PLM_TRY_ASSIGN(const RequestFields options, RequestFields::read(kOptionTables, flat));
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(options, {.profile = "ollama"}, call.model, *text));
  note_unread(call, *text);
  const bool has_template = call.model.chat_template.has_value() && !text->fills_page;
  if (!suffix.empty()) {
    PLM_TRY(set_hole(prompt, suffix, call.model, *text));
  } else if (call.fields.boolean("raw") || !has_template) {
    PLM_TRY_ASSIGN(TextPrompt one, text_prompt(call.model, prompt, true));
    text->prompts.push_back(std::move(one));
    if (call.fields.has("system")) text->report.ignored.emplace_back("system");
  } else {
    Json conversation = conversation_of(call);
    if (call.fields.has("system")) {
      conversation["messages"].push_back(chat_message("system", call.fields.text("system")));
    }
    conversation["messages"].push_back(chat_message("user", prompt));
    PLM_TRY(read_conversation(conversation, call.model, *text));
  }
  return finish(options, call, std::move(text), std::make_unique<OllamaForm>(false, Json::array()));
}

// Messages as the other dialects have them: thinking and calls are called otherwise here.
Json adapted(Json message) {
  if (!message.is_object()) return message;
  if (message.contains("thinking")) message["reasoning_content"] = message["thinking"];
  if (message.contains("tool_name")) message["name"] = message["tool_name"];
  if (message.contains("tool_calls") && message["tool_calls"].is_array()) {
    for (Json& one : message["tool_calls"]) {
      if (one.is_object() && !one.contains("type")) one["type"] = "function";
    }
  }
  return message;
}

Result<Plan> chat(const Call& call) {
  const Json* messages = call.fields.find("messages");
  if (messages == nullptr || messages->empty()) return loaded(call, "message");
  const Json flat = flattened(call);
  PLM_TRY_ASSIGN(const RequestFields options, RequestFields::read(kOptionTables, flat));
  auto text = std::make_unique<TextPlan>();
  PLM_TRY(read_text_fields(options, {.profile = "ollama"}, call.model, *text));
  note_unread(call, *text);
  Json conversation = conversation_of(call);
  for (const Json& message : *messages) conversation["messages"].push_back(adapted(message));
  const Json* tools = call.fields.find("tools");
  if (tools != nullptr && !tools->empty()) conversation["tools"] = *tools;
  PLM_TRY(read_conversation(conversation, call.model, *text));
  return finish(options, call, std::move(text),
                std::make_unique<OllamaForm>(true, conversation.value("tools", Json::array())));
}

Result<Plan> plan_embeddings(const Call& call, bool is_old) {
  PLM_TRY_ASSIGN(const auto texts, texts_of(call.fields, "input", call.model));
  EmbeddingOptions options{.cuts = call.fields.boolean("truncate", true)};
  options.dimensions = static_cast<std::size_t>(call.fields.integer("dimensions").value_or(0));
  Plan plan;
  plan.task = [texts, options, is_old, name = call.model.name](
                  Engine& engine, const std::function<bool()>& interrupted) -> Result<Json> {
    const Stopwatch watch;
    PLM_TRY_ASSIGN(const auto embeddings, embed(engine, texts, options, {.interrupted = interrupted}));
    if (is_old) return Json{{"embedding", embeddings.front().values}};
    Json list = Json::array();
    std::size_t tokens = 0;
    for (const Embedding& one : embeddings) {
      list.push_back(one.values);
      tokens += one.tokens;
    }
    return Json{{"model", name},
                {"embeddings", list},
                {"total_duration", nanoseconds(watch.elapsed_ms())},
                {"load_duration", 0},
                {"prompt_eval_count", tokens}};
  };
  return plan;
}
Result<Plan> embed_texts(const Call& call) { return plan_embeddings(call, false); }
Result<Plan> embed_old(const Call& call) { return plan_embeddings(call, true); }

Json metadata_text(const GgufFile& file, std::string_view key, std::string_view standard) {
  const auto value = file.string_value(key);
  return value.has_value() ? std::string(*value) : std::string(standard);
}

Json details_of(const ServedModel& model) {
  const Json family = metadata_text(model.engine.file(), "general.architecture", "unknown");
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", family},
          {"families", Json::array({family})},
          {"parameter_size", metadata_text(model.engine.file(), "general.size_label", "")},
          {"quantization_level", ""}};
}

Json entry_of(const ServedModel& model) {
  return {{"name", model.name},       {"model", model.name}, {"modified_at", time_text(model.created)},
          {"size", model.file_bytes}, {"digest", ""},        {"details", details_of(model)}};
}

Result<Plan> tags(const Call& call) { return answer_now({{"models", Json::array({entry_of(call.model)})}}); }

Result<Plan> running(const Call& call) {
  Json entry = entry_of(call.model);
  entry["expires_at"] = "2318-01-01T00:00:00Z";
  entry["size_vram"] = 0;
  entry["context_length"] = call.model.engine.context_length();
  return answer_now({{"models", Json::array({entry})}});
}

Result<Plan> show(const Call& call) {
  const ServedModel& model = call.model;
  const std::string family = details_of(model)["family"].get<std::string>();
  Json info = {{"general.architecture", family}};
  info[family + ".context_length"] = model.engine.context_length();
  info[family + ".embedding_length"] = model.engine.shape().hidden_size;
  Json capabilities = Json::array();
  if (model.engine.kind() == ModelKind::writer) {
    capabilities.push_back("completion");
    if (model.chat_template.has_value()) capabilities.push_back("tools");
    if (model.chat_template.has_value() && model.chat_template->thinking().has_value()) {
      capabilities.push_back("thinking");
    }
  } else {
    capabilities.push_back("embedding");
  }
  return answer_now({{"license", ""},
                     {"modelfile", ""},
                     {"parameters", ""},
                     {"template", model.chat_template.has_value() ? model.chat_template->source().text : std::string()},
                     {"details", details_of(model)},
                     {"model_info", info},
                     {"capabilities", capabilities},
                     {"modified_at", time_text(model.created)}});
}

// Clients read from the number which requests are understood.
Result<Plan> version(const Call& /*call*/) { return answer_now({{"version", "0.13.0"}}); }

constexpr Route kRoutes[] = {
    {"GET", "/api/version", "the API's version", {}, version},
    {"GET", "/api/tags", "the model that is served", {}, tags},
    {"GET", "/api/ps", "the model that is loaded", {}, running},
    {"POST", "/api/show", "what the model is", kShowTables, show},
    {"POST", "/api/generate", "goes on from a prompt", kGenerateTables, generate},
    {"POST", "/api/chat", "answers in a conversation", kChatTables, chat},
    {"POST", "/api/embed", "gives texts vectors", kEmbedTables, embed_texts},
    {"POST", "/api/embeddings", "gives a text a vector", kEmbedTables, embed_old},
};

}  // namespace

extern constinit const Dialect dialect_ollama = {
    .head = {.name = "ollama", .summary = "Ollama's API", .source = "Ollama's API description; ecosystem notes, 1.1"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
