#include "serve/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace plm {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);  // errors as values
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kMostDrainedBytes = 1U << 20;

bool equals_ignoring_case(std::string_view a, std::string_view b) { return beast::iequals(a, b); }

std::string_view reason_phrase(int status) { return http::obsolete_reason(static_cast<http::status>(status)); }

// A header's value can hold no line end, whoever wrote it.
void append_header(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char c : value) head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  head += "\r\n";
}

// What the handler says about an answer, on its way to the socket.
struct Outgoing {
  enum class Kind : std::uint8_t { whole, begin, piece, end } kind;
  HttpResponse response = {};
  std::string bytes = {};
  int gap_ms = 0;
};

// The handler's side; the connection takes from it.
class ExchangeQueue : public Exchange {
 public:
  ExchangeQueue(HttpRequest request, std::size_t most_unread, std::function<void()> wake)
      : request_(std::move(request)), most_unread_(most_unread), wake_(std::move(wake)) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    push({.kind = Outgoing::Kind::whole, .response = std::move(response)});
  }
  void begin(HttpResponse head, int gap_ms) override {
    push({.kind = Outgoing::Kind::begin, .response = std::move(head), .gap_ms = gap_ms});
  }
  void write(std::string piece) override { push({.kind = Outgoing::Kind::piece, .bytes = std::move(piece)}); }
  void end() override { push({.kind = Outgoing::Kind::end}); }
  bool is_gone() const override { return is_gone_; }

  // Of the connection.
  std::optional<Outgoing> take() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    Outgoing next = std::move(queue_.front());
    queue_.pop_front();
    unread_ -= next.bytes.size();
    return next;
  }
  void leave() { is_gone_ = true; }

 private:
  void push(Outgoing next) {
    {
      const std::lock_guard lock(mutex_);
      if (is_gone_) return;
      unread_ += next.bytes.size();
      if (unread_ > most_unread_) is_gone_ = true;
      queue_.push_back(std::move(next));
    }
    wake_();
  }

  const HttpRequest request_;
  const std::size_t most_unread_;
  const std::function<void()> wake_;
  std::atomic<bool> is_gone_ = false;
  std::mutex mutex_;
  std::deque<Outgoing> queue_;
  std::size_t unread_ = 0;  // bytes in the queue
};

// What all connections share.
struct Shared {
  HttpOptions options;
  HttpHandler handler;
  HttpRefusal refusal;
  asio::thread_pool workers;
  std::atomic<bool> is_draining = false;
  std::atomic<std::size_t> connections = 0;
  std::mutex mutex;  // of the condition only
  std::condition_variable became_idle;

