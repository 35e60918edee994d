#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace plm {
namespace {

constexpr int kMostWaitMs = 20'000;  // so that a failure ends; never reached otherwise

// A client that sends bytes as they are.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;  // the server has closed
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  /// Reads until `end` has come, or the server closes; all of it.
  std::string read_until(std::string_view end) {
    while (received_.find(end) == std::string::npos && read_some()) {
    }
    return std::exchange(received_, {});
  }
  std::string read_all() {
    while (read_some()) {
    }
    return std::exchange(received_, {});
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  bool read_some() {
    pollfd waiting{socket_, POLLIN, 0};
    if (::poll(&waiting, 1, kMostWaitMs) <= 0) return false;
    char bytes[4096];
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    received_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  int socket_;
  std::string received_;
};

HttpResponse refusal_of(int status, std::string_view reason) {
  return {.status = status, .content_type = "text/plain", .body = std::string(reason)};
}

std::unique_ptr<HttpServer> serve(HttpHandler handler, HttpLimits limits = {}) {
  auto server = HttpServer::start({.limits = limits}, std::move(handler), refusal_of);
  EXPECT_TRUE(server.has_value());
  return *std::move(server);
}

// Says what it was asked.
void echo(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  exchange->respond({.content_type = "text/plain",
                     .body = request.method + " " + request.path + "?" + request.query + " " + request.body});
}

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

std::string one(std::uint16_t port, std::string_view bytes) {
  RawClient client(port);
  client.send(bytes);
  return client.read_all();
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  const auto server = serve(echo);
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    const std::string answer = client.read_until("hello");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "POST /a/b?c=d hello");
    EXPECT_NE(answer.find("Connection: keep-alive"), std::string::npos);
  }
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_all().find("Connection: close"), std::string::npos);
}

TEST(HttpServer, TakesRequestsThatCameTogether) {
  const auto server = serve(echo);
  const std::string answers = one(server->port(),
                                  "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
                                  "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto first = answers.find("GET /1?"), second = answers.find("GET /2?"), third = answers.find("GET /3?");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
}

TEST(HttpServer, ReadsChunksAndBytesOneByOne) {
  const auto server = serve(echo);
  RawClient client(server->port());
  const std::string_view bytes =
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: "
      "close\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
  for (const char byte : bytes) client.send({&byte, 1});
  EXPECT_EQ(body_of(client.read_all()), "POST /c? abcde");
}

TEST(HttpServer, AsksForABodyThatWaits) {
  const auto server = serve(echo);
  RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 100);
  client.send("ok");
  EXPECT_EQ(body_of(client.read_all()), "POST /? ok");
}

