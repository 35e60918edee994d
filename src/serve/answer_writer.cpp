#include "serve/answer_writer.h"

#include <algorithm>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace plm {
namespace {

// A control token's text is no part of an answer, unless it is a mark around the thinking.
std::string_view tag_of(const TextPlan& plan, const Vocabulary& vocabulary, TokenId token) {
  if (!plan.splits_thinking || !plan.thinking.has_value() || vocabulary.type(token) != TokenType::control) return {};
  const std::string_view text = vocabulary.text(token);
  return text == plan.thinking->begin || text == plan.thinking->end ? text : std::string_view();
}

std::string stop_in(const TextResult& text, const TextPlan& plan, const Vocabulary& vocabulary) {
  auto matcher = StopMatcher::create(plan.basis.stops);
  if (!matcher.has_value()) return {};
  (void)matcher->push(detokenize(vocabulary, text.tokens));
  return std::string(matcher->matched().value_or(std::string_view()));
}

double mean_log_probability(const TextResult& text) {
  double sum = 0;
  for (const TokenReport& report : text.reports) sum += report.log_probability;
  return text.reports.empty() ? 0 : sum / static_cast<double>(text.reports.size());
}

}  // namespace

Failure failure_of(const Error& error) {
  Failure failure{.message = error.message};
  switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_input:
    case ErrorKind::unsatisfiable: {
      failure.status = 400;
      const std::string name = error.message.substr(0, error.message.find_first_of(":[. "));
      const bool is_name = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
      if (is_name && error.message.size() > name.size() && error.message[name.size()] != ' ') failure.field = name;
      break;
    }
    case ErrorKind::no_room:
    case ErrorKind::interrupted:
      failure.status = 503;
      failure.retry_after_s = 1;
      break;
    default: failure.status = 500;
  }
  return failure;
}

AnswerWriter::AnswerWriter(Parts parts) : parts_(std::move(parts)) {
  TextPlan& plan = *parts_.plan;
  plan.basis.sampling = &plan.sampling;
  if (plan.fills_page) plan.basis.parallel = &plan.parallel;
  if (plan.best_of > plan.count && !plan.basis.log_probabilities.has_value()) plan.basis.log_probabilities.emplace();
  answer_ = {.id = parts_.id,
             .created = parts_.created,
             .model = parts_.model,
             .plan = &plan,
             .vocabulary = parts_.vocabulary,
             .texts = {},
             .report = nullptr};
  for (std::size_t i = 0; i < plan.prompts.size() * plan.best_of; ++i) {
    const auto tags = plan.splits_thinking ? plan.thinking : std::nullopt;
    Writing writing{.result = {.index = i},
                    .splitter = ThinkingSplitter(tags, plan.begins_thinking),
                    .pending = {},
                    .since_start = {}};
    writing.result.prompt_tokens = plan.prompts[i / plan.best_of].tokens.size();
    writing.result.seed = plan.basis.seed + i % plan.best_of;
    writings_.push_back(std::move(writing));
  }
  left_ = writings_.size();
}

std::vector<TextOrder> AnswerWriter::orders(const std::shared_ptr<AnswerWriter>& self) {
  const TextPlan& plan = *self->parts_.plan;
  std::vector<TextOrder> orders;
  for (const Writing& writing : self->writings_) {
    GenerationRequest request = plan.basis;
    request.prompt = plan.prompts[writing.result.index / plan.best_of].tokens;
    request.seed = writing.result.seed;
    orders.push_back({std::move(request), self, writing.result.index});
  }
  return orders;
}

bool AnswerWriter::is_wanted() const { return status_ == 200 && !is_broken_off_ && !parts_.exchange->is_gone(); }

std::string AnswerWriter::text_so_far() const {
  const std::lock_guard lock(mutex_);
  return text_so_far_;
}

void AnswerWriter::started(std::size_t index, const Generation& generation, double waited_ms) {
  TextResult& result = writings_[index].result;
  result.chain = generation.chain();
  result.reused_tokens = generation.reused_tokens();
  writings_[index].since_start.restart();
  result.queue_ms = waited_ms;
  begin_stream();
}

void AnswerWriter::begin_stream() {
  if (!parts_.plan->streams || has_begun_ || status_ != 200) return;
  has_begun_ = true;
  HttpResponse head{.content_type = std::string(parts_.form->stream_type()), .headers = parts_.headers};
  parts_.exchange->begin(std::move(head), parts_.form->gap_ms());
  AnswerForm::Frames frames;
  parts_.form->begin(answer_, frames);
  send(frames);
}

