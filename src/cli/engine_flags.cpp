#include "cli/engine_flags.h"

#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "engine/sampling_defaults.h"
#include "kernels/cpu_device.h"

namespace plm {

namespace {

Result<CpuDeviceOptions> device_options(const Settings& settings) {
  CpuDeviceOptions options;
  if (settings.has("threads")) options.threads = static_cast<int>(settings.integer("threads"));
  options.pin = settings.boolean("pin");
  if (settings.text("kernels") == "reference") options.kernels = KernelChoice::reference;
  const std::string& activations = settings.text("activations");
  options.activations = activations == "f32"    ? Activations::f32
                        : activations == "int8" ? Activations::int8
                                                : Activations::int16;
  const char* wish = std::getenv("PLM_SIMD");
  if (settings.has("simd") || wish != nullptr) {
    PLM_TRY_ASSIGN(options.simd, find_simd_target(settings.has("simd") ? settings.text("simd") : wish));
  }
  return options;
}

}  // namespace

std::vector<std::string> rope_settings(const Settings& settings) {
  std::vector<std::string> said;
  if (settings.has("rope_scaling")) said.push_back("rope.scaling.type=str:" + settings.text("rope_scaling"));
  if (settings.has("rope_original_context")) {
    said.push_back(fmt::format("rope.scaling.original_context_length={}", settings.integer("rope_original_context")));
  }
  constexpr std::pair<const char*, const char*> kReals[] = {
      {"rope_base", "rope.freq_base"},
      {"rope_factor", "rope.scaling.factor"},
      {"yarn_ext_factor", "rope.scaling.yarn_ext_factor"},
      {"yarn_attn_factor", "rope.scaling.yarn_attn_factor"},
      {"yarn_beta_fast", "rope.scaling.yarn_beta_fast"},
      {"yarn_beta_slow", "rope.scaling.yarn_beta_slow"},
  };
  for (const auto& [flag, key] : kReals) {
    if (settings.has(flag)) said.push_back(fmt::format("{}=float:{}", key, settings.real(flag)));
  }
  return said;
}

Result<KvTypes> chosen_kv_types(const Settings& settings) {
  PLM_TRY_ASSIGN(KvTypes types, parse_kv_types(settings.text("kv_dtype")));
  if (settings.has("cache_type_k")) {
    PLM_TRY_ASSIGN(types.keys, find_kv_type(settings.text("cache_type_k")));
  }
  if (settings.has("cache_type_v")) {
    PLM_TRY_ASSIGN(types.values, find_kv_type(settings.text("cache_type_v")));
  }
  return types;
}

namespace {

Result<std::unique_ptr<Device>> make_device(const Invocation& call) {
  if (call.settings.boolean("quiet")) call.terminal.be_quiet();
  PLM_TRY_ASSIGN(const CpuDeviceOptions options, device_options(call.settings));
  return make_cpu_device(options);
}

Result<std::unique_ptr<Engine>> load_on(std::unique_ptr<Device> device, Invocation& call, const std::string& path,
                                        EngineOptions options) {
  const Settings& settings = call.settings;
  Terminal& terminal = call.terminal;
  PLM_TRY_ASSIGN(options.kv_types, chosen_kv_types(settings));
  if (settings.has("context")) options.context_length = static_cast<std::size_t>(settings.integer("context"));
  options.overrides = call.all("override");
  options.model_settings = rope_settings(settings);
  options.batch_rows = static_cast<std::size_t>(settings.integer("batch_rows"));
  options.on_load = [&terminal](double fraction) { terminal.progress("loading", fraction); };
  auto engine = Engine::load(path, std::move(device), options);
  terminal.clear_progress();
  if (engine.has_value()) {
    for (const std::string& sentence : (*engine)->warnings()) terminal.warning(sentence);
  }
  return engine;
}

}  // namespace

Result<std::unique_ptr<Engine>> load_engine(Invocation& call, const std::string& path, std::size_t most_sequences,
                                            ModelUse use) {
  PLM_TRY_ASSIGN(auto device, make_device(call));
  return load_on(std::move(device), call, path, {.use = use, .most_sequences = most_sequences});
}

Result<std::unique_ptr<Engine>> load_watched_engine(Invocation& call, const std::string& path, DeviceWatcher& watcher) {
  PLM_TRY_ASSIGN(auto device, make_device(call));
  return load_on(std::make_unique<WatchedDevice>(std::move(device), watcher), call, path, {.most_sequences = 2});
}

Json use_model_defaults(Invocation& call, const Engine& engine) {
  if (call.settings.boolean("no_model_defaults")) return Json::object();
  const SamplingDefaults defaults = read_sampling_defaults(engine.file());
  for (const std::string& sentence : defaults.warnings) call.terminal.warning(sentence);
  return apply_sampling_defaults(defaults, call.settings);
}

std::uint64_t chosen_seed(const Settings& settings) {
  if (settings.has("seed") && settings.integer("seed") >= 0)
    return static_cast<std::uint64_t>(settings.integer("seed"));
  // The clock, not a random device: a seed has to differ, not to be secret. Short enough to type again.
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000 % 1'000'000'000;
}

std::size_t peak_memory_bytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

Result<std::string> read_text(const std::string& name) {
  constexpr std::size_t kMostBytes = 64U << 20;
  const bool is_input = name == "-";
  const std::string shown = is_input ? "standard input" : printable(name);
  std::error_code none;
  if (!is_input && std::filesystem::is_directory(name, none)) {
    return fail(ErrorKind::bad_input, "{}: is a directory, expected a text file", shown);
  }
  std::FILE* file = is_input ? stdin : std::fopen(name.c_str(), "rb");
  if (file == nullptr) return fail(ErrorKind::bad_input, "{}: {}", shown, std::strerror(errno));
  std::string text;
  std::array<char, 65536> part;
  // The end is asked for, not found by reading on: a terminal would wait for a second Ctrl-D.
  while (text.size() <= kMostBytes && std::feof(file) == 0 && std::ferror(file) == 0) {
    text.append(part.data(), std::fread(part.data(), 1, part.size(), file));
  }
  const bool failed = std::ferror(file) != 0;
  const int reason = errno;
  if (!is_input) std::fclose(file);
  if (failed) return fail(ErrorKind::bad_input, "{}: cannot be read: {}", shown, std::strerror(reason));
  if (text.size() > kMostBytes) {
    return fail(ErrorKind::bad_input, "{}: more than {} MiB, which is more than any prompt", shown, kMostBytes >> 20);
  }
  return text;
}

Result<void> write_text(const std::string& name, std::string_view text) {
  std::FILE* file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) return fail(ErrorKind::failed, "{}: {}", printable(name), std::strerror(errno));
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && is_written) return {};
  return fail(ErrorKind::failed, "{}: cannot be written: {}", printable(name), std::strerror(errno));
}

Result<std::vector<TokenId>> parse_ids(std::string_view text) {
  std::vector<TokenId> ids;
  for (std::string_view item : split_list(text)) {
    while (!item.empty() && (item.back() == ' ' || item.back() == '\n')) item.remove_suffix(1);
    TokenId id = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), id);
    if (code != std::errc() || end != item.data() + item.size()) {
      return fail(ErrorKind::usage, "token ids: \"{}\" is not a number; expected ids as 1,2,3", printable(item, 40));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace plm
