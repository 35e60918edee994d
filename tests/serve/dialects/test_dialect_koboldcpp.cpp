#include <gtest/gtest.h>

#include "serve/served_twin.h"

namespace plm {
namespace {

TEST(DialectKoboldcpp, GeneratesWholeAndInPieces) {
  const Json body = {
      {"prompt", kSum}, {"temperature", 0}, {"max_length", 20}, {"sampler_order", {6, 0, 1, 3, 4, 2, 5}}};
  EXPECT_EQ(twin().post("/api/v1/generate", body).json()["results"][0]["text"], "1124");
  const Reply stream = twin().post("/api/extra/generate/stream", body);
  std::string text;
  for (const Json& event : stream.events()) text += event["token"].get<std::string>();
  EXPECT_EQ(text, "1124");
  EXPECT_EQ(stream.pieces[0].find("event: message\ndata: "), 0U);
  EXPECT_EQ(twin().post("/api/v1/generate", {{"prompt", kSum}, {"sampler_order", {9}}}).status, 400);
}

TEST(DialectKoboldcpp, CountsAndTellsAboutItself) {
  const Json count = twin().post("/api/extra/tokencount", {{"prompt", "A1"}}).json();
  EXPECT_EQ(count["value"], 3);
  EXPECT_EQ(count["ids"].size(), 3U);
  EXPECT_EQ(twin().post("/api/extra/detokenize", {{"ids", count["ids"]}}).json()["result"], "<bos>A1");
  EXPECT_EQ(twin().get("/api/v1/model").json()["result"], "koboldcpp/twin-ar");
  EXPECT_EQ(twin().get("/api/extra/version").json()["result"], "KoboldCpp");
  EXPECT_EQ(twin().get("/api/extra/true_max_context_length").json()["value"], ServedTwin::kContext);
  EXPECT_TRUE(twin().get("/api/extra/perf").json().contains("last_token_count"));
}

}  // namespace
}  // namespace plm
