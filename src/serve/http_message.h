// What travels over HTTP, as the rest of the server sees it: requests that were read whole, answers, and the exchange
// of the two. Nothing here knows a socket, so everything above is tested without one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plm {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;   ///< "GET"
  std::string path;     ///< as it was sent, without the query
  std::string query;    ///< without the question mark
  HttpHeaders headers;  ///< names in lower case
  std::string body;

  /// The first header of that name (lower case); empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};
};

/// One request and its answer. All members may be called from any thread; after the answer's end they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual const HttpRequest& request() const = 0;
  /// The whole answer.
  virtual void respond(HttpResponse response) = 0;
  /// An answer in pieces, of unknown length; `head.body` is not sent. Pieces follow no closer than `gap_ms`, for
  /// clients that take what one read gives them for one piece.
  virtual void begin(HttpResponse head, int gap_ms) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  /// Whether nobody reads the answer any more: the client closed the connection, or reads too slowly.
  [[nodiscard]] virtual bool is_gone() const = 0;
};

}  // namespace plm
