#include "engine/trace_line.h"

#include "base/json.h"
#include "sampling/token_trace.h"
#include "text/detokenizer.h"

namespace plm {

std::optional<std::string> trace_line(const Event& event, const Vocabulary& vocabulary) {
  if (event.kind == EventKind::deleted) return json_text({{"taken_back", event.position}});
  if (event.kind != EventKind::committed || event.trace == nullptr) return std::nullopt;
  const auto text = [&](TokenId id) { return detokenize(vocabulary, std::span(&id, 1), {.show_special = true}); };
  Json line = {{"position", event.position}, {"text", text(event.token)}};
  line.update(as_json(*event.trace));
  for (Json& likely : line["raw"]["top"]) likely["text"] = text(likely["id"].get<TokenId>());
  return json_text(line);
}

}  // namespace plm
