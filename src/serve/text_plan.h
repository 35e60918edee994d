// What a request for text comes to, whatever dialect it was made in: prompts, controls, and how the answer is told.
//
// A dialect makes a plan from a request's JSON and turns what came of it into its own JSON. Both are plain functions of
// their arguments, so that a dialect is tested without engine or socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "serve/http_message.h"
#include "text/chat/chat_template.h"

namespace plm {

/// What became of a request's fields besides acting as asked.
struct Report {
  std::string profile;
  std::vector<std::string> ignored;      ///< fields without effect
  std::vector<std::string> clamped;      ///< fields whose value was changed
  std::vector<std::string> notes;        ///< sentences
  Json model_defaults = Json::object();  ///< sampling controls that the model's file brought
};

struct TextPrompt {
  std::vector<TokenId> tokens;
  std::string text = {};  ///< as it was given, or of the tokens; for answers that repeat it
};

struct TextPlan {
  std::vector<TextPrompt> prompts;
  std::size_t count = 1;    ///< texts for each prompt
  std::size_t best_of = 1;  ///< of which so many are written and the likeliest kept; at least `count`
  bool streams = false;
  bool wants_report = false;
  GenerationRequest basis;  ///< of every text, without prompt and listener; `sampling` is set when it is started
  Settings sampling{sampling_parameters()};
  Settings parallel{parallel_parameters()};
  bool fills_page = false;
  // Of conversations.
  bool splits_thinking = false;
  std::optional<ThinkingTags> thinking = {};
  bool begins_thinking = false;
  Report report;
};

/// A token of an answer, or of a prompt, with what was asked about it.
struct TokenReport {
  TokenId id = kNoToken;
  double log_probability = 0;
  std::vector<TokenLogProbability> top = {};
};

/// One text that was written.
struct TextResult {
  std::size_t index = 0;
  std::string text, thinking;
  std::vector<TokenId> tokens;
  std::vector<TokenReport> reports;         ///< of the tokens, if log-probabilities were asked for
  std::vector<TokenReport> prompt_reports;  ///< likewise, of all tokens of the prompt but the first
  FinishReason reason = FinishReason::none;
  std::string stop;  ///< the stop string that ended it
  std::uint64_t seed = 0;
  std::size_t prompt_tokens = 0, reused_tokens = 0, passes = 0;
  double queue_ms = 0, prompt_ms = 0, decode_ms = 0;
  Json chain = Json::array();  ///< the samplers that acted, in order
};

/// A request's whole answer.
struct Answer {
  std::string id;            ///< of the request
  std::int64_t created = 0;  ///< seconds since 1970
  std::string model;
  const TextPlan* plan = nullptr;
  const Vocabulary* vocabulary = nullptr;
  std::vector<TextResult> texts;  ///< prompt by prompt
  Json report;                    ///< the object `x_plm`; null: not asked for

  [[nodiscard]] std::size_t prompt_tokens() const;
  [[nodiscard]] std::size_t written_tokens() const;
  [[nodiscard]] std::size_t reused_tokens() const;
};

/// What a text has grown by.
struct Piece {
  std::size_t index = 0;
  std::string text, thinking;
  std::vector<TokenReport> tokens;
};

/// A failure as a client is told of it.
struct Failure {
  int status = 500;
  std::string message;
  std::string field = {};  ///< of the request; empty: none in particular
  int retry_after_s = 0;   ///< 0: no use, or nobody knows
};

/// How a dialect tells an answer. Called in order, by one thread at a time.
class AnswerForm {
 public:
  virtual ~AnswerForm() = default;
  [[nodiscard]] virtual Json whole(const Answer& answer) = 0;

  // Of an answer in pieces; what is appended to `frames` goes to the client, each in a write of its own.
  using Frames = std::vector<std::string>;
  [[nodiscard]] virtual std::string_view stream_type() const { return "text/event-stream"; }
  [[nodiscard]] virtual int gap_ms() const { return 0; }
  virtual void begin(const Answer& /*answer*/, Frames& /*frames*/) {}
  virtual void piece(const Answer& answer, const Piece& piece, Frames& frames) = 0;
  virtual void text_ended(const Answer& /*answer*/, const TextResult& /*text*/, Frames& /*frames*/) {}
  virtual void end(const Answer& answer, Frames& frames) = 0;
  virtual void failed(const Failure& failure, Frames& frames) = 0;
};

/// Work for the engine that is no text: embeddings, ranking. `interrupted` is to be asked between batches.
using EngineTask = std::function<Result<Json>(Engine& engine, const std::function<bool()>& interrupted)>;

/// What is to be done for a request; exactly one of the three.
struct Plan {
  std::optional<HttpResponse> ready = {};
  std::unique_ptr<TextPlan> text = {};
  std::unique_ptr<AnswerForm> form = {};  ///< with `text`
  EngineTask task = {};
};

[[nodiscard]] inline Plan answer_now(const Json& json, int status = 200) {
  Plan plan;
  plan.ready = HttpResponse{.status = status, .body = json_text(json)};
  return plan;
}

/// A frame of server-sent events; `event` may be empty.
[[nodiscard]] inline std::string sse(const Json& json, std::string_view event = {}) {
  return event.empty() ? "data: " + json_text(json) + "\n\n"
                       : fmt::format("event: {}\ndata: {}\n\n", event, json_text(json));
}

}  // namespace plm
