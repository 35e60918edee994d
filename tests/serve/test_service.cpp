#include "serve/service.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "serve/served_twin.h"
#include "serve/text_fields.h"

namespace plm {
namespace {

std::string completed(const Reply& reply) { return reply.json()["choices"][0]["text"].get<std::string>(); }

TEST(Service, RoutesMeetNowhere) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Dialect* dialect : dialects()) {
    for (const Route& route : dialect->routes) {
      EXPECT_TRUE(seen.emplace(route.method, route.path).second) << route.method << " " << route.path;
      EXPECT_EQ(route.method == "POST", !route.fields.empty()) << route.path;
    }
  }
}

TEST(Service, AnswersWhatBelongsToNoDialect) {
  EXPECT_EQ(twin().get("/health").json()["status"], "ok");
  EXPECT_EQ(twin().get("/").body, "Ollama is running");
  EXPECT_NE(twin().ask("GET", "/", nullptr, {{"accept", "text/html"}}).body.find("<!doctype html>"), std::string::npos);
  EXPECT_NE(twin().get("/metrics").body.find("# TYPE plm_texts_total counter"), std::string::npos);
  EXPECT_EQ(twin().get("/no/such/thing").status, 404);
  EXPECT_EQ(twin().get("/v1/completions").status, 405);
  EXPECT_EQ(twin().ask("DELETE", "/v1/models").status, 405);
}

TEST(Service, EveryAnswerHasTheRequestsId) {
  const auto id_of = [](const Reply& reply) {
    for (const auto& [name, value] : reply.headers) {
      if (name == "X-Request-Id") return value;
    }
    return std::string();
  };
  EXPECT_EQ(id_of(twin().ask("GET", "/health", nullptr, {{"x-request-id", "mine-1"}})), "mine-1");
  const std::string other = id_of(twin().ask("GET", "/health", nullptr, {{"x-request-id", "bad id\r\n"}}));
  EXPECT_EQ(other.find("bad"), std::string::npos);
  EXPECT_NE(other, id_of(twin().get("/health")));
}

TEST(Service, RefusesInTheDialectsOwnWords) {
  EXPECT_TRUE(twin().ask("POST", "/v1/completions", "{").json()["error"]["message"].is_string());
  EXPECT_EQ(twin().post("/v1/completions", {{"prompt", 5}}).json()["error"]["param"], "prompt");
  EXPECT_TRUE(twin().ask("POST", "/api/generate", "[]").json()["error"].is_string());
  EXPECT_TRUE(twin().ask("POST", "/api/v1/generate", "nonsense").json()["detail"]["msg"].is_string());
  EXPECT_EQ(twin().ask("POST", "/v1/messages", "nonsense").json()["type"], "error");
  EXPECT_TRUE(twin().get("/api/extra/nothing").json().contains("detail"));
  for (const Dialect* dialect : dialects()) {
    const Json told = dialect->failure({.status = 400, .message = "what is wrong", .field = "prompt"});
    EXPECT_NE(json_text(told).find("what is wrong"), std::string::npos) << dialect->head.name;
  }
}

TEST(Service, KeysAreAskedForEverythingButHealth) {
  ServedTwin closed("twin-ar", {}, {.keys = {"secret"}});
  EXPECT_EQ(closed.get("/health").status, 200);
  for (const char* path : {"/v1/models", "/metrics", "/props", "/openapi.json", "/nothing"}) {
    EXPECT_EQ(closed.get(path).status, 401) << path;
  }
  EXPECT_EQ(closed.post("/v1/completions", {{"prompt", kSum}}).status, 401);
  EXPECT_EQ(closed.ask("GET", "/v1/models", nullptr, {{"authorization", "Bearer secret"}}).status, 200);
}

TEST(Service, TellsLoadingFromReady) {
  Service service({});
  const auto ask = [&](std::string method, std::string path) {
    const auto exchange =
        std::make_shared<RecordedExchange>(HttpRequest{.method = std::move(method), .path = std::move(path)});
    service.handle(exchange);
    return ServedTwin::reply_of(*exchange);
  };
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("GET", "/health").json()["status"], "loading model");
  EXPECT_EQ(ask("GET", "/v1/models").status, 503);
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
}

