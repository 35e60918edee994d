#include "search/verifier.h"

#include <algorithm>

#include "base/utf8.h"

namespace plm {

Result<std::unique_ptr<Verifier>> create_verifier(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto all = verifiers();
  const auto found = std::ranges::find(all, name, [](const auto* each) { return each->head.name; });
  if (found == all.end()) {
    std::string names;
    for (const auto* each : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", each->head.name);
    return fail(ErrorKind::usage, "verifier '{}': there is none of that name; known are {}", printable(name, 40),
                names);
  }
  const VerifierDefinition& definition = **found;
  if (definition.argument.empty() && colon < text.size()) {
    return fail(ErrorKind::usage, "verifier {}: takes nothing behind the name, found '{}'", name,
                printable(text.substr(colon), 60));
  }
  if (!definition.argument.empty() && colon + 1 >= text.size()) {
    return fail(ErrorKind::usage, "verifier {}: what to check is missing; write {}:{}", name, name,
                definition.argument);
  }
  return definition.create(text.substr(std::min(colon + 1, text.size())));
}

}  // namespace plm