void AnswerWriter::on_event(std::size_t index, const Event& event) {
  Writing& writing = writings_[index];
  TextResult& result = writing.result;
  const auto report = [&] {
    return TokenReport{event.token, event.log_probability, {event.top.begin(), event.top.end()}};
  };
  switch (event.kind) {
    case EventKind::pass_ran: ++result.passes; break;
    case EventKind::committed: on_committed(writing, event); break;
    case EventKind::deleted:  // of phrases that are banned
      if (!result.tokens.empty()) result.tokens.pop_back();
      if (!writing.pending.tokens.empty()) writing.pending.tokens.pop_back();
      if (!result.reports.empty()) result.reports.pop_back();
      break;
    case EventKind::scored: result.prompt_reports.push_back(report()); break;
    case EventKind::stable_prefix:
      if (parts_.plan->basis.holes.empty()) on_text(writing, event.text);  // else what is given would come along
      break;
    case EventKind::finished: result.reason = event.reason; break;
    default: break;
  }
}

void AnswerWriter::on_committed(Writing& writing, const Event& event) {
  TextResult& result = writing.result;
  const double now_ms = writing.since_start.elapsed_ms();
  if (result.prompt_ms == 0) result.prompt_ms = now_ms;
  result.decode_ms = now_ms - result.prompt_ms;
  const TextPlan& plan = *parts_.plan;
  if (plan.fills_page) return;
  result.tokens.push_back(event.token);
  TokenReport report{event.token, event.log_probability, {event.top.begin(), event.top.end()}};
  if (plan.basis.log_probabilities.has_value()) result.reports.push_back(report);
  if (plan.streams) writing.pending.tokens.push_back(std::move(report));
  const std::string_view tag = tag_of(plan, *parts_.vocabulary, event.token);
  if (!tag.empty()) on_text(writing, std::string(tag));
}

void AnswerWriter::on_text(Writing& writing, const std::string& text) {
  if (!text.empty()) take(writing, writing.splitter.push(text));
}

void AnswerWriter::take(Writing& writing, const ThinkingSplitter::Parts& parts) {
  TextResult& result = writing.result;
  result.thinking += parts.thinking;
  result.text += parts.answer;
  if (result.index == 0) {
    const std::lock_guard lock(mutex_);
    text_so_far_ += parts.answer;
  }
  if (!parts_.plan->streams || (parts.thinking.empty() && parts.answer.empty())) return;
  begin_stream();
  Piece piece{result.index, parts.answer, parts.thinking, {}};
  // With phrases that may be taken back, which tokens a piece of text is made of is known at the end only.
  if (parts_.plan->basis.banned_phrases.empty()) piece.tokens.swap(writing.pending.tokens);
  AnswerForm::Frames frames;
  parts_.form->piece(answer_, piece, frames);
  send(frames);
}

void AnswerWriter::ended(std::size_t index, const Result<DecodeOutcome>& outcome) {
  Writing& writing = writings_[index];
  --left_;
  if (outcome.has_value()) {
    const bool is_hole = !outcome->holes.empty();
    writing.result.tokens = is_hole ? outcome->holes.front() : outcome->tokens;
    if (is_hole) on_text(writing, detokenize(*parts_.vocabulary, writing.result.tokens));
    end_text(writing);
  } else if (is_broken_off_ && outcome.error().kind == ErrorKind::interrupted) {
    writing.result.reason = FinishReason::interrupted;
    end_text(writing);
  } else {
    fail_all(outcome.error());
  }
  if (left_ == 0) finish();
}

void AnswerWriter::end_text(Writing& writing) {
  if (status_ != 200) return;
  TextResult& result = writing.result;
  if (result.reports.size() > result.tokens.size())
    result.reports.resize(result.tokens.size());  // without the end token
  take(writing, writing.splitter.finish());
  if (result.reason == FinishReason::stop) result.stop = stop_in(result, *parts_.plan, *parts_.vocabulary);
  if (!parts_.plan->streams) return;
  begin_stream();
  AnswerForm::Frames frames;
  if (parts_.plan->basis.log_probabilities.has_value()) {  // of tokens without a text of their own
    Piece rest{result.index, {}, {}, std::move(writing.pending.tokens)};
    if (result.reason == FinishReason::end_of_text && !rest.tokens.empty()) rest.tokens.pop_back();
    if (!rest.tokens.empty()) parts_.form->piece(answer_, rest, frames);
  }
  parts_.form->text_ended(answer_, result, frames);
  send(frames);
}