  Shared(const HttpOptions& chosen, HttpHandler handle, HttpRefusal refuse)
      : options(chosen), handler(std::move(handle)), refusal(std::move(refuse)), workers(chosen.workers) {}
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared)
      : stream_(std::move(socket)), signal_(stream_.get_executor()), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() {
    if (--shared_.connections > 0) return;
    const std::lock_guard lock(shared_.mutex);
    shared_.became_idle.notify_all();
  }

  asio::awaitable<void> serve() {
    const auto alive = shared_from_this();  // the frame keeps the connection
    if (shared_.connections > shared_.options.limits.connections) {
      co_await refuse(503, "too many connections");
    } else {
      while (co_await serve_one()) {
      }
    }
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  // Wakes a connection that waits for its client; one that is answering goes on.
  void drain() {
    if (!is_answering_) stream_.close();
  }

 private:
  [[nodiscard]] const HttpLimits& limits() const { return shared_.options.limits; }
  void allow(int seconds) { stream_.expires_after(std::chrono::seconds(seconds)); }

  // One request and its answer; whether the connection lives on.
  asio::awaitable<bool> serve_one() {
    if (!co_await first_bytes()) co_return false;
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(limits().header_bytes));
    parser.body_limit(limits().body_bytes);
    allow(limits().header_s);
    const auto [header_error, header_size] = co_await http::async_read_header(stream_, buffer_, parser, kQuietly);
    if (header_error) co_return co_await refuse_header(header_error);
    const auto [status, reason] = check_header(parser);
    if (status != 0) co_return co_await refuse(status, reason);
    if (equals_ignoring_case(parser.get()[http::field::expect], "100-continue")) {
      if (!co_await send("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
    }
    while (!parser.is_done()) {
      allow(limits().body_s);
      const auto [error, size] = co_await http::async_read_some(stream_, buffer_, parser, kQuietly);
      if (error) co_return co_await refuse_body(error);
    }
    co_return co_await answer(parser.release());
  }

  // Waits for a request to begin, which may take longer than its header.
  asio::awaitable<bool> first_bytes() {
    if (buffer_.size() > 0) co_return true;
    if (shared_.is_draining) co_return false;
    allow(limits().idle_s);
    const auto [error, size] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kQuietly);
    buffer_.commit(size);
    co_return !error && size > 0;
  }

  // A status and a reason to refuse what was read; 0: none.
  [[nodiscard]] std::pair<int, std::string_view> check_header(const Parser& parser) const {
    const auto& request = parser.get();
    if (request.version() != 10 && request.version() != 11) return {505, "HTTP version: expected 1.0 or 1.1"};
    if (request.target().size() > limits().target_bytes) return {414, "request line: too long"};
    const auto fields = std::distance(request.begin(), request.end());
    if (static_cast<std::size_t>(fields) > limits().headers) return {431, "headers: too many"};
    if (request.count(http::field::host) > 1) return {400, "host: more than one"};
    if (request.version() == 11 && request.count(http::field::host) == 0) return {400, "host: missing"};
    const bool has_length = request.count(http::field::content_length) > 0;
    const auto encodings = request.count(http::field::transfer_encoding);
    if (encodings > 0 && has_length) return {400, "body: has both a content-length and a transfer-encoding"};
    if (encodings > 0 && !equals_ignoring_case(request[http::field::transfer_encoding], "chunked")) {
      return {501, "transfer-encoding: expected chunked"};
    }
    const std::string_view coding = request[http::field::content_encoding];
    if (!coding.empty() && !equals_ignoring_case(coding, "identity")) return {415, "content-encoding: expected none"};
    return {0, {}};
  }

  asio::awaitable<bool> refuse_header(error_code error) {
    if (error == http::error::header_limit) co_return co_await refuse(431, "headers: too large");
    if (error == http::error::body_limit) co_return co_await refuse(413, "body: too large");
    if (error == beast::error::timeout) co_return co_await refuse(408, "headers: did not come in time");
    const bool is_framing = error.category() == http::make_error_code(http::error::bad_method).category();
    if (is_framing && error != http::error::end_of_stream && error != http::error::partial_message) {
      co_return co_await refuse(400, "request: is not HTTP/1.1");
    }
    co_return false;
  }

  asio::awaitable<bool> refuse_body(error_code error) {
    if (error == http::error::body_limit) co_return co_await refuse(413, "body: too large");
    if (error == beast::error::timeout) co_return co_await refuse(408, "body: did not come in time");
    if (error == http::error::partial_message || error == http::error::end_of_stream) co_return false;
    const bool is_framing = error.category() == http::make_error_code(http::error::bad_method).category();
    if (is_framing) co_return co_await refuse(400, "body: is not framed as HTTP/1.1 has it");
    co_return false;
  }

  // Answers what is no request, and closes. Reads on for a while, or the client's kernel might throw the answer away.
  asio::awaitable<bool> refuse(int status, std::string_view reason) {
    HttpResponse response = shared_.refusal(status, reason);
    if (!co_await send(head_of(response, {.length = response.body.size(), .closes = true}) + response.body)) {
      co_return false;
    }
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    allow(1);
    std::array<char, kReadBytes> dropped;
    for (std::size_t count = 0; count < kMostDrainedBytes;) {
      const auto [error, size] = co_await stream_.async_read_some(asio::buffer(dropped), kQuietly);
      if (error) break;
      count += size;
    }
    co_return false;
  }

  static HttpRequest request_of(const http::request<http::string_body>& message) {
    HttpRequest request;
    request.method = std::string(message.method_string());
    const std::string_view target = message.target();
    const std::size_t question = target.find('?');
    request.path = std::string(target.substr(0, question));
    if (question != std::string_view::npos) request.query = std::string(target.substr(question + 1));
    for (const auto& field : message) {
      std::string name(field.name_string());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      request.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    request.body = message.body();
    return request;
  }

  // How the answer to the request in progress is framed.
  struct Framing {
    std::optional<std::size_t> length = {};  // none: chunks
    bool closes = false;
  };
  static std::string head_of(const HttpResponse& response, const Framing& framing, bool is_old = false) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
    append_header(head, "Content-Type", response.content_type);
    append_header(head, "X-Content-Type-Options", "nosniff");
    append_header(head, "Cache-Control", "no-store");
    for (const auto& [name, value] : response.headers) append_header(head, name, value);
    if (framing.length.has_value()) {
      append_header(head, "Content-Length", std::to_string(*framing.length));
    } else if (!is_old) {
      append_header(head, "Transfer-Encoding", "chunked");
    }
    append_header(head, "Connection", framing.closes ? "close" : "keep-alive");
    return head + "\r\n";
  }

  asio::awaitable<bool> answer(http::request<http::string_body> message) {
    is_head_ = message.method() == http::verb::head;
    is_old_ = message.version() < 11;
    keeps_alive_ = message.keep_alive();
    is_answering_ = true;
    const auto weak = weak_from_this();
    const auto executor = stream_.get_executor();
    const auto wake = [weak, executor] {
      asio::post(executor, [weak] {
        if (const auto self = weak.lock()) self->signal_.cancel();
      });
    };
    exchange_ = std::make_shared<ExchangeQueue>(request_of(message), limits().unread_bytes, wake);
    message = {};  // the exchange has it now
    asio::post(shared_.workers, [&handler = shared_.handler, exchange = exchange_] { handler(exchange); });
    watch_client();
    const bool is_complete = co_await pass_on();
    unwatch_client();
    exchange_->leave();
    exchange_.reset();
    is_answering_ = false;
    co_return is_complete&& keeps_alive_ && !shared_.is_draining;
  }

  // Takes what the handler says to the socket; whether all of it went.
  asio::awaitable<bool> pass_on() {
    int gap_ms = 0;
    while (true) {
      std::optional<Outgoing> next = exchange_->take();
      if (!next.has_value()) {
        if (exchange_->is_gone()) co_return false;
        signal_.expires_at(asio::steady_timer::time_point::max());
        (void)co_await signal_.async_wait(kQuietly);
        continue;
      }
      if (exchange_->is_gone()) co_return false;
      if (gap_ms > 0 && next->kind != Outgoing::Kind::end) co_await keep_gap(gap_ms);
      if (next->kind == Outgoing::Kind::begin) gap_ms = next->gap_ms;
      if (!co_await send(wire(*next))) co_return false;
      last_write_ = std::chrono::steady_clock::now();
      if (next->kind == Outgoing::Kind::whole || next->kind == Outgoing::Kind::end) co_return true;
    }
  }

  asio::awaitable<void> keep_gap(int gap_ms) {
    asio::steady_timer timer(stream_.get_executor(), last_write_ + std::chrono::milliseconds(gap_ms));
    (void)co_await timer.async_wait(kQuietly);
  }

  // The bytes on the wire.
  std::string wire(const Outgoing& next) {
    if (shared_.is_draining) keeps_alive_ = false;
    switch (next.kind) {
      case Outgoing::Kind::whole: {
        std::string bytes = head_of(next.response, {.length = next.response.body.size(), .closes = !keeps_alive_});
        return is_head_ ? bytes : bytes + next.response.body;
      }
      case Outgoing::Kind::begin:
        if (is_old_) keeps_alive_ = false;  // the end of the connection is the end of the answer
        return head_of(next.response, {.closes = !keeps_alive_}, is_old_);
      case Outgoing::Kind::piece:
        if (next.bytes.empty() || is_head_) return {};
        return is_old_ ? next.bytes : fmt::format("{:x}\r\n{}\r\n", next.bytes.size(), next.bytes);
      case Outgoing::Kind::end: return is_old_ || is_head_ ? "" : "0\r\n\r\n";
    }
    return {};
  }

  asio::awaitable<bool> send(std::string bytes) {
    if (bytes.empty()) co_return true;
    allow(limits().write_s);
    const auto [error, size] = co_await asio::async_write(stream_, asio::buffer(bytes), kQuietly);
    co_return !error;
  }

  // A client that closes its connection while it is being answered leaves. One that sends more meanwhile (the next
  // request) has its bytes wait; that it closes later is then noticed when it is written to.
  void watch_client() {
    stream_.socket().async_wait(
        tcp::socket::wait_read,
        asio::bind_cancellation_slot(watching_.slot(), [self = shared_from_this()](error_code error) {
          if (error || self->exchange_ == nullptr) return;
          error_code read_error;
          std::array<char, 1> byte;
          auto& socket = self->stream_.socket();
          socket.non_blocking(true, read_error);
          const std::size_t size = socket.receive(asio::buffer(byte), tcp::socket::message_peek, read_error);
          if (size > 0 || read_error == asio::error::would_block) return;
          self->exchange_->leave();
          self->signal_.cancel();
        }));
  }
  void unwatch_client() { watching_.emit(asio::cancellation_type::terminal); }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  asio::steady_timer signal_;  // cancelled when the exchange has something new
  asio::cancellation_signal watching_;
  Shared& shared_;
  std::shared_ptr<ExchangeQueue> exchange_;  // of the request in progress
  std::chrono::steady_clock::time_point last_write_ = {};
  bool is_answering_ = false;
  bool is_head_ = false, is_old_ = false, keeps_alive_ = false;  // of the request in progress
};

