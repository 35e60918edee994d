// Dialects: the ways in which clients of other servers ask, one file each in serve/dialects/. A dialect is a table of
// routes; a route declares its fields and turns a request into a plan. Everything else (sockets, keys, queueing, errors
// before the plan) is done once, in serve/service.h. Tested, for every registered dialect, by
// tests/serve/dialects/ and tests/serve/test_service.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/definition.h"
#include "serve/engine_worker.h"
#include "serve/field.h"
#include "serve/served_model.h"
#include "serve/text_plan.h"

namespace plm {

/// What a dialect may ask about the server that is running.
class ServerView {
 public:
  virtual ~ServerView() = default;

  /// Sums since the start, and of the text that ended last.
  struct Totals {
    double uptime_s = 0, idle_s = 0;
    std::uint64_t texts = 0, prompt_tokens = 0, written_tokens = 0;
    double prompt_ms = 0, decode_ms = 0;
    std::size_t last_prompt_tokens = 0, last_written_tokens = 0;
    double last_prompt_ms = 0, last_decode_ms = 0;
    std::uint64_t last_seed = 0;
  };
  [[nodiscard]] virtual Totals totals() const = 0;
  [[nodiscard]] virtual EngineWorker::Occupancy occupancy() const = 0;
  [[nodiscard]] virtual std::vector<EngineWorker::Slot> slots() const = 0;
  /// The text so far of the running request with this key of its client; of the last one with an empty key.
  [[nodiscard]] virtual std::string running_text(std::string_view key) const = 0;
  /// Ends such requests; what is written so far is their answer. False: there is none.
  virtual bool break_off(std::string_view key) = 0;
};

/// One request as a route sees it.
struct Call {
  const ServedModel& model;
  const HttpRequest& http;
  const Json& body;  ///< an object; empty for requests without a body
  const RequestFields& fields;
  std::string_view argument;  ///< of a route whose path ends in {}
  ServerView& server;
};

struct Route {
  std::string_view method;
  std::string_view path;  ///< one that ends in "{}" takes an argument
  std::string_view summary;
  FieldTables fields = {};
  Result<Plan> (*plan)(const Call& call);
};

struct Dialect {
  Definition head;
  std::span<const Route> routes;
  /// The body of an answer that tells a failure.
  Json (*failure)(const Failure& failure);
};

/// All dialects, sorted by name (generated).
[[nodiscard]] std::span<const Dialect* const> dialects();

}  // namespace plm
