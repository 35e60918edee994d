// Gathers what the engine tells of a request's texts, and passes it on in the words of a dialect: in pieces while they
// are written, or whole at the end.
//
// What must stay true: pieces joined are the whole text; every piece is well-formed UTF-8; a failure before the first
// byte is a status, one after it an event of the stream. Tested by tests/serve/test_answer_writer.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "serve/engine_worker.h"
#include "serve/text_plan.h"
#include "text/chat/thinking.h"

namespace plm {

class AnswerWriter : public TextSink {
 public:
  /// What the writer is given and keeps.
  struct Parts {
    std::unique_ptr<TextPlan> plan;
    std::unique_ptr<AnswerForm> form;
    std::shared_ptr<Exchange> exchange;
    std::string id, model;
    std::int64_t created = 0;
    const Vocabulary* vocabulary = nullptr;
    /// A failure before anything was sent, as the dialect tells it.
    std::function<HttpResponse(const Failure&)> refuse;
    /// Told at the end, once: the status, and what was written.
    std::function<void(int status, const Answer& answer)> on_end;
    HttpHeaders headers;  ///< of the answer
  };
  explicit AnswerWriter(Parts parts);

  /// The texts to be written, for the worker; `self` is this.
  static std::vector<TextOrder> orders(const std::shared_ptr<AnswerWriter>& self);

  /// Ends the texts where they are; what is written so far is the answer. From any thread.
  void break_off() { is_broken_off_ = true; }
  /// What is written so far of the first text. From any thread.
  [[nodiscard]] std::string text_so_far() const;

  [[nodiscard]] bool is_wanted() const override;
  void started(std::size_t index, const Generation& generation, double waited_ms) override;
  void on_event(std::size_t index, const Event& event) override;
  void ended(std::size_t index, const Result<DecodeOutcome>& outcome) override;

 private:
  // One text under way.
  struct Writing {
    TextResult result;
    ThinkingSplitter splitter;
    Piece pending;          // tokens whose text is not out yet
    Stopwatch since_start;  // of the text
  };

  void begin_stream();
  void on_committed(Writing& writing, const Event& event);
  void on_text(Writing& writing, const std::string& text);
  void take(Writing& writing, const ThinkingSplitter::Parts& parts);
  void end_text(Writing& writing);
  void finish();
  void fail_all(const Error& error);
  void keep_best();
  [[nodiscard]] Json report() const;
  void send(AnswerForm::Frames& frames);

  Parts parts_;
  Answer answer_;
  std::vector<Writing> writings_;
  std::size_t left_ = 0;  // texts that are not over
  bool has_begun_ = false;
  int status_ = 200;  // another one: it has failed
  std::atomic<bool> is_broken_off_ = false;
  mutable std::mutex mutex_;  // of text_so_far_ only
  std::string text_so_far_;
};

/// The status that an error is answered with, and the field that it names, if any.
[[nodiscard]] Failure failure_of(const Error& error);

}  // namespace plm
