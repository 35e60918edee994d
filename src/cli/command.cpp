#include "cli/command.h"

#include <map>

#include "cli/engine_flags.h"
#include "decode/parallel_policy.h"
#include "sampling/chain.h"
#include "search/method.h"

namespace plm {

const Command* find_command(std::string_view name) {
  for (const Command* command : commands()) {
    if (is_named(name, command->head.name, command->head.aliases)) return command;
  }
  return nullptr;
}

std::vector<FlagGroup> flag_groups(const Command& command) {
  std::vector<FlagGroup> groups;
  if (!command.head.parameters.empty()) groups.push_back({"options", command.head.parameters});
  if (command.searches) groups.push_back({"search", search_parameters()});
  if (command.samples) groups.push_back({"sampling", sampling_parameters()});
  if (command.fills_pages) groups.push_back({"pages (models that fill masks)", parallel_parameters()});
  if (command.runs_model) groups.push_back({"model and machine", kEngineFlags});
  return groups;
}

std::span<const Parameter> command_parameters(const Command& command) {
  static std::map<const Command*, std::vector<Parameter>> lists;
  const auto [place, is_new] = lists.try_emplace(&command);
  if (is_new) {
    for (const FlagGroup& group : flag_groups(command)) {
      place->second.insert(place->second.end(), group.parameters.begin(), group.parameters.end());
    }
  }
  return place->second;
}

}  // namespace plm