void AnswerWriter::fail_all(const Error& error) {
  if (status_ != 200) return;
  const Failure failure = failure_of(error);
  status_ = parts_.exchange->is_gone() ? 499 : failure.status;
  if (!has_begun_) return parts_.exchange->respond(parts_.refuse(failure));
  AnswerForm::Frames frames;
  parts_.form->failed(failure, frames);
  send(frames);
  parts_.exchange->end();
}

// Of each prompt's texts the likeliest, in that order.
void AnswerWriter::keep_best() {
  const TextPlan& plan = *parts_.plan;
  std::vector<TextResult> all;
  for (Writing& writing : writings_) all.push_back(std::move(writing.result));
  for (std::size_t p = 0; p < plan.prompts.size(); ++p) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(p * plan.best_of);
    const auto end = begin + static_cast<std::ptrdiff_t>(plan.best_of);
    if (plan.best_of > plan.count) {
      std::sort(begin, end, [](const TextResult& a, const TextResult& b) {
        const double of_a = mean_log_probability(a), of_b = mean_log_probability(b);
        return of_a != of_b ? of_a > of_b : a.index < b.index;
      });
    }
    for (auto text = begin; text != begin + static_cast<std::ptrdiff_t>(plan.count); ++text) {
      answer_.texts.push_back(std::move(*text));
      answer_.texts.back().index = answer_.texts.size() - 1;
    }
  }
}

void AnswerWriter::finish() {
  if (status_ == 200) {
    keep_best();
    answer_.report = report();
    if (parts_.plan->streams) {
      AnswerForm::Frames frames;
      parts_.form->end(answer_, frames);
      send(frames);
      parts_.exchange->end();
    } else {
      Json whole = parts_.form->whole(answer_);
      parts_.exchange->respond({.body = json_text(whole), .headers = parts_.headers});
    }
  }
  parts_.on_end(status_, answer_);
}

Json AnswerWriter::report() const {
  const TextPlan& plan = *parts_.plan;
  if (!plan.wants_report) return nullptr;
  const Report& report = plan.report;
  Json texts = Json::array();
  for (const TextResult& text : answer_.texts) {
    texts.push_back({{"index", text.index},
                     {"seed", text.seed},
                     {"finish_reason", finish_reason_name(text.reason)},
                     {"prompt_tokens", text.prompt_tokens},
                     {"cached_tokens", text.reused_tokens},
                     {"written_tokens", text.tokens.size()},
                     {"passes", text.passes},
                     {"queue_ms", text.queue_ms},
                     {"prompt_ms", text.prompt_ms},
                     {"decode_ms", text.decode_ms}});
  }
  const Json chain = answer_.texts.empty() ? Json::array() : answer_.texts.front().chain;
  Json defaulted = Json::array();
  for (const Json& sampler : chain) {
    for (const auto& [name, value] : sampler.items()) {
      if (plan.sampling.find(name) != nullptr && !plan.sampling.was_given(name)) defaulted.push_back(name);
    }
  }
  Json given = Json::object();
  const Json values = plan.sampling.as_json();
  for (const Parameter& parameter : sampling_parameters()) {
    if (plan.sampling.was_given(parameter.name)) given[std::string(parameter.name)] = values[parameter.name];
  }
  return {{"profile", report.profile},
          {"chain", chain},
          {"ignored", report.ignored},
          {"clamped", report.clamped},
          {"defaulted", defaulted},
          {"model_defaults", report.model_defaults},
          {"notes", report.notes},
          {"recipe",
           {{"decoder", plan.basis.decoder},
            {"seed", plan.basis.seed},
            {"max_tokens", plan.basis.max_tokens == std::size_t(-1) ? Json(-1) : Json(plan.basis.max_tokens)},
            {"stops", plan.basis.stops},
            {"banned_phrases", plan.basis.banned_phrases},
            {"guidance_scale", plan.basis.guidance_scale},
            {"sampling", given}}},
          {"texts", texts}};
}

void AnswerWriter::send(AnswerForm::Frames& frames) {
  for (std::string& frame : frames) parts_.exchange->write(std::move(frame));
  frames.clear();
}

}  // namespace plm
