#include "serve/access.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

HttpRequest request(HttpHeaders headers, std::string method = "GET") {
  return {.method = std::move(method), .path = "/v1/models", .headers = std::move(headers)};
}

int status_of(const AccessRules& rules, const HttpRequest& asked) {
  const auto refused = refusal(rules, asked, true);
  return refused.has_value() ? refused->status : 200;
}

TEST(Access, ComparesWholeKeys) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  for (const char* other : {"", "s", "secre", "secrets", "Secret", "secretsecret"}) {
    EXPECT_FALSE(equal_in_constant_time("secret", other)) << other;
    EXPECT_FALSE(equal_in_constant_time(other, "secret")) << other;
  }
}

TEST(Access, NeedsAKeyWhereThereIsOne) {
  const AccessRules open, closed{.keys = {"one", "two"}};
  EXPECT_EQ(status_of(open, request({{"authorization", "Bearer "}})), 200) << "as SillyTavern sends it";
  EXPECT_EQ(status_of(closed, request({})), 401);
  EXPECT_EQ(status_of(closed, request({{"authorization", "Bearer "}})), 401);
  EXPECT_EQ(status_of(closed, request({{"authorization", "Bearer three"}})), 401);
  EXPECT_EQ(status_of(closed, request({{"authorization", "Bearer two"}})), 200);
  EXPECT_EQ(status_of(closed, request({{"authorization", "bearer one "}})), 200);
  EXPECT_EQ(status_of(closed, request({{"x-api-key", "one"}})), 200);
  EXPECT_FALSE(refusal(closed, request({}), false).has_value()) << "an open path";
}

TEST(Access, RefusesNamesThatAreNotItsOwn) {
  const AccessRules rules{.hosts = {"models.example"}};
  for (const char* host :
       {"127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "192.168.1.7", "models.example:80"})
    EXPECT_EQ(status_of(rules, request({{"host", host}})), 200) << host;
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080", "models.example.evil"})
    EXPECT_EQ(status_of(rules, request({{"host", host}})), 403) << host;
}

TEST(Access, RefusesScriptsOfOtherPages) {
  const AccessRules rules{.origins = {"https"
                                      "://app.example"}};
  const auto from = [&](std::string origin) {
    return request({{"host", "127.0.0.1:8080"}, {"origin", std::move(origin)}});
  };
  const std::string evil = std::string("https") + "://evil.example", listed = std::string("https") + "://app.example";
  EXPECT_EQ(status_of(rules, from(evil)), 403);
  EXPECT_EQ(status_of(rules, from("null")), 403);
  EXPECT_EQ(status_of(rules, from(listed)), 200);
  EXPECT_EQ(status_of(rules, from(std::string("http") + "://127.0.0.1:8080")), 200) << "its own page";
  EXPECT_TRUE(cors_headers(rules, from(evil)).empty());
  ASSERT_FALSE(cors_headers(rules, from(listed)).empty());
  EXPECT_EQ(cors_headers(rules, from(listed)).front().second, listed);
  EXPECT_TRUE(cors_headers({}, from(listed)).empty());

  HttpRequest form = from(listed);
  form.method = "POST";
  form.body = "{}";
  form.headers.emplace_back("content-type", "text/plain");
  EXPECT_EQ(status_of(rules, form), 415) << "a form that a browser sends without asking";
}

TEST(Access, ReadsKeysFromAFile) {
  EXPECT_EQ(keys_of("# keys\n one\r\n\n\ttwo \n#three\nfour"), (std::vector<std::string>{"one", "two", "four"}));
  EXPECT_TRUE(keys_of("").empty());
}

TEST(Access, KnowsAddressesOfThisMachine) {
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) EXPECT_TRUE(is_loopback(own)) << own;
  for (const char* other : {"0.0.0.0", "::", "192.168.0.1", "10.0.0.1", ""}) EXPECT_FALSE(is_loopback(other)) << other;
}

}  // namespace
}  // namespace plm
