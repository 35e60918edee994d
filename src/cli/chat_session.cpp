#include "cli/chat_session.h"

#include "base/clock.h"
#include "cli/chat_flags.h"

namespace plm {
namespace {

bool is_from(const Json& message, std::string_view role) { return message["role"] == role; }

// What the listener of one answer gathers.
class AnswerBuilder {
 public:
  AnswerBuilder(const Vocabulary& vocabulary, const std::optional<ThinkingTags>& tags, bool begins_thinking)
      : vocabulary_(vocabulary), tags_(tags), splitter_(tags, begins_thinking) {}

  void on_event(const Event& event, const ChatSession::Sink& sink) {
    if (event.kind == EventKind::committed) {
      ++answer_.written_tokens;
      const double now_ms = since_start_.elapsed_ms();
      if (answer_.written_tokens == 1) answer_.first_token_ms = now_ms;
      answer_.decode_ms = now_ms - answer_.first_token_ms;
      push(tag_of(event.token), sink);
    } else if (event.kind == EventKind::stable_prefix) {
      push(event.text, sink);
    } else if (event.kind == EventKind::finished) {
      answer_.reason = event.reason;
    }
  }

  ChatAnswer finish(const ChatSession::Sink& sink) {
    take(splitter_.finish(), sink);
    return std::move(answer_);
  }

 private:
  // A control token's text is no part of the answer, unless it is a mark around the thinking.
  [[nodiscard]] std::string_view tag_of(TokenId token) const {
    if (!tags_.has_value() || vocabulary_.type(token) != TokenType::control) return {};
    const std::string_view text = vocabulary_.text(token);
    return text == tags_->begin || text == tags_->end ? text : std::string_view();
  }
  void push(std::string_view text, const ChatSession::Sink& sink) {
    if (!text.empty()) take(splitter_.push(text), sink);
  }
  void take(const ThinkingSplitter::Parts& parts, const ChatSession::Sink& sink) {
    answer_.thinking += parts.thinking;
    answer_.text += parts.answer;
    sink(parts);
  }

  const Vocabulary& vocabulary_;
  const std::optional<ThinkingTags>& tags_;
  ThinkingSplitter splitter_;
  ChatAnswer answer_;
  Stopwatch since_start_;
};

}  // namespace

Result<ChatAnswer> ChatSession::answer(const Sink& sink, const std::function<bool()>& interrupted) {
  PLM_TRY_ASSIGN(const ChatPrompt prompt, this->prompt());
  PLM_TRY_ASSIGN(std::vector<TokenId> ids, encode_prompt(prompt, engine_.tokenizer(), *policy_.settings));
  if (ids.size() >= engine_.context_length()) {
    return fail(ErrorKind::usage,
                "the conversation has {} tokens, the context holds {}, and the answer needs some of them; take turns "
                "back with /undo, begin anew with /clear, or start with a larger --context",
                ids.size(), engine_.context_length());
  }
  AnswerBuilder builder(engine_.vocabulary(), template_.thinking(), prompt.begins_thinking);
  const std::size_t prompt_tokens = ids.size();
  GenerationRequest request{
      .prompt = std::move(ids),
      .max_tokens = policy_.max_tokens,
      .sampling = policy_.settings,
      .stops = policy_.stops,
      .seed = policy_.seed,
      .constraint = policy_.constraint,
      .reuse_prefix = true,
      .listener = [&](const Event& event) { builder.on_event(event, sink); },
  };
  request.thinking = policy_.thinking;
  if (request.thinking.has_value()) request.thinking->begins_inside = prompt.begins_thinking;
  PLM_TRY_ASSIGN(const auto generation, engine_.start(std::move(request)));
  PLM_TRY(engine_.run(interrupted));
  if (generation->done()) PLM_TRY(generation->take());
  ChatAnswer answer = builder.finish(sink);
  answer.prompt_tokens = prompt_tokens;
  answer.reused_tokens = generation->reused_tokens();
  answer.seed = policy_.seed++;
  add_answer(answer);
  return answer;
}

void ChatSession::add_answer(const ChatAnswer& answer) {
  if (conversation_.continue_final_message) {
    Json& content = conversation_.messages.back()["content"];
    content = content.get<std::string>() + answer.text;
  } else {
    Json message = chat_message("assistant", answer.text);
    if (!answer.thinking.empty()) message["reasoning_content"] = answer.thinking;
    conversation_.messages.push_back(std::move(message));
  }
}

std::string ChatSession::system() const {
  const Json& messages = conversation_.messages;
  return !messages.empty() && is_from(messages[0], "system") ? messages[0]["content"].get<std::string>()
                                                             : std::string();
}

void ChatSession::set_system(std::string_view text) {
  Json& messages = conversation_.messages;
  if (!messages.empty() && is_from(messages[0], "system")) messages.erase(messages.begin());
  if (!text.empty()) messages.insert(messages.begin(), chat_message("system", text));
}

bool ChatSession::take_back_answer() {
  Json& messages = conversation_.messages;
  if (messages.empty() || !is_from(messages.back(), "assistant")) return false;
  messages.erase(messages.size() - 1);
  return true;
}

std::optional<std::string> ChatSession::take_back_turn() {
  Json& messages = conversation_.messages;
  std::size_t at = messages.size();
  while (at > 0 && !is_from(messages[at - 1], "user")) --at;
  if (at == 0) return std::nullopt;
  std::string text = messages[at - 1]["content"].get<std::string>();
  messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at - 1), messages.end());
  return text;
}

void ChatSession::clear() {
  const std::string kept = system();
  conversation_.messages = Json::array();
  set_system(kept);
}

}  // namespace plm
