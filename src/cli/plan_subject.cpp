#include "cli/plan_subject.h"

#include <filesystem>

#include "base/json.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"
#include "model/checkpoint.h"
#include "plan/sketch_json.h"

namespace plm {
namespace {

Result<PlanSubject> from_text(const std::string& path) {
  PLM_TRY_ASSIGN(const std::string text, read_text(path));
  PLM_TRY_ASSIGN(const Json object, parse_json(text, path));
  if (is_sketch_json(object)) return PlanSubject::from_sketch(object, path);
  PLM_TRY_ASSIGN(const ConfigReader config, ConfigReader::parse(text, path));
  return PlanSubject::from_config(config);
}

// A folder of a known family with its weights is as good as a file; of others the settings must do.
Result<PlanSubject> from_path(const std::string& path) {
  std::error_code none;
  if (path.ends_with(".json")) return from_text(path);
  const bool is_folder = std::filesystem::is_directory(path, none);
  const auto file = open_checkpoint(path, CheckpointUse::inspection);
  if (file.has_value() && !(*file)->tensors().empty()) return PlanSubject::from_file(*file);
  const std::string config = path + "/config.json";
  if (is_folder && std::filesystem::exists(config, none)) return from_text(config);
  if (!file.has_value()) return tl::unexpected<Error>(file.error());
  return fail(ErrorKind::bad_input, "{}: has neither weights nor config.json", path);
}

}  // namespace

Result<PlanSubject> read_plan_subject(const Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(PlanSubject subject, from_path(path));
  if (call.settings.find("weights") != nullptr && call.settings.has("weights")) {
    if (subject.file != nullptr) {
      return fail(ErrorKind::usage, "--weights: {} has weights of its own; plm quantize stores them in other types",
                  path);
    }
    PLM_TRY_ASSIGN(subject.weights, find_stored_type(call.settings.text("weights")));
  }
  return subject;
}

Result<RunSizes> run_sizes(const Settings& settings, const PlanSubject& subject) {
  RunSizes sizes{.context = standard_context(subject),
                 .sequences = static_cast<std::uint64_t>(settings.integer("parallel")),
                 .batch_rows = static_cast<std::uint64_t>(settings.integer("batch_rows"))};
  sizes.head_rows = sizes.sequences;
  if (settings.has("context")) sizes.context = static_cast<std::uint64_t>(settings.integer("context"));
  PLM_TRY_ASSIGN(sizes.kv_types, parse_kv_types(settings.text("kv_dtype")));
  return sizes;
}

}  // namespace plm
