// A server without sockets around the little model that ships with the project, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_runs.h"
#include "serve/service.h"

namespace plm {

/// Gathers an answer.
class RecordedExchange : public Exchange {
 public:
  explicit RecordedExchange(HttpRequest request) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(is_over_ || has_begun_) << "two answers";
    response_ = std::move(response);
    is_over_ = true;
    changed_.notify_all();
  }
  void begin(HttpResponse head, int /*gap_ms*/) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(is_over_ || has_begun_) << "two answers";
    response_ = std::move(head);
    has_begun_ = true;
  }
  void write(std::string piece) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(has_begun_ && !is_over_) << piece;
    pieces_.push_back(std::move(piece));
    changed_.notify_all();
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(has_begun_ && !is_over_);
    is_over_ = true;
    changed_.notify_all();
  }
  bool is_gone() const override {
    const std::lock_guard lock(mutex_);
    return is_gone_;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_; });
  }
  void wait_for_piece() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || !pieces_.empty(); });
  }
  // Once it is over.
  [[nodiscard]] const HttpResponse& response() const { return response_; }
  [[nodiscard]] const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  const HttpRequest request_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponse response_;
  std::vector<std::string> pieces_;
  bool has_begun_ = false, is_over_ = false, is_gone_ = false;
};

struct Reply {
  int status = 0;
  std::string body;
  HttpHeaders headers;
  std::vector<std::string> pieces;

  [[nodiscard]] Json json() const {
    auto parsed = parse_json(body, "answer");
    EXPECT_TRUE(parsed.has_value()) << body;
    return parsed.value_or(Json());
  }
  /// The JSON of each event of a stream; "[DONE]" is left out.
  [[nodiscard]] std::vector<Json> events() const {
    std::vector<Json> events;
    for (const std::string& piece : pieces) {
      const auto data = piece.find("data: ");
      const std::string text = data == std::string::npos ? piece : piece.substr(data + 6);
      if (text.starts_with("[DONE]")) continue;
      auto parsed = parse_json(text, "event");
      EXPECT_TRUE(parsed.has_value()) << piece;
      events.push_back(parsed.value_or(Json()));
    }
    return events;
  }
};

class ServedTwin {
 public:
  static constexpr std::size_t kContext = 4096;

  explicit ServedTwin(const std::string& name = "twin-ar", EngineWorker::Limits limits = {}, AccessRules access = {})
      : engine_(load_engine(std::string(PLM_MODELS) + "/" + name + ".gguf",
                            {.context_length = kContext, .most_sequences = limits.sequences + 1})),
        model_{.engine = *engine_, .texts = VocabularyTexts(engine_->tokenizer()), .name = name, .version = "1"},
        service_({.access = std::move(access), .log = [this](std::string_view line) { log_.emplace_back(line); }}),
        worker_(std::make_unique<EngineWorker>(*engine_, limits)) {
    auto chat_template = ChatTemplate::create(chat_template_of(engine_->vocabulary()).value(), engine_->vocabulary());
    model_.chat_template.emplace(std::move(chat_template).value());
    service_.begin(model_, *worker_);
  }
  ~ServedTwin() {
    worker_.reset();
    service_.end();
  }

  std::shared_ptr<RecordedExchange> send(std::string method, const std::string& target, const Json& body = nullptr,
                                         HttpHeaders headers = {}) {
    const auto question = target.find('?');
    HttpRequest request{.method = std::move(method), .path = target.substr(0, question), .headers = std::move(headers)};
    if (!body.is_null()) request.body = body.is_string() ? body.get<std::string>() : json_text(body);
    auto exchange = std::make_shared<RecordedExchange>(std::move(request));
    service_.handle(exchange);
    return exchange;
  }
  static Reply reply_of(RecordedExchange& exchange) {
    exchange.wait();
    const HttpResponse& response = exchange.response();
    return {response.status, response.body, response.headers, exchange.pieces()};
  }
  Reply ask(std::string method, const std::string& target, const Json& body = nullptr, HttpHeaders headers = {}) {
    return reply_of(*send(std::move(method), target, body, std::move(headers)));
  }
  Reply post(const std::string& target, const Json& body) { return ask("POST", target, body); }
  Reply get(const std::string& target) { return ask("GET", target); }

  /// Waits until no text is in work; false: it takes too long.
  bool becomes_idle() {
    for (int i = 0; i < 2000; ++i) {
      const auto occupancy = worker_->occupancy();
      if (occupancy.running == 0 && occupancy.waiting == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  [[nodiscard]] const ServedModel& model() const { return model_; }
  [[nodiscard]] Service& service() { return service_; }
  [[nodiscard]] EngineWorker& worker() { return *worker_; }
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }

 private:
  std::unique_ptr<Engine> engine_;
  ServedModel model_;
  std::vector<std::string> log_;
  Service service_;
  std::unique_ptr<EngineWorker> worker_;
};

/// One for all tests of a program that only ask.
inline ServedTwin& twin() {
  static ServedTwin server;
  return server;
}

inline const std::string kSum = "A385+739=";  // the twin goes on with 1124 and ends the text

}  // namespace plm
