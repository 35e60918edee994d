#include "plan/model_plan.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "plan/config_sketch.h"
#include "plan/sketch_json.h"
#include "tensor/page.h"

namespace plm {
namespace {

constexpr std::uint64_t kStandardContext = 8192;

std::uint64_t tensor_bytes(const GgufFile& file, std::string_view name) {
  const TensorEntry* tensor = file.find_tensor(name);
  return tensor != nullptr ? tensor->byte_count() : 0;
}

// Bytes of so many numbers, in whole blocks.
std::uint64_t bytes_of(const StoredType& type, std::uint64_t numbers) {
  return (numbers + type.block_numbers - 1) / type.block_numbers * type.block_bytes;
}

// The same memory for weights that are nowhere yet: all of them packed, as many bits as they are stored in.
Result<EngineMemory> memory_without_file(const PlanSubject& subject, const RunSizes& sizes) {
  EngineMemory memory{.sequences = sizes.sequences};
  const ModelSketch& sketch = subject.sketch;
  const std::uint64_t stored = subject.counts.has_value() ? subject.counts->stored : 0;
  const std::uint64_t table = sketch.vocabulary * sketch.hidden;
  memory.weights.in_file = bytes_of(subject.weights, std::min(table + sketch.looked_up_extra, stored));
  const std::uint64_t all = bytes_of(subject.weights, stored);
  // A table that is the head as well is there twice: as it lies in the file, and packed.
  memory.weights.packed = sketch.is_tied && sketch.has_head ? all : all - std::min(all, memory.weights.in_file);
  memory.weights.head = sketch.has_head ? bytes_of(subject.weights, table) : 0;
  PLM_TRY_ASSIGN(memory.pages, page_bytes(sketch, sizes));
  memory.scratch = scratch_bytes(sketch, scratch_hints(sketch, subject.weights.block_numbers == 1), sizes);
  return memory;
}

Result<EngineMemory> memory_of(const PlanSubject& subject, const RunSizes& sizes) {
  return subject.file != nullptr ? engine_memory(*subject.file, subject.sketch, sizes)
                                 : memory_without_file(subject, sizes);
}

StoredType stored_type(const StorageType& type) { return {type.name(), type.block_size, type.block_bytes}; }

SequenceOptions sequence_options(const KvTypes& types) {
  return {.keys = stored_type(*types.keys), .values = stored_type(*types.values)};
}

// What the table of the vocabulary and the head take as they are stored.
void add_vocabulary(const PlanSubject& subject, ModelPlan& plan) {
  if (subject.file != nullptr) {
    plan.embedding_bytes = tensor_bytes(*subject.file, "token_embd.weight");
    plan.head_bytes = tensor_bytes(*subject.file, "output.weight");
    return;
  }
  const ModelSketch& sketch = subject.sketch;
  plan.embedding_bytes = bytes_of(subject.weights, sketch.vocabulary * sketch.hidden);
  plan.head_bytes = sketch.is_tied || !sketch.has_head ? 0 : plan.embedding_bytes;
}

}  // namespace

Result<PlanSubject> PlanSubject::from_file(std::shared_ptr<const GgufFile> file) {
  PlanSubject subject;
  PLM_TRY_ASSIGN(subject.sketch, sketch_of(*file));
  subject.counts = count_tensors(*file);
  subject.limits = context_limits(*file, 0);
  subject.file = std::move(file);
  return subject;
}

Result<PlanSubject> PlanSubject::from_config(const ConfigReader& config) {
  PlanSubject subject;
  PLM_TRY_ASSIGN(subject.sketch, sketch_of_config(config));
  if (const auto counts = count_parameters(subject.sketch); counts.has_value()) subject.counts = *counts;
  PLM_TRY_ASSIGN(const StatedContext context, context_of_config(config));
  subject.limits = {.configured = 0, .positional = context.positional, .trained = context.trained, .effective = {}};
  for (const std::string_view name : {"torch_dtype", "dtype"}) {
    PLM_TRY_ASSIGN(const std::string type, config.text_or(name, ""));
    if (const auto found = find_stored_type(type); found.has_value()) subject.weights = *found;
  }
  return subject;
}

Result<PlanSubject> PlanSubject::from_sketch(const Json& object, const std::string& path) {
  PlanSubject subject;
  PLM_TRY_ASSIGN(subject.sketch, parse_sketch_json(object, path));
  if (const auto counts = count_parameters(subject.sketch); counts.has_value()) subject.counts = *counts;
  return subject;
}

std::uint64_t standard_context(const PlanSubject& subject) {
  const std::uint64_t trained = subject.limits.positional;
  return trained > 0 ? std::min(trained, kStandardContext) : kStandardContext;
}

Result<ModelPlan> make_plan(const PlanSubject& subject, const RunSizes& sizes) {
  if (sizes.context == 0 || sizes.context > SketchLimits::kTokens || sizes.sequences > SketchLimits::kSequences) {
    return fail(ErrorKind::usage, "context of {} tokens, {} sequences: plans are made for 1 to {} tokens and up to {}",
                sizes.context, sizes.sequences, SketchLimits::kTokens, SketchLimits::kSequences);
  }
  ModelPlan plan{.sizes = sizes, .limits = subject.limits};
  plan.limits.configured = sizes.context;
  plan.warnings = context_warnings(plan.limits);
  PLM_TRY_ASSIGN(plan.memory, memory_of(subject, sizes));
  if (subject.file != nullptr) {
    plan.types = type_shares(*subject.file);
    for (const TypeShare& share : plan.types) plan.weight_bytes += share.bytes;
  } else if (subject.counts.has_value()) {
    plan.weight_bytes = bytes_of(subject.weights, subject.counts->stored);
  } else {
    plan.warnings.push_back("the weights of this family are not told by its settings, and are left out; name a file");
  }
  const SequenceOptions options = sequence_options(sizes.kv_types);
  PLM_TRY_ASSIGN(plan.mixers, mixer_shares(subject.sketch, sizes.context, options));
  PLM_TRY_ASSIGN(plan.least, sequence_bytes(subject.sketch, sizes.context, options));
  plan.next_thousand = plan.memory.pages.page / kPageCells * 1000;
  add_vocabulary(subject, plan);
  return plan;
}

Result<std::uint64_t> parse_memory_size(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  if (unit.ends_with("iB")) unit.resize(unit.size() - 2);
  if (unit.ends_with("B") || unit.ends_with("b")) unit.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  std::size_t power = 0;
  if (unit.size() == 1) power = kUnits.find(static_cast<char>(unit[0] | 0x20)) + 1;
  const bool is_known = unit.empty() || (unit.size() == 1 && power > 0);
  double bytes = number;
  for (std::size_t i = 0; is_known && i < power; ++i) bytes *= 1024;
  if (code != std::errc() || !is_known || !(number > 0) || bytes > 1e18) {
    return fail(ErrorKind::usage, "memory: found \"{}\", expected a size as 8G, 512M or 1.5GiB", printable(text, 40));
  }
  return static_cast<std::uint64_t>(bytes);
}

namespace {

// The longest context, in whole pages, whose plan takes no more than `memory`; 0: none does. Where a whole text is one
// pass its activations grow with it as well, so the plan is asked and not solved for.
Result<std::uint64_t> longest_context(const PlanSubject& subject, std::uint64_t memory, RunSizes sizes) {
  const std::uint64_t limit = subject.limits.positional > 0 ? subject.limits.positional : std::uint64_t{1} << 20;
  std::uint64_t least = 0, most = (std::min(limit, SketchLimits::kTokens) + kPageCells - 1) / kPageCells;
  while (least < most) {
    const std::uint64_t middle = (least + most + 1) / 2;
    sizes.context = std::min(middle * kPageCells, limit);
    PLM_TRY_ASSIGN(const EngineMemory one, memory_of(subject, sizes));
    if (one.peak() <= memory) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return std::min(least * kPageCells, limit);
}

double bits_of(const KvTypes& types) { return stored_type(*types.keys).bits() + stored_type(*types.values).bits(); }

Result<void> add_fitting(const PlanSubject& subject, std::uint64_t memory, RunSizes sizes,
                         std::vector<FittingSetting>& settings) {
  constexpr KvTypes kTypes[] = {quant_f32, quant_f16, quant_q8_0, {quant_q8_0, quant_q4_0}};
  for (const KvTypes& types : kTypes) {
    sizes.kv_types = types;
    // Types whose blocks a head does not fill are none of the choices.
    if (!page_bytes(subject.sketch, sizes).has_value()) continue;
    PLM_TRY_ASSIGN(sizes.context, longest_context(subject, memory, sizes));
    if (sizes.context == 0) continue;
    PLM_TRY_ASSIGN(const EngineMemory found, memory_of(subject, sizes));
    settings.push_back({.weights = subject.weights,
                        .kv_types = types,
                        .context = sizes.context,
                        .peak = found.peak(),
                        .next_thousand = found.pages.page / kPageCells * 1000});
  }
  return {};
}

}  // namespace

Result<std::vector<FittingSetting>> fitting_settings(const PlanSubject& subject, std::uint64_t memory,
                                                     const RunSizes& sizes) {
  std::vector<FittingSetting> settings;
  if (subject.file != nullptr) {
    PLM_TRY(add_fitting(subject, memory, sizes, settings));
  } else {
    PlanSubject stored = subject;
    for (const std::string_view type : {"bf16", "q8_0", "q6_k", "q5_k", "q4_k", "q3_k"}) {
      PLM_TRY_ASSIGN(stored.weights, find_stored_type(type));
      PLM_TRY(add_fitting(stored, memory, sizes, settings));
    }
  }
  std::ranges::sort(settings, [](const FittingSetting& a, const FittingSetting& b) {
    if (a.context != b.context) return a.context > b.context;
    if (a.weights.bits() != b.weights.bits()) return a.weights.bits() > b.weights.bits();
    return bits_of(a.kv_types) > bits_of(b.kv_types);
  });
  return settings;
}

}  // namespace plm
