// Any text as a regular expression: refused with a place, or a language with a shortest text that it matches.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "constraint/regex_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool search : {false, true}) {
    plm::RegularStore store({.text_bytes = 1U << 14U, .nesting = 64, .regular_nodes = 20'000, .search_steps = 2'000});
    plm::RegexOptions options;
    options.search = search;
    const auto language = plm::parse_regex(store, text, options);
    if (!language.has_value()) {
      PLM_CHECK(!language.error().message.empty());
      continue;
    }
    const auto shortest = store.shortest_text(*language);
    if (!shortest.has_value()) continue;  // past a limit
    PLM_CHECK(shortest->has_value());     // no expression is without a text
    const bool matched = store.matches(*language, **shortest);
    const auto outside = store.difference(store.any_text(), *language);
    const bool excluded = !store.matches(outside, **shortest);
    PLM_CHECK(store.exhausted() || (matched && excluded));
  }
  return 0;
}
