#include "serve/token_json.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace plm {
namespace {

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Infinite where the samplers removed a token; JSON has no such number.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(-9999.0); }

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

bool wants_chain(const Answer& answer) {
  const auto& wish = answer.plan->basis.log_probabilities;
  return wish.has_value() && wish->of == LogProbabilityWish::Of::chain;
}

}  // namespace

std::string token_bytes(const Vocabulary& vocabulary, TokenId id) {
  std::string bytes;
  vocabulary.append_bytes(id, bytes);
  return bytes.empty() ? std::string(vocabulary.text(id)) : bytes;
}

std::string token_text(const Vocabulary& vocabulary, TokenId id) {
  const std::string bytes = token_bytes(vocabulary, id);
  if (utf8_is_valid(bytes)) return bytes;
  std::string text = "bytes:";
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string_view openai_finish(FinishReason reason) {
  return reason == FinishReason::length || reason == FinishReason::context ? "length" : "stop";
}

Json openai_logprobs(const Answer& answer, std::span<const TokenReport> reports, std::size_t& offset) {
  Json tokens = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
  for (const TokenReport& report : reports) {
    const std::string text = token_text(*answer.vocabulary, report.id);
    tokens.push_back(text);
    values.push_back(number(report.log_probability));
    Json top = Json::object();
    for (const TokenLogProbability& likely : report.top) {
      const std::string name = token_text(*answer.vocabulary, likely.id);
      if (!top.contains(name)) top[name] = number(likely.log_probability);
    }
    if (!top.contains(text)) top[text] = number(report.log_probability);
    tops.push_back(std::move(top));
    offsets.push_back(offset);
    offset += characters_in(token_bytes(*answer.vocabulary, report.id));
  }
  return {{"tokens", tokens}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
}

Json openai_echo_logprobs(const Answer& answer, const TextResult& text) {
  const TextPrompt& prompt = answer.plan->prompts[text.index / answer.plan->count];
  // What the model expects in front of a text is a token of the prompt, and no part of the text that was given.
  const std::string first = token_bytes(*answer.vocabulary, prompt.tokens.front());
  std::size_t offset = prompt.text.starts_with(first) ? characters_in(first) : 0;
  const Json of_prompt = openai_logprobs(answer, text.prompt_reports, offset);
  const Json of_text = openai_logprobs(answer, text.reports, offset);
  Json all = {{"tokens", {token_text(*answer.vocabulary, prompt.tokens.front())}},
              {"token_logprobs", {nullptr}},
              {"top_logprobs", {nullptr}},
              {"text_offset", {0}}};
  for (auto& [name, list] : all.items()) {
    for (const Json* part : {&of_prompt, &of_text}) list.insert(list.end(), (*part)[name].begin(), (*part)[name].end());
  }
  return all;
}

Json openai_chat_logprobs(const Answer& answer, std::span<const TokenReport> reports) {
  const auto entry = [&](TokenId id, double log_probability) {
    const std::string bytes = token_bytes(*answer.vocabulary, id);
    return Json{{"token", utf8_sanitized(bytes)}, {"logprob", number(log_probability)}, {"bytes", bytes_of(bytes)}};
  };
  Json content = Json::array();
  for (const TokenReport& report : reports) {
    Json token = entry(report.id, report.log_probability);
    token["top_logprobs"] = Json::array();
    for (const TokenLogProbability& likely : report.top) {
      token["top_logprobs"].push_back(entry(likely.id, likely.log_probability));
    }
    content.push_back(std::move(token));
  }
  return {{"content", content}};
}

Json llamacpp_probabilities(const Answer& answer, std::span<const TokenReport> reports) {
  const bool of_chain = wants_chain(answer);
  const auto entry = [&](TokenId id, double log_probability) {
    const std::string bytes = token_bytes(*answer.vocabulary, id);
    Json json = {{"id", id}, {"token", utf8_sanitized(bytes)}, {"bytes", bytes_of(bytes)}};
    json[of_chain ? "prob" : "logprob"] = of_chain ? Json(std::exp(log_probability)) : number(log_probability);
    return json;
  };
  Json list = Json::array();
  for (const TokenReport& report : reports) {
    Json token = entry(report.id, report.log_probability);
    Json top = Json::array(), probs = Json::array();
    for (const TokenLogProbability& likely : report.top) {
      top.push_back(entry(likely.id, likely.log_probability));
      probs.push_back({{"tok_str", top.back()["token"]}, {"prob", std::exp(likely.log_probability)}});
    }
    token[of_chain ? "top_probs" : "top_logprobs"] = std::move(top);
    token["content"] = token["token"];
    token["probs"] = std::move(probs);
    list.push_back(std::move(token));
  }
  return list;
}

Json openai_usage(const Answer& answer) {
  const std::size_t prompt = answer.prompt_tokens(), written = answer.written_tokens();
  return {{"prompt_tokens", prompt},
          {"completion_tokens", written},
          {"total_tokens", prompt + written},
          {"prompt_tokens_details", {{"cached_tokens", answer.reused_tokens()}}}};
}

}  // namespace plm
