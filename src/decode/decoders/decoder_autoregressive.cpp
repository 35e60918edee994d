// One token after another: a pass over what is new, a draw from the last row, a commit; the canvas keeps exactly one
// open cell at its end. Source: datasheet, causal decoding.
//
// With banned phrases a token that may belong to one is held back, and taken back when it does (decode/phrase_bans.h):
// its cell is deleted and another token drawn from the same row. Under a constraint (decode/constraint_gate.h) a token
// that is settled is written without a pass of its own, and a stop string ends only a text that is complete. So are the
// tokens with which a thinking budget closes the thinking (decode/thinking_gate.h). Tested by
// tests/decode/test_decoder_autoregressive.cpp and the golden trajectories in tests/engine/.
#include <algorithm>

#include "decode/choice.h"
#include "decode/constraint_gate.h"
#include "decode/decoder.h"
#include "decode/thinking_gate.h"

namespace plm {
namespace {

constexpr std::size_t kScoredRows = 64;  // rows of a prompt whose logits lie in memory at once

/// One text under way.
class Writing {
 public:
  Writing(Session& session, DecodeJob& job)
      : session_(session),
        job_(job),
        needs_logits_(needs_logits(job)),
        gate_(job),
        thinking_(job.thinking, job.text.vocabulary()) {
    const std::vector<TokenId> prompt = job.canvas.tokens();
    prompt_length_ = prompt.size();
    job.chain.begin(prompt);
    PLM_CHECK(session.state_length() < prompt.size());  // one row at least must be computed to draw from
    unseen_.assign(prompt.begin() + static_cast<std::ptrdiff_t>(session.state_length()), prompt.end());
    if (job.max_tokens == 0) outcome_.reason = FinishReason::length;
    if (prompt.size() >= session.context_length()) outcome_.reason = FinishReason::context;
  }

  // Rows of the prompt that are to be scored go ahead in pieces; the last row is left for the draw unless nothing is to
  // be drawn.
  [[nodiscard]] bool has_rows_to_score() const {
    return job_.log_probabilities.has_value() && job_.log_probabilities->prompt && unseen_.size() > 1 &&
           outcome_.tokens.empty();
  }
  PassRequest scoring_request() {
    yields_.clear();
    const std::size_t count = std::min(unseen_.size() - 1, kScoredRows);
    for (std::uint32_t row = 0; row < count; ++row) yields_.push_back({row, YieldKind::logits, 0});
    return {.tokens = std::span(unseen_).first(count), .yields = yields_};
  }
  Result<void> score(const PassAnswer& answer);

  [[nodiscard]] bool goes_on() const { return outcome_.reason == FinishReason::none; }
  /// Looks whether a constraint settles the next cell, or the end.
  Result<void> look();
  /// Opens the next cell; whether a pass is needed to decide it.
  bool open() {
    const std::size_t position = job_.canvas.size();
    cell_ = job_.canvas.append_open(kNoToken);
    session_.emit({.kind = EventKind::inserted, .cell = cell_, .position = position});
    // The log-probability of a settled token is the network's all the same.
    return !again_.has_value() && (!is_settled_ || job_.log_probabilities.has_value());
  }
  PassRequest request() {
    yields_.assign(1, {.row = static_cast<std::uint32_t>(unseen_.size() - 1),
                       .kind = needs_logits_ || thinking_.changes_row() ? YieldKind::logits : YieldKind::statistics});
    return {.tokens = unseen_, .yields = yields_};
  }
  /// Decides the open cell by the row that came back, or the one that is drawn from again.
  Result<void> write(const PassAnswer* answer);
  void finish() {
    release(held_.size());  // nothing can complete a phrase any more
    emit_text(job_.text.finish());
    outcome_.thinking_tokens = thinking_.used();
    outcome_.forced_ends = thinking_.forced_ends();
    session_.emit({.kind = EventKind::finished, .reason = outcome_.reason});
  }
  DecodeOutcome take() { return std::move(outcome_); }

 private:
  struct Held {
    std::size_t position;
    TokenId token;
  };

  Result<Choice> choose_from(const PassAnswer* answer, std::size_t position);
  void commit(const Choice& choice, std::size_t position);
  Result<bool> ban(TokenId token, std::size_t position);
  void release(std::size_t count);
  void take_back(std::size_t position);
  Result<Choice> settled_choice(const PassAnswer* answer, std::size_t position);
  [[nodiscard]] bool stops();
  void emit_text(std::string text) {
    if (gate_.is_there()) text_ += text;
    if (!text.empty()) session_.emit({.kind = EventKind::stable_prefix, .text = std::move(text)});
  }

