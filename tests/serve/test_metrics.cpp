#include "serve/metrics.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(Metrics, CountInPrometheusText) {
  Metrics metrics;
  metrics.count_request("openai", 200);
  metrics.count_request("openai", 200);
  metrics.count_request("ollama", 400);
  TextResult text;
  text.prompt_tokens = 10;
  text.reused_tokens = 4;
  text.tokens = {1, 2, 3};
  text.queue_ms = 100;
  text.prompt_ms = 200;
  text.decode_ms = 700;
  metrics.count_text(text);
  const std::string out = metrics.text({.running = 1, .waiting = 2});
  for (const char* line :
       {"plm_requests_total{dialect=\"openai\",status=\"200\"} 2\n", "plm_prompt_tokens_total 6\n",
        "plm_cached_tokens_total 4\n", "plm_written_tokens_total 3\n", "plm_texts_running 1\n", "plm_texts_waiting 2\n",
        "plm_queue_seconds_bucket{le=\"0.05\"} 0\n", "plm_queue_seconds_bucket{le=\"0.1\"} 1\n",
        "plm_queue_seconds_bucket{le=\"+Inf\"} 1\n", "plm_first_token_seconds_count 1\n"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << out;
  }
  EXPECT_EQ(metrics.totals().last_written_tokens, 3U);
}

}  // namespace
}  // namespace plm