// The whole point: whoever asks, however, whoever else asks at the time, the bytes are the same.
TEST(Service, EqualSeedsGiveEqualTextsAloneAndInCompany) {
  ServedTwin server("twin-ar", {.sequences = 4, .waiting = 64});
  const auto request = [](int seed, bool streams) {
    return Json{{"prompt", "A1"}, {"max_tokens", 24},  {"temperature", 1.5}, {"top_p", 1.0},
                {"seed", seed},   {"stream", streams}, {"ignore_eos", true}};
  };
  std::vector<std::string> alone;
  for (int seed = 0; seed < 8; ++seed) alone.push_back(completed(server.post("/v1/completions", request(seed, false))));
  EXPECT_GT(std::set<std::string>(alone.begin(), alone.end()).size(), 4U);

  std::vector<std::shared_ptr<RecordedExchange>> together;
  for (int i = 0; i < 32; ++i) together.push_back(server.send("POST", "/v1/completions", request(i % 8, i % 3 == 0)));
  for (int i = 0; i < 32; ++i) {
    const Reply reply = ServedTwin::reply_of(*together[static_cast<std::size_t>(i)]);
    std::string text;
    if (i % 3 == 0) {
      for (const Json& event : reply.events()) text += event["choices"][0]["text"].get<std::string>();
    } else {
      text = completed(reply);
    }
    EXPECT_EQ(text, alone[static_cast<std::size_t>(i % 8)]) << i;
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Service, ClientsThatLeaveTakeNothingWithThem) {
  ServedTwin server("twin-ar", {.sequences = 2, .waiting = 64});
  const Json endless = {{"prompt", kSum}, {"max_tokens", 3000}, {"stream", true}, {"ignore_eos", true}};
  for (int i = 0; i < 12; ++i) {
    const auto exchange = server.send("POST", "/v1/completions", endless);
    if (i % 2 == 0) exchange->wait_for_piece();
    exchange->leave();
  }
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(completed(server.post("/v1/completions", {{"prompt", kSum}, {"temperature", 0}})), "1124");
  EXPECT_NE(server.get("/metrics").body.find("plm_clients_gone_total 12"), std::string::npos);
}

TEST(Service, TooMuchWaitingIsRefusedAtOnce) {
  ServedTwin server("twin-ar", {.sequences = 1, .waiting = 2});
  const Json endless = {{"prompt", kSum}, {"max_tokens", 3000}, {"stream", true}, {"ignore_eos", true}};
  const auto first = server.send("POST", "/v1/completions", endless);
  first->wait_for_piece();
  std::vector<std::shared_ptr<RecordedExchange>> waiting;
  for (int i = 0; i < 2; ++i) waiting.push_back(server.send("POST", "/v1/completions", endless));
  const Reply refused = server.post("/v1/completions", {{"prompt", kSum}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(std::ranges::any_of(refused.headers, [](const auto& header) { return header.first == "Retry-After"; }));
  EXPECT_EQ(server.post("/api/v1/generate", {{"prompt", kSum}}).json()["detail"]["type"], "service_unavailable");
  first->leave();
  for (const auto& exchange : waiting) exchange->leave();
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Service, AbortGivesWhatIsThere) {
  ServedTwin server("twin-ar", {.sequences = 2, .waiting = 4});
  const Json endless = {{"prompt", kSum}, {"max_length", 3000}, {"ban_eos_token", true}, {"genkey", "K1"}};
  const auto exchange = server.send("POST", "/api/v1/generate", endless);
  std::string so_far;
  while (so_far.empty()) {
    so_far =
        server.post("/api/extra/generate/check", {{"genkey", "K1"}}).json()["results"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(server.post("/api/extra/abort", {{"genkey", "K2"}}).json()["success"], "false");
  EXPECT_EQ(server.post("/api/extra/abort", {{"genkey", "K1"}}).json()["success"], "true");
  const Reply reply = ServedTwin::reply_of(*exchange);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["results"][0]["text"].get<std::string>().find(so_far), 0U);
}

TEST(Service, SaysWhatActedAndWhatDidNot) {
  const Json report = twin()
                          .post("/v1/completions", {{"prompt", kSum},
                                                    {"temperature", 0.7},
                                                    {"top_k", 5},
                                                    {"skew", 0.3},
                                                    {"nonsense", 1},
                                                    {"user", "u"},
                                                    {"x_plm", true}})
                          .json()["x_plm"];
  EXPECT_EQ(report["profile"], "plm");
  EXPECT_EQ(report["ignored"], (Json{"nonsense", "skew"}));
  std::vector<std::string> names;
  for (const Json& sampler : report["chain"]) names.push_back(sampler["name"].get<std::string>());
  EXPECT_EQ(names, (std::vector<std::string>{"top_k", "temperature"}));
  EXPECT_EQ(report["texts"][0]["prompt_tokens"], 10);
  EXPECT_FALSE(twin().post("/v1/completions", {{"prompt", kSum}}).json().contains("x_plm"));

  const Reply strict = twin().post("/v1/completions", {{"prompt", kSum}, {"nonsense", 1}, {"strict", true}});
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(strict.json()["error"]["param"], "nonsense");
  EXPECT_EQ(twin().post("/tokenize", {{"content", "a"}, {"nonsense", 1}, {"strict", true}}).status, 400);
  EXPECT_EQ(twin().post("/v1/completions", {{"prompt", kSum}, {"user", "u"}, {"strict", true}}).status, 200);
}

TEST(Service, ConstraintsAreRefusedNotDropped) {
  const std::pair<const char*, Json> asked[] = {{"grammar", "root ::= \"a\""},
                                                {"json_schema", {{"type", "object"}}},
                                                {"response_format", {{"type", "json_object"}}},
                                                {"guided_regex", "a+"}};
  for (const auto& [name, value] : asked) {
    const Reply reply = twin().post("/v1/completions", {{"prompt", kSum}, {name, value}});
    EXPECT_EQ(reply.status, 400) << name;
    EXPECT_EQ(reply.json()["error"]["param"], name);
  }
  EXPECT_EQ(twin().post("/api/generate", {{"prompt", "a"}, {"format", "json"}}).status, 400);
  EXPECT_EQ(twin().post("/v1/completions", {{"prompt", kSum}, {"grammar", ""}, {"json_schema", Json::object()}}).status,
            200);
}

// Requests that clients were seen to send: each is answered without an error, streamed where it asks for a stream.
TEST(Service, AnswersWhatRealClientsSend) {
  const std::filesystem::path folder = std::string(PLM_SHARED) + "/conformance/clients";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded requests";
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".jsonl") continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line); ++count) {
      const Json recorded = parse_json(line, file.path().string()).value();
      Json body = recorded["body"];
      const bool streams = body.is_object() && body.value("stream", Json()) == true;
      HttpHeaders headers;
      for (const auto& [name, value] : recorded["headers"].items())
        headers.emplace_back(name, value.get<std::string>());
      for (const char* length : {"max_tokens", "n_predict", "max_new_tokens", "num_predict", "max_length"}) {
        if (body.is_object() && body.contains(length)) body[length] = 24;  // as long as is needed
      }
      if (body.is_object() && body.contains("options")) body["options"]["num_predict"] = 24;
      const std::string path = recorded["path"].get<std::string>();
      const Reply reply = twin().ask(recorded["method"].get<std::string>(), path, body, headers);
      EXPECT_EQ(reply.status, 200) << file.path() << " " << path << " " << reply.body;
      EXPECT_EQ(streams, !reply.pieces.empty()) << path;
      EXPECT_NE(streams, !reply.body.empty()) << path;
      (void)reply.events();
    }
  }
  EXPECT_GT(count, 40U);
}