TEST(HttpServer, OldClientsGetTheEndOfTheConnection) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->begin({.content_type = "text/plain"}, 0);
    exchange->write("a");
    exchange->write("b");
    exchange->end();
  });
  const std::string old = one(server->port(), "GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(old), "ab");
  EXPECT_EQ(old.find("chunked"), std::string::npos);
  const std::string now = one(server->port(), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(body_of(now), "1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  const std::string head = one(server->port(), "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(body_of(head), "");
}

// Whatever is in doubt is refused, and the next client is served.
TEST(HttpServer, RefusesFramingInDoubt) {
  const auto server = serve(echo, {.body_bytes = 1000});
  const std::string many_headers = [] {
    std::string headers;
    for (int i = 0; i < 200; ++i) headers += "X-" + std::to_string(i) + ": 1\r\n";
    return headers;
  }();
  const auto post = [](const std::string& headers, const std::string& body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n" + body;
  };
  const struct {
    std::string what, bytes;
    int status;  // 0: none, the connection is closed
  } cases[] = {
      {"no HTTP", "hello there\r\n\r\n", 400},
      {"binary", std::string("\x16\x03\x01\x00\xa5\x01\x00\x00", 8) + "\r\n\r\n", 400},
      {"another version", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"blanks in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"bad method", "G<>T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"header without a colon", "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n", 400},
      {"blank before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"empty name", "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400},
      {"NUL in a header", std::string("GET / HTTP/1.1\r\nHost: x\r\nA: b") + '\0' + "c\r\n\r\n", 400},
      {"bare CR in a header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400},
      {"long target", "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
      {"long header", "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(70'000, 'a') + "\r\n\r\n", 431},
      {"many headers", "GET / HTTP/1.1\r\nHost: x\r\n" + many_headers + "\r\n", 431},
      {"both lengths", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"both lengths, other order", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), 400},
      {"two lengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), 400},
      {"negative length", post("Content-Length: -1\r\n", ""), 400},
      {"length with a sign", post("Content-Length: +3\r\n", "abc"), 400},
      {"length in hexadecimal", post("Content-Length: 0x3\r\n", "abc"), 400},
      {"length of text", post("Content-Length: three\r\n", ""), 400},
      {"length beyond 64 bits", post("Content-Length: 99999999999999999999\r\n", ""), 400},
      {"large length", post("Content-Length: 1001\r\n", ""), 413},
      {"huge length", post("Content-Length: 9223372036854775807\r\n", ""), 413},
      {"other coding", post("Transfer-Encoding: gzip\r\n", ""), 501},
      {"coding twice", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 501},
      {"packed body", post("Content-Encoding: gzip\r\nContent-Length: 1\r\n", "x"), 415},
      {"negative chunk", post("Transfer-Encoding: chunked\r\n", "-1\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk of nonsense", post("Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk beyond 64 bits", post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nabc\r\n"), 400},
      {"chunk longer than said", post("Transfer-Encoding: chunked\r\n", "1\r\nabc\r\n0\r\n\r\n"), 400},
      {"large chunk", post("Transfer-Encoding: chunked\r\n", "fffff\r\n"), 413},
      {"chunks that grow large",
       post("Transfer-Encoding: chunked\r\n", "300\r\n" + std::string(768, 'a') + "\r\n300\r\n"), 413},
  };
  for (const auto& test_case : cases) {
    const std::string answer = one(server->port(), test_case.bytes);
    EXPECT_EQ(status_of(answer), test_case.status) << test_case.what << ": " << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << test_case.what;
  }
  for (const char* cut : {"", "GET", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\n",
                          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"}) {
    RawClient(server->port()).send(cut);
  }
  EXPECT_EQ(body_of(one(server->port(), "GET /still HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")),
            "GET /still? ");
}

TEST(HttpServer, HeadersOfAnswersHoldNoLineEnds) {
  const auto server = serve([](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = "{}", .headers = {{"X-Echo", "a\r\nX-Evil: b"}}});
  });
  const std::string answer = one(server->port(), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer.find("\r\nX-Evil"), std::string::npos);
}

TEST(HttpServer, NoticesAClientThatLeaves) {
  std::atomic<bool> was_gone = false;
  std::promise<void> has_begun;
  std::thread answering;
  auto server = serve([&](const std::shared_ptr<Exchange>& exchange) {
    answering = std::thread([&, exchange] {
      exchange->begin({}, 0);
      exchange->write("x");
      has_begun.set_value();
      for (int i = 0; i < kMostWaitMs && !exchange->is_gone(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      was_gone = exchange->is_gone();
      exchange->write("y");  // to nobody
      exchange->end();
    });
  });
  {
    RawClient client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("x\r\n");
    has_begun.get_future().wait();
  }
  answering.join();
  EXPECT_TRUE(was_gone);
  server->drain();
  EXPECT_TRUE(server->wait_until_idle(kMostWaitMs));
}

// A client that does not read what it asked for counts as gone, however large the answer.
TEST(HttpServer, GivesUpOnAClientThatDoesNotRead) {
  std::promise<bool> gave_up;
  std::thread answering;
  auto server = serve(
      [&](const std::shared_ptr<Exchange>& exchange) {
        answering = std::thread([&, exchange] {
          exchange->begin({}, 0);
          const std::string piece(1 << 16, 'x');
          int i = 0;
          for (; i < 100'000 && !exchange->is_gone(); ++i) exchange->write(piece);
          gave_up.set_value(exchange->is_gone());
        });
      },
      {.unread_bytes = 1 << 20});
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(gave_up.get_future().get());
  answering.join();
}

TEST(HttpServer, ManyIdleConnectionsHoldUpNobody) {
  const auto server = serve(echo, {.connections = 300});
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    if (i % 2 == 0) idle.back()->send("GET / HT");
  }
  EXPECT_EQ(status_of(one(server->port(), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")), 200);
}

TEST(HttpServer, RefusesConnectionsBeyondItsLimit) {
  const auto server = serve(echo, {.connections = 2});
  RawClient first(server->port()), second(server->port());
  for (RawClient* client : {&first, &second}) {
    client->send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(client->read_until("/1?")), 200);
  }
  EXPECT_EQ(status_of(one(server->port(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")), 503);
  first.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_of(first.read_until("/2?")), 200) << "who is in stays in";
}

TEST(HttpServer, DrainsItsConnections) {
  std::promise<std::shared_ptr<Exchange>> asked;
  auto server = serve([&](const std::shared_ptr<Exchange>& exchange) { asked.set_value(exchange); });
  RawClient idle(server->port()), busy(server->port());
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto exchange = asked.get_future().get();
  server->drain();
  EXPECT_EQ(idle.read_all(), "") << "who waits is let go";
  EXPECT_FALSE(server->wait_until_idle(50));
  exchange->respond({.body = "done"});
  const std::string answer = busy.read_all();
  EXPECT_EQ(body_of(answer), "done");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(server->wait_until_idle(kMostWaitMs));
}

TEST(HttpServer, SaysWhereItCannotListen) {
  const auto server = serve(echo);
  const auto second = HttpServer::start({.port = server->port()}, echo, refusal_of);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::network);
  EXPECT_NE(second.error().message.find(std::to_string(server->port())), std::string::npos);
  EXPECT_EQ(HttpServer::start({.host = "not an address"}, echo, refusal_of).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace plm
