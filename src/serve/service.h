// The server between the sockets and the engine: which route a request is for, who may ask, what is told of it.
//
// A request becomes a plan on one of the HTTP workers' threads; texts and tasks then go to the engine's thread, which
// answers. Before the model is loaded everybody is told to come again. Every request has an id, a line in the log and
// a place in the metrics. Tested by tests/serve/test_service.cpp (without sockets) and tests/serve/test_server.py.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/access.h"
#include "serve/answer_writer.h"
#include "serve/dialect.h"
#include "serve/http_message.h"
#include "serve/metrics.h"

namespace plm {

class Service : public ServerView {
 public:
  struct Options {
    AccessRules access = {};
    std::string version = {};  ///< of the program
    /// Is given lines of JSON; called from several threads, one at a time.
    std::function<void(std::string_view line)> log = {};
  };

  explicit Service(Options options);
  ~Service() override;

  /// From now on requests are served. Model and worker must live until `end`.
  void begin(const ServedModel& model, EngineWorker& worker);
  /// From now on nobody is served; texts under way go on.
  void drain() { is_draining_ = true; }
  /// Lets go of model and worker, when nobody uses them any more.
  void end();

  /// The handler of HttpServer.
  void handle(const std::shared_ptr<Exchange>& exchange);
  /// The body of an answer to what never became a request.
  [[nodiscard]] HttpResponse refuse(int status, std::string_view reason);

  Totals totals() const override;
  EngineWorker::Occupancy occupancy() const override;
  std::vector<EngineWorker::Slot> slots() const override;
  std::string running_text(std::string_view key) const override;
  bool break_off(std::string_view key) override;

 private:
  // A request on its way.
  struct Ticket {
    std::shared_ptr<Exchange> exchange;
    std::string id;
    const Dialect* dialect = nullptr;  // null: of no dialect
    HttpHeaders headers = {};
    Stopwatch since_start = {};
  };
  struct Running {
    std::string key;
    std::weak_ptr<AnswerWriter> writer;
  };

  void dispatch(const std::shared_ptr<Ticket>& ticket);
  bool answer_itself(const std::shared_ptr<Ticket>& ticket);
  void run(const std::shared_ptr<Ticket>& ticket, const Route& route, std::string_view argument);
  void start_text(const std::shared_ptr<Ticket>& ticket, Plan plan, std::string key);
  void start_task(const std::shared_ptr<Ticket>& ticket, EngineTask task);
  void answer(const Ticket& ticket, HttpResponse response);
  void fail(const Ticket& ticket, const Failure& failure);
  HttpResponse failure_response(const Ticket& ticket, const Failure& failure) const;
  void on_text_end(const Ticket& ticket, int status, const Answer& answer);
  void log(const Ticket& ticket, int status, const Json& more);
  [[nodiscard]] bool is_loaded() const;
  std::string request_id(const HttpRequest& request);

  Options options_;
  Metrics metrics_;
  Stopwatch since_start_;
  const std::uint64_t boot_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<bool> is_draining_ = false;
  mutable std::shared_mutex model_mutex_;  // of the two; held while a request is planned
  const ServedModel* model_ = nullptr;     // null: not loaded yet
  EngineWorker* worker_ = nullptr;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Running> running_;
  std::mutex log_mutex_;
};

}  // namespace plm
