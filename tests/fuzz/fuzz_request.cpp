// Any bytes as the body of a request to any route: refused with a field or a sentence, or a plan that the engine could
// take. The first byte chooses the route. The text calls that a model writes are looked for in the same bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cpu_device.h"
#include "serve/dialect.h"
#include "serve/text_fields.h"
#include "serve/tool_calls.h"

namespace {

using namespace plm;

class NoServer : public ServerView {
  Totals totals() const override { return {}; }
  EngineWorker::Occupancy occupancy() const override { return {}; }
  std::vector<EngineWorker::Slot> slots() const override { return {}; }
  std::string running_text(std::string_view /*key*/) const override { return {}; }
  bool break_off(std::string_view /*key*/) override { return false; }
};

const ServedModel& model() {
  static const std::unique_ptr<Engine> engine =
      Engine::load(std::string(PLM_MODELS) + "/twin-ar.gguf", make_cpu_device({.threads = 1})).value();
  static const ServedModel served = [] {
    ServedModel made{.engine = *engine, .texts = VocabularyTexts(engine->tokenizer()), .name = "twin"};
    made.chat_template.emplace(
        ChatTemplate::create(chat_template_of(engine->vocabulary()).value(), engine->vocabulary()).value());
    return made;
  }();
  return served;
}

void plan(const Route& route, const Json& body) {
  const auto fields = RequestFields::read(route.fields, body);
  if (!fields.has_value()) return;
  NoServer server;
  const auto made = route.plan({model(), {}, body, *fields, "name", server});
  if (!made.has_value()) {
    PLM_CHECK(!made.error().message.empty());
  } else if (made->text != nullptr) {
    PLM_CHECK(made->form != nullptr && !made->text->prompts.empty() && made->text->best_of >= made->text->count);
    PLM_CHECK(made->text->prompts.size() * made->text->best_of <= kTextLimits.texts);
    for (const TextPrompt& prompt : made->text->prompts) {
      PLM_CHECK(model().engine.check_prompt(prompt.tokens).has_value());
    }
  } else {
    PLM_CHECK(made->ready.has_value() || made->task);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::vector<const Route*> routes = [] {
    std::vector<const Route*> all;
    for (const Dialect* dialect : dialects()) {
      for (const Route& route : dialect->routes) {
        if (route.method == "POST") all.push_back(&route);
      }
    }
    return all;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Json tools = {{{"function", {{"name", "clock"}}}}};
  (void)find_tool_calls(text, tools);
  const auto body = parse_json(text, "body", {.bytes = 1U << 16, .depth = 64});
  if (body.has_value()) plan(*routes[data[0] % routes.size()], *body);
  return 0;
}
