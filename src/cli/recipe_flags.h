// Between recipes and flags: what a command line adds to a recipe, and an engine as a recipe wants it.
// Tested by tests/cli/test_sampling.py.
#pragma once

#include "cli/command.h"
#include "engine/recipe.h"

namespace plm {

/// The engine's flags that were given and can change a result, and the model's hash, remembered beside the models.
[[nodiscard]] Result<RecipeFacts> recipe_facts(Invocation& call, const Engine& engine);

/// A call with the engine's flags of a recipe, to load the engine with. Errors (bad_input) name the file and the flag.
[[nodiscard]] Result<Invocation> engine_call(const ReadRecipe& recipe, std::string_view name, Terminal& terminal);

}  // namespace plm