class BeastServer : public HttpServer {
 public:
  BeastServer(const HttpOptions& options, HttpHandler handler, HttpRefusal refusal)
      : shared_(options, std::move(handler), std::move(refusal)), acceptor_(context_) {}

  ~BeastServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    shared_.workers.join();
  }

  Result<void> listen() {
    const HttpOptions& options = shared_.options;
    error_code error;
    const auto address = asio::ip::make_address(options.host, error);
    if (error) return fail(ErrorKind::usage, "host: \"{}\" is no address; give one like 127.0.0.1", options.host);
    const tcp::endpoint endpoint(address, options.port);
    const auto failed = [&] {
      return fail(ErrorKind::network, "{}:{}: cannot listen: {}; choose another --port", options.host, options.port,
                  error.message());
    };
    acceptor_.open(endpoint.protocol(), error);
    if (error) return failed();
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    acceptor_.bind(endpoint, error);
    if (error) return failed();
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return failed();
    port_ = acceptor_.local_endpoint(error).port();
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }
  std::size_t connections() const override { return shared_.connections; }

  void drain() override {
    shared_.is_draining = true;
    asio::post(context_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      for (const auto& weak : open_) {
        if (const auto connection = weak.lock()) connection->drain();
      }
    });
  }

  bool wait_until_idle(int most_ms) override {
    std::unique_lock lock(shared_.mutex);
    return shared_.became_idle.wait_for(lock, std::chrono::milliseconds(most_ms),
                                        [this] { return shared_.connections == 0; });
  }

 private:
  asio::awaitable<void> accept() {
    while (!shared_.is_draining) {
      auto [error, socket] = co_await acceptor_.async_accept(kQuietly);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // no more descriptors, say: wait until one is free
        asio::steady_timer pause(context_, std::chrono::milliseconds(50));
        (void)co_await pause.async_wait(kQuietly);
        continue;
      }
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      const auto connection = std::make_shared<Connection>(std::move(socket), shared_);
      std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
      open_.push_back(connection);
      asio::co_spawn(context_, connection->serve(), asio::detached);
    }
  }

  Shared shared_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::vector<std::weak_ptr<Connection>> open_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, HttpHandler handler,
                                                      HttpRefusal refusal) {
  auto server = std::make_unique<BeastServer>(options, std::move(handler), std::move(refusal));
  PLM_TRY(server->listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace plm
