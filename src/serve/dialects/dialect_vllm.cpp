// vLLM: what its clients, lm-eval among them, ask besides OpenAI's API: which tokeniser this is.
// Tested by tests/serve/dialects/test_dialect_tabby.cpp.
#include "serve/dialect.h"

namespace plm {
namespace {

Json failure_json(const Failure& failure) {
  return {{"error", {{"message", failure.message}, {"type", "BadRequestError"}, {"code", failure.status}}}};
}

Result<Plan> tokenizer_info(const Call& call) {
  const Vocabulary& vocabulary = call.model.vocabulary();
  const auto text = [&](SpecialToken purpose) {
    const auto id = vocabulary.special(purpose);
    return id.has_value() ? Json(vocabulary.text(*id)) : Json();
  };
  const auto& chat_template = call.model.chat_template;
  return answer_now({{"tokenizer_class", vocabulary.kind().title},
                     {"vocab_size", vocabulary.size()},
                     {"bos_token", text(SpecialToken::bos)},
                     {"eos_token", text(SpecialToken::eos)},
                     {"pad_token", text(SpecialToken::padding)},
                     {"add_bos_token", vocabulary.adds_bos()},
                     {"add_eos_token", vocabulary.adds_eos()},
                     {"model_max_length", call.model.engine.context_length()},
                     {"chat_template", chat_template.has_value() ? Json(chat_template->source().text) : Json()}});
}

Result<Plan> version(const Call& call) { return answer_now({{"version", call.model.version}}); }

constexpr Route kRoutes[] = {
    {"GET", "/tokenizer_info", "the tokeniser", {}, tokenizer_info},
    {"GET", "/version", "the program's version", {}, version},
};

}  // namespace

extern constinit const Dialect dialect_vllm = {
    .head = {.name = "vllm", .summary = "vLLM's own routes", .source = "ecosystem notes, 1.2 and 1.5"},
    .routes = kRoutes,
    .failure = failure_json,
};

}  // namespace plm
