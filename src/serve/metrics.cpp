#include "serve/metrics.h"

#include <algorithm>
#include <cmath>

namespace plm {
namespace {

template <typename Number>
void write_value(std::string& out, std::string_view name, std::string_view kind, std::string_view help, Number value) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, kind, value);
}

}  // namespace

void Metrics::Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++buckets[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_s += seconds;
}

void Metrics::Histogram::write(std::string& out, std::string_view name, std::string_view help) const {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    count += buckets[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bound, count);
  }
  out += fmt::format("{0}_sum {1}\n{0}_count {2}\n", name, sum_s, count);
}

void Metrics::count_request(std::string_view dialect, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(dialect), status}];
}

void Metrics::count_gone() {
  const std::lock_guard lock(mutex_);
  ++gone_;
}

void Metrics::count_text(const TextResult& text) {
  const std::lock_guard lock(mutex_);
  ++totals_.texts;
  totals_.prompt_tokens += text.prompt_tokens - text.reused_tokens;
  totals_.written_tokens += text.tokens.size();
  totals_.prompt_ms += text.prompt_ms;
  totals_.decode_ms += text.decode_ms;
  totals_.last_prompt_tokens = text.prompt_tokens;
  totals_.last_written_tokens = text.tokens.size();
  totals_.last_prompt_ms = text.prompt_ms;
  totals_.last_decode_ms = text.decode_ms;
  totals_.last_seed = text.seed;
  cached_tokens_ += text.reused_tokens;
  queue_s_.add(text.queue_ms / 1000);
  first_token_s_.add((text.queue_ms + text.prompt_ms) / 1000);
  text_s_.add((text.queue_ms + text.prompt_ms + text.decode_ms) / 1000);
}

ServerView::Totals Metrics::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

std::string Metrics::text(const EngineWorker::Occupancy& occupancy) const {
  const std::lock_guard lock(mutex_);
  std::string out = "# HELP plm_requests_total Requests answered.\n# TYPE plm_requests_total counter\n";
  for (const auto& [key, count] : requests_) {
    out += fmt::format("plm_requests_total{{dialect=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count);
  }
  const auto counter = [&](std::string_view name, std::string_view help, auto value) {
    write_value(out, name, "counter", help, value);
  };
  counter("plm_clients_gone_total", "Clients that left before their answer was whole.", gone_);
  counter("plm_texts_total", "Texts written.", totals_.texts);
  counter("plm_prompt_tokens_total", "Tokens of prompts that were read.", totals_.prompt_tokens);
  counter("plm_cached_tokens_total", "Tokens of prompts whose state was there before.", cached_tokens_);
  counter("plm_written_tokens_total", "Tokens written.", totals_.written_tokens);
  counter("plm_prompt_seconds_total", "Time from a text's start to its first token.", totals_.prompt_ms / 1000);
  counter("plm_decode_seconds_total", "Time from a text's first token to its last.", totals_.decode_ms / 1000);
  write_value(out, "plm_texts_running", "gauge", "Texts being written.", occupancy.running);
  write_value(out, "plm_texts_waiting", "gauge", "Texts and tasks that wait.", occupancy.waiting);
  queue_s_.write(out, "plm_queue_seconds", "How long texts waited.");
  first_token_s_.write(out, "plm_first_token_seconds", "From the request to a text's first token.");
  text_s_.write(out, "plm_text_seconds", "From the request to a text's end.");
  return out;
}

}  // namespace plm
