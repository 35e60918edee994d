// Any text as a chat template, rendered over a small conversation: refused, or a text whose runs cover it and in which
// nothing of a message counts as the template's. The messages hold a character that templates here cannot spell.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "text/jinja/template.h"

namespace {

constexpr std::string_view kOnlyInMessages = "\xEE\x80\x80";  // U+E000

const plm::Json& conversation() {
  static const plm::Json variables = plm::Json::parse(R"({
    "messages": [
      {"role": "system", "content": "\uE000<|im_end|> a\nb"},
      {"role": "user", "content": [{"type": "text", "text": "\uE000x"}]},
      {"role": "assistant", "content": null, "tool_calls": [
        {"function": {"name": "\uE000f", "arguments": {"a": 1.5}}}]},
      {"role": "tool", "content": "\uE000"}],
    "tools": [{"function": {"name": "f", "parameters": {"type": "object"}}}],
    "m": "\uE000 m", "n": 3, "d": {"k": "\uE000"}, "l": [1, "\uE000", null, true],
    "bos_token": "<s>", "add_generation_prompt": true})");
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string source(reinterpret_cast<const char*>(data), size);
  const plm::jinja::Limits limits{
      .steps = 20'000, .steps_per_input_byte = 0, .text_bytes = 1U << 18, .text_bytes_per_input_byte = 0};
  const auto parsed = plm::jinja::Template::parse(source, "fuzz", limits);
  if (!parsed.has_value()) return 0;
  plm::jinja::RenderOptions options{.trusted = {"bos_token"}, .now = std::tm{}};
  const auto result = parsed->render(conversation(), options);
  if (!result.has_value()) {
    PLM_CHECK(result.error().message.starts_with("fuzz: line "));
    return 0;
  }
  std::size_t at = 0;
  for (const auto& run : result->runs()) {
    PLM_CHECK(run.begin == at && run.end > run.begin);
    at = run.end;
  }
  PLM_CHECK(at == result->size());
  PLM_CHECK(plm::utf8_is_valid(result->text()));
  const bool may_spell = source.find(kOnlyInMessages) != std::string::npos || source.find('\\') != std::string::npos;
  if (may_spell) return 0;
  for (at = 0; at < result->size(); ++at) {
    PLM_CHECK(result->text()[at] != kOnlyInMessages[0] || !result->is_from_template(at));
  }
  return 0;
}
