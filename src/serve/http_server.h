// The HTTP/1.1 server: sockets, framing, keep-alive, answers in pieces, and the limits that a stranger meets.
//
// One thread reads and writes all connections (Boost.Beast's parser, coroutines of Asio); a few others run the handler,
// so that a long body to be parsed holds up nobody's stream. Requests whose framing is in doubt (two lengths, a length
// and chunks, folded or endless headers) are refused and the connection is closed. A client that goes away is noticed
// at once. Source: RFC 9112; limits: the project's security notes, HTTP framing. Boost is seen by http_server.cpp only,
// which takes long to compile. Tested by tests/serve/test_http_server.cpp with raw sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "serve/http_message.h"

namespace plm {

struct HttpLimits {
  std::size_t target_bytes = 8U << 10;
  std::size_t header_bytes = 64U << 10;  ///< request line and headers together
  std::size_t headers = 100;
  std::size_t body_bytes = 16U << 20;
  std::size_t connections = 4096;
  std::size_t unread_bytes = 16U << 20;  ///< of an answer, that the client has not taken yet; then it counts as gone
  int idle_s = 75;                       ///< between two requests of a connection
  int header_s = 10;                     ///< for the whole header
  int body_s = 30;                       ///< between two pieces of a body
  int write_s = 60;                      ///< for the client to take what was written
};

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< an address, not a name
  std::uint16_t port = 0;          ///< 0: any that is free
  std::size_t workers = 2;         ///< threads that run the handler
  HttpLimits limits = {};
};

/// Answers a request, at once or later, from any thread. Must not throw.
using HttpHandler = std::function<void(const std::shared_ptr<Exchange>& exchange)>;
/// The answer to what never became a request: bad framing, a limit.
using HttpRefusal = std::function<HttpResponse(int status, std::string_view reason)>;

class HttpServer {
 public:
  /// Listens and serves from threads of its own. Errors (network) name the address.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler handler,
                                                   HttpRefusal refusal);
  /// Drops what is under way.
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Connections that are open.
  [[nodiscard]] virtual std::size_t connections() const = 0;
  /// From now on nobody is let in, and connections close after the answer that is under way.
  virtual void drain() = 0;
  /// Waits until the last connection is closed, at most so long. False: some are still open.
  virtual bool wait_until_idle(int most_ms) = 0;
};

}  // namespace plm
