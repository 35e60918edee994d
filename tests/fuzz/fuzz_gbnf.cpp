// Any text as a grammar: refused with a place, or an automaton in which everything that was begun can be ended.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "constraint/automaton.h"
#include "constraint/gbnf_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  plm::GbnfOptions options;
  options.lenient = data[0] % 2 == 0;
  options.limits = {.text_bytes = 1U << 14U,
                    .nesting = 64,
                    .regular_nodes = 20'000,
                    .grammar_nodes = 20'000,
                    .search_steps = 2'000,
                    .stack_depth = 64,
                    .threads_of_state = 256,
                    .automaton_bytes = 1U << 20U};
  auto grammar = plm::parse_gbnf(text, options);
  if (!grammar.has_value()) {
    PLM_CHECK(!grammar.error().message.empty());
    return 0;
  }
  plm::Automaton automaton(std::move(*grammar));
  plm::StateId state = automaton.start();
  for (std::size_t i = 0; i < 64 && !automaton.failure(); ++i) {  // the grammar's own text leads the walk
    const plm::ByteSet next = automaton.next_bytes(state);
    if (next.empty() || automaton.failure()) break;
    std::uint8_t byte = data[i % size];
    while (!next.contains(byte)) ++byte;
    state = automaton.step(state, byte);
  }
  if (automaton.failure()) return 0;
  PLM_CHECK(state != plm::StateId::dead);
  const auto pieces = automaton.completion(state, 4096);
  if (!pieces.has_value()) return 0;
  for (const plm::Automaton::Piece& piece : *pieces) {
    const auto* part = std::get_if<std::string>(&piece);
    state = part != nullptr ? automaton.step(state, *part) : automaton.step_token(state, std::get<plm::TokenId>(piece));
  }
  PLM_CHECK(automaton.failure() || automaton.accepts(state));
  return 0;
}
