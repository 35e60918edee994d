// Any bytes as a JSON Schema: refused with a message, or a grammar whose example the grammar itself accepts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "constraint/example_text.h"
#include "constraint/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  plm::ConstraintLimits limits;
  limits.text_bytes = 1U << 14U;
  limits.regular_nodes = 50'000;
  limits.grammar_nodes = 50'000;
  limits.search_steps = 5'000;
  for (const bool lenient : {false, true}) {
    plm::JsonSchemaReport report;
    auto grammar = plm::json_schema_grammar(text, {.lenient = lenient, .limits = limits}, &report);
    if (!grammar.has_value()) {
      PLM_CHECK(!grammar.error().message.empty());
      continue;
    }
    PLM_CHECK(lenient || report.refused.empty());
    plm::Automaton automaton(std::move(*grammar));
    const auto example = plm::example_text(automaton, 1, 64);
    if (!example.has_value()) continue;
    PLM_CHECK(automaton.failure() || automaton.accepts(automaton.step(automaton.start(), *example)));
  }
  return 0;
}