// Numbers that servers have fallen over: an answer or a refusal, never anything else.
TEST(Service, SurvivesNastyNumbers) {
  const std::vector<std::string> values = {"-1",
                                           "0",
                                           "1",
                                           "2147483648",
                                           "-2147483649",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "-9223372036854775808",
                                           "1e308",
                                           "-1e308",
                                           "1e-320",
                                           "0.5",
                                           "\"NaN\"",
                                           "\"1\"",
                                           "null",
                                           "true",
                                           "[]",
                                           "{}",
                                           "[[]]",
                                           "[1e308]"};
  std::set<std::string> names = {
      "samplers", "sampler_order", "sampler_priority", "logit_bias", "custom_token_bans", "stop",
      "prompt",   "x_plm",         "strict",           "suffix",     "dynatemp_low",      "dynatemp_high"};
  for (const Field& field : text_fields()) names.emplace(field.name);
  for (const Parameter& parameter : sampling_parameters()) names.emplace(parameter.name);
  for (const std::string& name : names) {
    for (const std::string& value : values) {
      const bool is_count = name == "n" || name == "best_of";  // 1e3 texts are allowed, and take their time
      if (is_count && value == "1") continue;
      std::string body = name == "prompt" ? "{" : "{\"prompt\": \"A1\", ";
      if (name != "max_tokens") body += "\"max_tokens\": 2, ";
      if (name == "max_tokens") body += "\"stop\": \"1\", \"temperature\": 0, ";
      body += "\"" + name + "\": " + value + "}";
      const char* path = name.size() % 2 == 0 ? "/v1/completions" : "/completion";
      const Reply reply = twin().ask("POST", path, body);
      EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status << " " << body << " " << reply.body;
    }
  }
  EXPECT_EQ(completed(twin().post("/v1/completions", {{"prompt", kSum}, {"temperature", 0}})), "1124");
}

TEST(Service, LogsALineOfJsonForEachRequest) {
  ServedTwin server;
  server.post("/v1/completions", {{"prompt", kSum}, {"temperature", 0}, {"nonsense", 1}});
  server.get("/\x1b[2J");
  EXPECT_TRUE(server.becomes_idle());
  ASSERT_EQ(server.log().size(), 2U);
  const Json text = parse_json(server.log()[0], "log").value();
  EXPECT_EQ(text["path"], "/v1/completions");
  EXPECT_EQ(text["status"], 200);
  EXPECT_EQ(text["dialect"], "openai");
  EXPECT_EQ(text["written_tokens"], 4);
  EXPECT_EQ(text["ignored"], Json{"nonsense"});
  EXPECT_EQ(server.log()[1].find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace plm
