// The plan of a model: what it has, what it will take, how long its texts may be. One account that is printed, handed
// out as JSON, and searched for settings that fit (`fitting_settings`).
// Source: datasheet 4, 26 and 44. Tested by tests/plan/test_model_plan.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json_forward.h"
#include "format/config_reader.h"
#include "plan/context_limits.h"
#include "plan/engine_memory.h"
#include "plan/gguf_sketch.h"
#include "plan/parameter_counting.h"
#include "plan/sequence_memory.h"

namespace plm {

/// What is planned for, from whatever it is known.
struct PlanSubject {
  ModelSketch sketch;
  std::optional<CountedParameters> counts;  ///< none where sizes do not tell
  std::shared_ptr<const GgufFile> file;     ///< null: there are no weights yet
  ContextLimits limits;                     ///< without the configured one
  StoredType weights = {"bf16", 1, 2};      ///< that they are taken to be stored in, where there is no file

  static Result<PlanSubject> from_file(std::shared_ptr<const GgufFile> file);
  static Result<PlanSubject> from_config(const ConfigReader& config);
  /// Of a description of sizes (plan/sketch_json.h).
  static Result<PlanSubject> from_sketch(const Json& object, const std::string& path);
};

struct ModelPlan {
  RunSizes sizes;
  std::vector<TypeShare> types;     ///< of the weights; empty without a file
  std::uint64_t weight_bytes = 0;   ///< as they are stored
  EngineMemory memory;              ///< what is allocated; without a file, of weights in PlanSubject::weights
  std::vector<MixerShare> mixers;   ///< what a sequence of that context keeps at least, by kind of layer
  SequenceBytes least;              ///< the same in sum, with windows that forget
  std::uint64_t next_thousand = 0;  ///< bytes of 1000 tokens more, as this program keeps them
  std::uint64_t embedding_bytes = 0, head_bytes = 0;  ///< as stored; one table that is both counts as embedding
  ContextLimits limits;
  std::vector<std::string> warnings;
};

/// The context that a run has when none is chosen: what the model was trained with, up to 8192.
[[nodiscard]] std::uint64_t standard_context(const PlanSubject& subject);

/// Error (usage): heads do not fill the blocks of a type; a context or a number of sequences beyond SketchLimits.
[[nodiscard]] Result<ModelPlan> make_plan(const PlanSubject& subject, const RunSizes& sizes);

[[nodiscard]] Json plan_json(const PlanSubject& subject, const ModelPlan& plan);
[[nodiscard]] std::string plan_text(const PlanSubject& subject, const ModelPlan& plan);

/// One way to run a model in so much memory.
struct FittingSetting {
  StoredType weights;  ///< says nothing where there is a file
  KvTypes kv_types;
  std::uint64_t context = 0;
  std::uint64_t peak = 0;
  std::uint64_t next_thousand = 0;
};
/// For each type of keys and values, and without a file of weights, the longest context that fits, up to what the model
/// has positions for; the longest first, of equal ones the most exact. Empty: nothing fits.
[[nodiscard]] Result<std::vector<FittingSetting>> fitting_settings(const PlanSubject& subject, std::uint64_t memory,
                                                                   const RunSizes& sizes);

/// "8G", "512M", "1.5GiB", "2000000": bytes, with units of 1024. Error (usage).
[[nodiscard]] Result<std::uint64_t> parse_memory_size(std::string_view text);

}  // namespace plm
