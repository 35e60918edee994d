// Covers src/serve/dialects/dialect_tabby.cpp, src/serve/dialects/dialect_ooba.cpp,
// src/serve/dialects/dialect_vllm.cpp.
#include <gtest/gtest.h>

#include "serve/served_twin.h"

namespace plm {
namespace {

TEST(DialectTabby, TellsItsModelAndTokens) {
  EXPECT_EQ(twin().get("/v1/model").json()["id"], "twin-ar");
  EXPECT_EQ(twin().get("/v1/model/list").json()["data"][0]["id"], "twin-ar");
  const Json encoded = twin().post("/v1/token/encode", {{"text", "A1"}}).json();
  EXPECT_EQ(encoded["length"], 3);
  EXPECT_EQ(twin().post("/v1/token/decode", {{"tokens", encoded["tokens"]}}).json()["text"], "A1");
}

TEST(DialectOoba, TellsItsModelAndTokens) {
  EXPECT_EQ(twin().get("/v1/internal/model/info").json()["model_name"], "twin-ar");
  const Json encoded = twin().post("/v1/internal/encode", {{"text", "A1"}}).json();
  EXPECT_EQ(encoded["length"], 3);
  EXPECT_EQ(twin().post("/v1/internal/decode", {{"tokens", encoded["tokens"]}}).json()["text"], "<bos>A1");
}

TEST(DialectVllm, TellsItsTokenizer) {
  const Json info = twin().get("/tokenizer_info").json();
  EXPECT_EQ(info["bos_token"], "<bos>");
  EXPECT_FALSE(info["chat_template"].get<std::string>().empty());
}

}  // namespace
}  // namespace plm
