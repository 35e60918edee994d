#include "serve/service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "base/utf8.h"
#include "serve/openapi.h"
#include "serve/text_fields.h"

namespace plm {

extern const std::string_view kChatPage;  // serve/chat_page.html, embedded by the build

namespace {

constexpr JsonLimits kBodyLimits{.bytes = 16U << 20, .depth = 64, .keys = 4096};
constexpr std::size_t kMostIdBytes = 64;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string time_text() {
  const std::time_t now = now_s();
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

struct FoundRoute {
  const Dialect* dialect = nullptr;
  const Route* route = nullptr;
  std::string_view argument = {};
  bool has_path = false;  // there is a route of another method
};

FoundRoute find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  FoundRoute found;
  for (const Dialect* dialect : dialects()) {
    for (const Route& route : dialect->routes) {
      const bool takes_argument = route.path.ends_with("{}");
      const std::string_view fixed = route.path.substr(0, route.path.size() - (takes_argument ? 2 : 0));
      const bool matches = takes_argument ? path.starts_with(fixed) && path.size() > fixed.size() : path == fixed;
      if (!matches) continue;
      found.has_path = true;
      if (route.method != method) continue;
      return {dialect, &route, takes_argument ? path.substr(fixed.size()) : std::string_view(), true};
    }
  }
  return found;
}

// Whose words a failure is told in: those of the dialect that a path looks like.
const Dialect* dialect_like(std::string_view path) {
  const auto named = [](std::string_view name) {
    const auto all = dialects();
    const auto found = std::ranges::find_if(all, [&](const Dialect* dialect) { return dialect->head.name == name; });
    return found == all.end() ? nullptr : *found;
  };
  if (path.starts_with("/v1/messages")) return named("anthropic");
  if (path.starts_with("/api/v1") || path.starts_with("/api/extra")) return named("koboldcpp");
  if (path.starts_with("/api")) return named("ollama");
  return named("openai");
}

// Of fields that no plan reports.
Json unused_fields(const RequestFields& fields) {
  Json unused = Json(fields.ignored());
  for (const auto& [name, value] : fields.undeclared()) unused.push_back(printable(name, 80));
  return unused;
}

}  // namespace

Service::Service(Options options)
    : options_(std::move(options)),
      boot_(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())) {}

Service::~Service() = default;

void Service::begin(const ServedModel& model, EngineWorker& worker) {
  const std::unique_lock lock(model_mutex_);
  worker_ = &worker;
  model_ = &model;
}

void Service::end() {
  is_draining_ = true;
  const std::unique_lock lock(model_mutex_);
  worker_ = nullptr;
  model_ = nullptr;
}

bool Service::is_loaded() const {
  const std::shared_lock lock(model_mutex_);
  return model_ != nullptr;
}

std::string Service::request_id(const HttpRequest& request) {
  const std::string_view given = request.header("x-request-id");
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!given.empty() && given.size() <= kMostIdBytes && given.find_first_not_of(kAllowed) == std::string_view::npos) {
    return std::string(given);
  }
  return fmt::format("{:x}-{}", boot_, ++requests_);
}

HttpResponse Service::refuse(int status, std::string_view reason) {
  metrics_.count_request("none", status);
  const Ticket ticket{.exchange = nullptr, .id = {}};
  return failure_response(ticket, {.status = status, .message = std::string(reason)});
}

void Service::handle(const std::shared_ptr<Exchange>& exchange) {
  auto ticket = std::make_shared<Ticket>();
  ticket->exchange = exchange;
  ticket->id = request_id(exchange->request());
  ticket->headers = cors_headers(options_.access, exchange->request());
  ticket->headers.emplace_back("X-Request-Id", ticket->id);
  try {
    dispatch(ticket);
  } catch (const std::exception& problem) {  // no memory for this request; nobody else is to suffer
    fail(*ticket, {.status = 500, .message = problem.what()});
  }
}

void Service::dispatch(const std::shared_ptr<Ticket>& ticket) {
  const HttpRequest& request = ticket->exchange->request();
  std::string_view path = request.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const FoundRoute found = find_route(request.method, path);
  ticket->dialect = found.dialect != nullptr ? found.dialect : dialect_like(path);
  const bool is_open = path == "/health" || path == "/v1/health" || path == "/";
  if (const auto refused = refusal(options_.access, request, !is_open)) return fail(*ticket, *refused);
  if (request.method == "OPTIONS") return answer(*ticket, {.status = 204, .content_type = "text/plain"});
  if (answer_itself(ticket)) return;
  if (found.route == nullptr) {
    const int status = found.has_path ? 405 : 404;
    const char* reason = found.has_path ? "is not asked with this method" : "is not served here";
    return fail(*ticket, {.status = status, .message = fmt::format("{} {}", printable(path, 80), reason)});
  }
  const std::shared_lock lock(model_mutex_);
  if (is_draining_) return fail(*ticket, {.status = 503, .message = "the server is going down"});
  if (model_ == nullptr) {
    return fail(*ticket, {.status = 503, .message = "the model is being loaded; try again", .retry_after_s = 2});
  }
  run(ticket, *found.route, found.argument);
}