  Session& session_;
  DecodeJob& job_;
  const bool needs_logits_;
  std::size_t prompt_length_ = 0;
  DecodeOutcome outcome_;
  std::vector<TokenId> unseen_;              // by the network
  std::vector<Yield> yields_;                // of the pass in progress
  CellId cell_ = 0;                          // that is open
  std::vector<float> row_;                   // from which its token is drawn, if phrases are banned
  std::optional<std::vector<float>> again_;  // from which it is drawn after others were taken back
  std::vector<Held> held_;                   // written, and not yet text
  ConstraintGate gate_;
  ThinkingGate thinking_;
  bool is_settled_ = false;  // the open cell, by the constraint or the budget
  std::string text_;         // all that was emitted, under a constraint
};

Result<void> check_row(const RowStatistics& statistics, std::size_t position) {
  if (statistics.bad == 0) return {};
  return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
              position);
}

Result<void> Writing::score(const PassAnswer& answer) {
  const std::size_t count = answer.results.size();
  const std::size_t first = session_.state_length() - count;  // position of the first row
  for (std::size_t i = 0; i < count; ++i) {
    PLM_TRY(check_row(answer.statistics[i], first + i));
    const Cell& cell = job_.canvas.at(first + i + 1);
    PLM_TRY_ASSIGN(const GivenScore score, score_given(job_, answer.results[i].values, first + i + 1, cell.token));
    session_.emit({.kind = EventKind::scored,
                   .cell = cell.id,
                   .token = cell.token,
                   .position = first + i + 1,
                   .log_probability = score.log_probability,
                   .top = score.top});
  }
  unseen_.erase(unseen_.begin(), unseen_.begin() + static_cast<std::ptrdiff_t>(count));
  return {};
}

Result<Choice> Writing::choose_from(const PassAnswer* answer, std::size_t position) {
  if (answer != nullptr) {
    const RowStatistics& statistics = answer->statistics.front();
    PLM_TRY(check_row(statistics, position));
    if (!needs_logits_ && !thinking_.changes_row()) return Choice{.selection = {statistics.argmax, 1.0, 0.0, 1}};
  }
  auto logits =
      answer != nullptr ? std::span<const float>(answer->results.front().values) : std::span<const float>(*again_);
  if (thinking_.changes_row()) logits = thinking_.changed(logits, answer->statistics.front().log_sum_exp);
  if (!job_.bans.has_value()) return gate_.is_there() ? gate_.choose(logits, position) : choose(job_, logits, position);
  if (gate_.is_there()) logits = gate_.masked(logits);
  row_.assign(logits.begin(), logits.end());
  again_.reset();
  return choose(job_, job_.bans->allowed(row_, position), position);
}

Result<void> Writing::look() {
  is_settled_ = thinking_.forced().has_value();
  if (is_settled_ || !gate_.is_there()) return {};
  const std::size_t room = session_.context_length() - job_.canvas.size();
  PLM_TRY_ASSIGN(const auto next, gate_.look(std::min(job_.max_tokens - outcome_.tokens.size(), room)));
  if (next == ConstraintGate::Next::end) outcome_.reason = FinishReason::end_of_text;
  // A phrase that is taken back is drawn again from the rows before it, so every token needs its row.
  is_settled_ = next == ConstraintGate::Next::settled && !job_.bans.has_value();
  return {};
}

Result<Choice> Writing::settled_choice(const PassAnswer* answer, std::size_t position) {
  const TokenId token = thinking_.forced().has_value() ? *thinking_.forced() : gate_.settled();
  Choice choice{.selection = {token, 1.0, 0.0, 1}};
  const auto& wish = job_.log_probabilities;
  if (answer == nullptr || !wish.has_value() || wish->of != LogProbabilityWish::Of::model) return choice;
  PLM_TRY(check_row(answer->statistics.front(), position));
  PLM_TRY_ASSIGN(GivenScore score, score_given(job_, answer->results.front().values, position, token));
  choice.log_probability = score.log_probability;
  choice.top = std::move(score.top);
  return choice;
}

Result<void> Writing::write(const PassAnswer* answer) {
  const std::size_t position = job_.canvas.size() - 1;
  PLM_TRY_ASSIGN(Choice choice, is_settled_ ? settled_choice(answer, position) : choose_from(answer, position));
  if (!is_settled_ && thinking_.gives_way(choice.selection.id)) {
    PLM_TRY_ASSIGN(choice, settled_choice(answer, position));
  }
  const bool was_seen = answer != nullptr || !is_settled_;  // all before it, by the network
  const TokenId token = choice.selection.id;
  commit(choice, position);
  thinking_.accept(token);
  if (std::find(job_.end_tokens.begin(), job_.end_tokens.end(), token) != job_.end_tokens.end()) {
    outcome_.reason = FinishReason::end_of_text;
    return {};
  }
  if (gate_.is_there()) PLM_TRY(gate_.accept(token));
  outcome_.tokens.push_back(token);
  held_.push_back({position, token});
  if (was_seen) unseen_.clear();
  unseen_.push_back(token);
  if (!job_.bans.has_value()) {
    release(1);
  } else {
    PLM_TRY_ASSIGN(const bool was_taken_back, ban(token, position));
    if (was_taken_back) return {};
    release(job_.bans->release());
  }
  if (!goes_on()) return {};
  if (outcome_.tokens.size() >= job_.max_tokens) {
    outcome_.reason = FinishReason::length;
  } else if (job_.canvas.size() >= session_.context_length()) {
    outcome_.reason = FinishReason::context;
  }
  if (goes_on() || !gate_.is_there()) return {};
  PLM_TRY_ASSIGN(const bool is_over, gate_.is_over());
  if (is_over) outcome_.reason = FinishReason::end_of_text;  // closed in time
  return {};
}

void Writing::commit(const Choice& choice, std::size_t position) {
  job_.canvas.commit(cell_, choice.selection.id);
  job_.chain.accept(choice.selection.id);
  session_.emit({.kind = EventKind::committed,
                 .cell = cell_,
                 .token = choice.selection.id,
                 .position = position,
                 .probability = choice.selection.probability,
                 .rule = thinking_.forced().has_value() ? "thinking_budget" : "",
                 .log_probability = choice.log_probability,
                 .top = choice.top,
                 .trace = choice.trace.has_value() ? &*choice.trace : nullptr});
}

// Whether the token completes a banned phrase; then that is gone, and the first of its cells is to be drawn again.
Result<bool> Writing::ban(TokenId token, std::size_t position) {
  job_.bans->push(token, position, row_);
  PLM_TRY_ASSIGN(auto rewind, job_.bans->rewind());
  if (!rewind.has_value()) return false;
  take_back(rewind->position);
  job_.chain.roll_back(rewind->position);
  session_.truncate_state(std::min(session_.state_length(), rewind->position));
  again_ = std::move(rewind->logits);
  return true;
}

// Whether a stop string has ended the text. Under a constraint it does only where the text is complete; else the stop
// string is part of it.
bool Writing::stops() {
  while (job_.text.stopped()) {
    if (!gate_.is_there() || gate_.is_complete(text_)) return true;
    emit_text(job_.text.go_on());
  }
  return false;
}

// The oldest tokens become text. A stop string among them ends it there, so what was written behind it goes.
void Writing::release(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    emit_text(job_.text.push(held_[i].token));
    if (!stops()) continue;
    take_back(held_[i].position + 1);
    held_.clear();
    outcome_.reason = FinishReason::stop;
    return;
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Takes back all that was written from `position` on, none of which has become text.
void Writing::take_back(std::size_t position) {
  while (job_.canvas.size() > position) {
    const CellId cell = job_.canvas.cells().back().id;
    job_.canvas.erase(cell);
    session_.emit({.kind = EventKind::deleted, .cell = cell, .position = job_.canvas.size()});
  }
  while (!held_.empty() && held_.back().position >= position) held_.pop_back();
  const std::size_t kept = std::min(outcome_.tokens.size(), position - prompt_length_);
  if (gate_.is_there()) gate_.roll_back(outcome_.tokens.size() - kept);
  outcome_.tokens.resize(kept);
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  Writing writing(session, job);
  while (writing.has_rows_to_score()) {
    const PassRequest request = writing.scoring_request();
    const std::size_t reused = session.state_length();
    const Result<PassAnswer> answer = co_await session.pass(request);
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    session.emit({.kind = EventKind::pass_ran, .rows = request.tokens.size(), .reused = reused});
    const Result<void> scored = writing.score(*answer);
    if (!scored.has_value()) co_return tl::unexpected<Error>(scored.error());
  }
  while (writing.goes_on()) {
    const Result<void> looked = writing.look();
    if (!looked.has_value()) co_return tl::unexpected<Error>(looked.error());
    if (!writing.goes_on()) break;
    std::optional<PassAnswer> row;
    if (writing.open()) {
      const PassRequest request = writing.request();
      const std::size_t reused = session.state_length();
      Result<PassAnswer> answer = co_await session.pass(request);
      if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
      session.emit({.kind = EventKind::pass_ran, .rows = request.tokens.size(), .reused = reused});
      row = std::move(*answer);
    }
    const Result<void> written = writing.write(row.has_value() ? &*row : nullptr);
    if (!written.has_value()) co_return tl::unexpected<Error>(written.error());
  }
  writing.finish();
  co_return writing.take();
}

}  // namespace

extern constinit const DecoderDefinition decoder_autoregressive = {
    .head = {.name = "autoregressive",
             .aliases = "ar, causal",
             .summary = "one token after another, each drawn from the row before it",
             .source = "datasheet, causal decoding"},
    .run = run,
};

}  // namespace plm
