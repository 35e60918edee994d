// A model under a scheduler with no engine around it: a test opens sessions and submits passes of any kind itself.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/philox.h"
#include "base/task.h"
#include "engine/engine_session.h"
#include "format/gguf.h"
#include "kernels/cpu_device.h"
#include "model/architecture.h"

namespace plm {

using Logits = std::vector<std::vector<float>>;  // a row each

struct ScheduledOptions {
  CpuDeviceOptions device = {.threads = 1};
  KvTypes kv_types = {};
  std::size_t batch_rows = 256;
  std::size_t most_pages = 64;
};

class ScheduledModel {
 public:
  explicit ScheduledModel(const std::string& path, const ScheduledOptions& options = {})
      : gguf_(GgufFile::open(path).value()), device_(make_cpu_device(options.device)) {
    ModelFile file = ModelFile::open(gguf_).value();
    auto loaded = load_model(file, *device_);
    if (!loaded.has_value()) throw std::runtime_error(loaded.error().message);
    model_ = std::move(*loaded);
    layout_ = model_->state_layout(options.kv_types).value();
    pool_ = std::make_unique<PagePool>(*device_, layout_.page_bytes, options.most_pages);
    if (layout_.block_bytes > 0) {
      blocks_ = std::make_unique<PagePool>(*device_, layout_.block_bytes, options.most_pages);
    }
    scheduler_ = std::make_unique<Scheduler>(Scheduler::Parts{*device_, *model_, layout_}, options.batch_rows);
  }

  [[nodiscard]] std::unique_ptr<EngineSession> open() { return open(SequenceState({*pool_, blocks_.get()})); }
  /// `past`: the tokens that `state` is of, wanted with recurrent layers only.
  [[nodiscard]] std::unique_ptr<EngineSession> open(SequenceState state, std::span<const TokenId> past = {}) {
    return std::make_unique<EngineSession>(*scheduler_, std::move(state), past, std::size_t{1} << 20, Listener());
  }

  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const PagePool& pool() const { return *pool_; }
  [[nodiscard]] std::size_t vocab_size() const { return model_->shape().vocab_size; }

  void run() {
    while (!scheduler_->idle()) ASSERT_TRUE(scheduler_->step().has_value());
  }

 private:
  // In this order: what comes later refers to what comes before.
  std::shared_ptr<const GgufFile> gguf_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Model> model_;
  StateLayout layout_;
  std::unique_ptr<PagePool> pool_;
  std::unique_ptr<PagePool> blocks_;
  std::unique_ptr<Scheduler> scheduler_;
};

/// One pass whose every row yields its logits, or those that are asked for; begun when made.
class LogitsPass {
 public:
  struct Request {
    std::vector<TokenId> tokens;
    StateUse state = StateUse::append;
    Sight sight = Sight::causal;
    std::vector<std::uint64_t> sight_bits = {};
    std::vector<std::uint32_t> positions = {};
    std::optional<std::vector<std::uint32_t>> rows = {};  ///< that yield; not given: all
  };

  LogitsPass(Session& session, Request request) : request_(std::move(request)), task_(run(session, *this)) {
    task_.start();
  }
  LogitsPass(Session& session, std::vector<TokenId> tokens)
      : LogitsPass(session, Request{.tokens = std::move(tokens)}) {}
  LogitsPass(const LogitsPass&) = delete;
  LogitsPass& operator=(const LogitsPass&) = delete;

  [[nodiscard]] bool is_done() const { return task_.done(); }
  /// After the scheduler has run.
  [[nodiscard]] Logits take() {
    Result<PassAnswer> answer = task_.take();
    if (!answer.has_value()) throw std::runtime_error(answer.error().message);
    Logits logits;
    for (YieldResult& result : answer->results) logits.push_back(std::move(result.values));
    return logits;
  }
  [[nodiscard]] Error error() {
    const Result<PassAnswer> answer = task_.take();
    return answer.has_value() ? Error{ErrorKind::failed, "there is none"} : answer.error();
  }

 private:
  static Task<Result<PassAnswer>> run(Session& session, LogitsPass& self) {
    const Request& asked = self.request_;
    std::vector<Yield> yields;
    if (asked.rows.has_value()) {
      for (const std::uint32_t row : *asked.rows) yields.push_back({row, YieldKind::logits, 0});
    } else {
      for (std::uint32_t row = 0; row < asked.tokens.size(); ++row) yields.push_back({row, YieldKind::logits, 0});
    }
    const PassRequest request{.tokens = asked.tokens,
                              .state = asked.state,
                              .sight = asked.sight,
                              .sight_bits = asked.sight_bits,
                              .positions = asked.positions,
                              .yields = yields};
    Result<PassAnswer> answer = co_await session.pass(request);
    co_return answer;
  }

  Request request_;
  Task<Result<PassAnswer>> task_;
};

/// Runs one causal pass alone and hands back the logits of all rows.
inline Logits append(ScheduledModel& model, EngineSession& session, std::vector<TokenId> tokens) {
  LogitsPass pass(session, std::move(tokens));
  model.run();
  return pass.take();
}

/// `count` tokens by chance, different for every seed.
inline std::vector<TokenId> some_tokens(std::size_t count, std::uint64_t seed, std::size_t vocab_size) {
  std::vector<TokenId> tokens(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<TokenId>(uniform({.seed = seed, .cell = i}) * static_cast<double>(vocab_size));
  }
  return tokens;
}

inline bool equal_bits(const Logits& a, const Logits& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t row = 0; row < a.size(); ++row) {
    if (a[row].size() != b[row].size() || a[row].empty()) return false;
    if (std::memcmp(a[row].data(), b[row].data(), a[row].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

inline std::string twin() { return std::string(PLM_MODELS) + "/twin-ar.gguf"; }
inline std::string fixture(const std::string& name) { return std::string(PLM_GOLDEN) + "/oracle/" + name; }

}  // namespace plm