// What belongs to no dialect.
bool Service::answer_itself(const std::shared_ptr<Ticket>& ticket) {
  const HttpRequest& request = ticket->exchange->request();
  const std::string& path = request.path;
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (path == "/health" || path == "/v1/health") {
    const bool has_model = is_loaded(), is_ready = has_model && !is_draining_;
    const Json json = {{"status", is_ready ? "ok" : has_model ? "draining" : "loading model"}};
    answer(*ticket, {.status = is_ready ? 200 : 503, .body = json_text(json)});
  } else if (path == "/metrics") {
    const std::shared_lock lock(model_mutex_);
    answer(*ticket, {.content_type = "text/plain; version=0.0.4", .body = metrics_.text(occupancy())});
  } else if (path == "/openapi.json") {
    answer(*ticket, {.body = json_text(openapi_document(options_.version), 1)});
  } else if (path == "/" && request.header("accept").find("text/html") != std::string_view::npos) {
    HttpResponse page{.content_type = "text/html; charset=utf-8", .body = std::string(kChatPage)};
    page.headers = {{"Content-Security-Policy",
                     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"}};
    answer(*ticket, std::move(page));
  } else if (path == "/") {
    answer(*ticket,
           {.content_type = "text/plain; charset=utf-8", .body = "Ollama is running"});  // asked by its clients
  } else {
    return false;
  }
  return true;
}

void Service::run(const std::shared_ptr<Ticket>& ticket, const Route& route, std::string_view argument) {
  const HttpRequest& request = ticket->exchange->request();
  Json body = Json::object();
  if (!request.body.empty() && route.method == "POST") {
    auto parsed = parse_json(request.body, "body", kBodyLimits);
    if (!parsed.has_value()) return fail(*ticket, {.status = 400, .message = parsed.error().message});
    body = *std::move(parsed);
  }
  const auto fields = RequestFields::read(route.fields, body);
  if (!fields.has_value()) return fail(*ticket, failure_of(fields.error()));
  const Call call{*model_, request, body, *fields, argument, *this};
  auto plan = route.plan(call);
  if (!plan.has_value()) return fail(*ticket, failure_of(plan.error()));
  if (plan->text != nullptr) {
    const Json key = body.value("genkey", Json());
    return start_text(ticket, *std::move(plan), key.is_string() ? key.get<std::string>() : std::string());
  }
  const Json unused = route.fields.empty() ? Json::array() : unused_fields(*fields);
  const bool is_strict = !route.fields.empty() && fields->boolean("strict");
  if (is_strict && !unused.empty()) {
    return fail(*ticket,
                {.status = 400,
                 .message = fmt::format("{}: has no effect here, and the request is strict; ignored fields: {}",
                                        unused[0].get<std::string>(), json_text(unused)),
                 .field = unused[0].get<std::string>()});
  }
  if (plan->ready.has_value()) return answer(*ticket, *std::move(plan->ready));
  const bool wants_report = fields->boolean("x_plm") || is_strict;
  start_task(ticket,
             [task = std::move(plan->task), unused, wants_report](
                 Engine& engine, const std::function<bool()>& interrupted) -> Result<Json> {
               PLM_TRY_ASSIGN(Json json, task(engine, interrupted));
               if (wants_report && json.is_object()) json["x_plm"] = {{"ignored", unused}};
               return json;
             });
}

void Service::start_text(const std::shared_ptr<Ticket>& ticket, Plan plan, std::string key) {
  const ServedModel& model = *model_;
  AnswerWriter::Parts parts{
      .plan = std::move(plan.text),
      .form = std::move(plan.form),
      .exchange = ticket->exchange,
      .id = ticket->id,
      .model = model.name,
      .created = now_s(),
      .vocabulary = &model.vocabulary(),
      .refuse = [this, ticket](const Failure& f) { return failure_response(*ticket, f); },
      .on_end = [this, ticket](int status, const Answer& text) { on_text_end(*ticket, status, text); },
      .headers = ticket->headers};
  const auto writer = std::make_shared<AnswerWriter>(std::move(parts));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(running_, [](const Running& one) { return one.writer.expired(); });
    running_.push_back({std::move(key), writer});
  }
  const auto added = worker_->add(AnswerWriter::orders(writer));
  if (!added.has_value()) fail(*ticket, failure_of(added.error()));
}

void Service::start_task(const std::shared_ptr<Ticket>& ticket, EngineTask task) {
  const auto added =
      worker_->add([this, ticket, task = std::move(task)](Engine& engine, const std::function<bool()>& interrupted) {
        if (ticket->exchange->is_gone()) return log(*ticket, 499, Json::object());
        const auto stops = [&] { return interrupted() || ticket->exchange->is_gone(); };
        const Result<Json> json = task(engine, stops);
        if (!json.has_value()) return fail(*ticket, failure_of(json.error()));
        answer(*ticket, {.body = json_text(*json)});
      });
  if (!added.has_value()) fail(*ticket, failure_of(added.error()));
}

void Service::answer(const Ticket& ticket, HttpResponse response) {
  const int status = response.status;
  response.headers.insert(response.headers.end(), ticket.headers.begin(), ticket.headers.end());
  ticket.exchange->respond(std::move(response));
  log(ticket, status, Json::object());
}

HttpResponse Service::failure_response(const Ticket& ticket, const Failure& failure) const {
  const Dialect* dialect = ticket.dialect != nullptr ? ticket.dialect : dialect_like("/v1");
  HttpResponse response{
      .status = failure.status, .body = json_text(dialect->failure(failure)), .headers = ticket.headers};
  if (failure.retry_after_s > 0) response.headers.emplace_back("Retry-After", std::to_string(failure.retry_after_s));
  if (failure.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

void Service::fail(const Ticket& ticket, const Failure& failure) {
  ticket.exchange->respond(failure_response(ticket, failure));
  log(ticket, failure.status, {{"error", failure.message}});
}

void Service::on_text_end(const Ticket& ticket, int status, const Answer& answer) {
  for (const TextResult& text : answer.texts) metrics_.count_text(text);
  if (status == 499) metrics_.count_gone();
  Json more = Json::object();
  if (!answer.texts.empty()) {
    const TextResult& first = answer.texts.front();
    more = {{"texts", answer.texts.size()},
            {"prompt_tokens", answer.prompt_tokens()},
            {"cached_tokens", answer.reused_tokens()},
            {"written_tokens", answer.written_tokens()},
            {"queue_ms", first.queue_ms},
            {"first_token_ms", first.queue_ms + first.prompt_ms}};
    if (!answer.plan->report.ignored.empty()) more["ignored"] = answer.plan->report.ignored;
  }
  log(ticket, status, more);
}

void Service::log(const Ticket& ticket, int status, const Json& more) {
  const std::string_view dialect = ticket.dialect == nullptr ? "none" : ticket.dialect->head.name;
  metrics_.count_request(dialect, status);
  if (!options_.log) return;
  const HttpRequest& request = ticket.exchange->request();
  Json line = {{"time", time_text()},
               {"event", "request"},
               {"id", ticket.id},
               {"method", printable(request.method, 20)},
               {"path", printable(request.path, 200)},
               {"dialect", dialect},
               {"status", status},
               {"ms", ticket.since_start.elapsed_ms()}};
  line.update(more);
  const std::lock_guard lock(log_mutex_);
  options_.log(json_text(line));
}

// The view of a plan, under whose lock the model is: no second one is taken.

ServerView::Totals Service::totals() const {
  Totals totals = metrics_.totals();
  totals.uptime_s = since_start_.elapsed_ms() / 1000;
  return totals;
}

EngineWorker::Occupancy Service::occupancy() const {
  return worker_ == nullptr ? EngineWorker::Occupancy{} : worker_->occupancy();
}

std::vector<EngineWorker::Slot> Service::slots() const {
  return worker_ == nullptr ? std::vector<EngineWorker::Slot>() : worker_->slots();
}

std::string Service::running_text(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
    if (!key.empty() && one->key != key) continue;
    if (const auto writer = one->writer.lock()) return writer->text_so_far();
  }
  return {};
}

bool Service::break_off(std::string_view key) {
  const std::lock_guard lock(mutex_);
  bool is_found = false;
  for (const Running& one : running_) {
    const auto writer = one.writer.lock();
    if (writer == nullptr || one.key != key) continue;
    writer->break_off();
    is_found = true;
  }
  return is_found;
}

}  // namespace plm
