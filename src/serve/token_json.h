// Tokens and the words for how a text ended, as several dialects write them. Tested by tests/serve/test_token_json.cpp.
#pragma once

#include <string>

#include "base/json.h"
#include "serve/text_plan.h"

namespace plm {

/// The bytes that a token adds to a text; of control tokens their text.
[[nodiscard]] std::string token_bytes(const Vocabulary& vocabulary, TokenId id);
/// The same as text: bytes that are no characters by themselves as "bytes:\xf0\x9f".
[[nodiscard]] std::string token_text(const Vocabulary& vocabulary, TokenId id);

/// "stop" or "length", as OpenAI says it.
[[nodiscard]] std::string_view openai_finish(FinishReason reason);

/// Of completions: tokens, token_logprobs, top_logprobs and text_offset, in characters from `offset` on. The first
/// token of a prompt has null. `offset` moves on.
[[nodiscard]] Json openai_logprobs(const Answer& answer, std::span<const TokenReport> reports, std::size_t& offset);
/// The same for an answer that begins with its prompt.
[[nodiscard]] Json openai_echo_logprobs(const Answer& answer, const TextResult& text);
/// Of conversations: {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}.
[[nodiscard]] Json openai_chat_logprobs(const Answer& answer, std::span<const TokenReport> reports);
/// Of llama.cpp's server, in the shapes of today (top_logprobs) and of before (probs), beside one another.
[[nodiscard]] Json llamacpp_probabilities(const Answer& answer, std::span<const TokenReport> reports);

/// {"prompt_tokens", "completion_tokens", "total_tokens"} and what came from the cache.
[[nodiscard]] Json openai_usage(const Answer& answer);

}  // namespace plm
