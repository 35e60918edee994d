// A conversation with a model: what was said so far, and the next answer. What an earlier answer left in the engine is
// used again as far as the words are the same, so an edited or repeated turn costs only what is new.
// Tested by tests/cli/test_chat.py.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "text/chat/chat_template.h"
#include "text/chat/thinking.h"

namespace plm {

/// How answers are written.
struct ChatPolicy {
  const Settings* settings = nullptr;  ///< samplers, and the flags of cli/chat_flags.h
  std::size_t max_tokens = 0;          ///< of one answer
  std::uint64_t seed = 0;              ///< of the first answer; the next one has the next
  std::vector<std::string> stops;
  std::optional<ConstraintRequest> constraint = {};  ///< of every answer
  std::optional<ThinkingLimit> thinking = {};        ///< likewise
};

struct ChatAnswer {
  std::string thinking, text;
  FinishReason reason = FinishReason::interrupted;
  std::uint64_t seed = 0;
  std::size_t prompt_tokens = 0, reused_tokens = 0, written_tokens = 0;
  double first_token_ms = 0, decode_ms = 0;
};

class ChatSession {
 public:
  /// Told what an answer has grown by.
  using Sink = std::function<void(const ThinkingSplitter::Parts&)>;

  /// Engine, template and settings must outlive the session.
  ChatSession(Engine& engine, const ChatTemplate& chat_template, ChatPolicy policy)
      : engine_(engine), template_(chat_template), policy_(std::move(policy)) {}

  /// Lets the model answer, or go on with its last answer, and adds that to the messages, also when it was interrupted.
  /// Errors: those of the template, of the tokeniser, of the engine; the messages are then as before.
  Result<ChatAnswer> answer(const Sink& sink, const std::function<bool()>& interrupted);

  /// What the model would see now.
  [[nodiscard]] Result<ChatPrompt> prompt() const { return template_.render(conversation_); }

  void say(std::string_view text) { conversation_.messages.push_back(chat_message("user", text)); }
  /// Puts `text` in front of everything; empty: nothing.
  void set_system(std::string_view text);
  [[nodiscard]] std::string system() const;

  /// Takes back the model's last answer. False: there is none.
  bool take_back_answer();
  /// Takes back the user's last message and what follows it; the message. None: there is none.
  std::optional<std::string> take_back_turn();
  /// All but the system message.
  void clear();

  [[nodiscard]] Conversation& conversation() { return conversation_; }
  [[nodiscard]] const Json& messages() const { return conversation_.messages; }

 private:
  void add_answer(const ChatAnswer& answer);

  Engine& engine_;
  const ChatTemplate& template_;
  ChatPolicy policy_;
  Conversation conversation_;
};

}  // namespace plm
