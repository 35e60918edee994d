// Recipes: everything that determines a text, and what came of it, as one JSON object.
//
// Two runs of one recipe give the same bits, whatever the number of threads and whatever else is in the batch; `plm
// replay` runs one again and says which fields differ. docs/reference/recipe.md says what the fields mean. What a
// stranger's recipe says is checked as flags are. Tested by tests/engine/test_recipe.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/json_forward.h"
#include "decode/parallel_policy.h"
#include "engine/engine.h"
#include "engine/model_hash.h"

namespace plm {

inline constexpr int kRecipeVersion = 1;

/// What the engine does not know.
struct RecipeFacts {
  std::string program_version;
  std::string model_path;
  ModelHash model;
  Json engine_flags;  ///< with which it was loaded, by name, as text; those that may be repeated as arrays
  /// Names of the sampling controls (tag MODEL) whose values the model's file brought.
  std::vector<std::string> model_controls = {};
};

/// What came of it.
struct RecipeResult {
  std::string text;
  std::vector<TokenId> ids;  ///< without the end token
  FinishReason reason = FinishReason::none;
  std::string trace_sha256;  ///< of all lines of the trace, each with its line feed
};

/// `request` as it was started, with `generation` from it.
[[nodiscard]] Json make_recipe(const Engine& engine, const GenerationRequest& request, const Generation& generation,
                               const RecipeFacts& facts, const RecipeResult& result);

/// A recipe as it was read. `request.sampling` is to be set to `sampling`, `request.parallel` to `parallel`.
struct ReadRecipe {
  Settings sampling{sampling_parameters()};
  Settings parallel{parallel_parameters()};
  std::vector<std::string> model_controls;
  GenerationRequest request;
  std::string model_path;
  Json engine_flags;
  Json all;
};
/// Errors (bad_input) name the field, what was found and what was expected.
[[nodiscard]] Result<ReadRecipe> read_recipe(const Json& recipe, std::string_view name);

struct RecipeDifference {
  std::string field;          ///< "sampling.temperature"
  std::string before, after;  ///< as JSON; empty: the field is not there
};
/// Every field in which two recipes differ, in the order of the first; "model.path" is no difference.
[[nodiscard]] std::vector<RecipeDifference> recipe_differences(const Json& before, const Json& after);

}  // namespace plm
