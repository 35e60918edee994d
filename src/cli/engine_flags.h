// The flags of every command that runs a model, and loading with them. Tested by tests/cli/test_engine_flags.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "cli/command.h"
#include "engine/engine.h"
#include "kernels/watched_device.h"

namespace plm {

inline constexpr Argument kModelArgument = {
    "MODEL", "path of a GGUF file or a Hugging Face folder, or the name of a fetched model"};

/// llama.cpp's way to name the model. The parser puts its value in front of the words.
inline constexpr Parameter kModelFlag = {
    .name = "model",
    .aliases = "m",
    .summary = "another way to write MODEL",
    .type = ParameterType::text,
    .unit = "MODEL",
    .tag = Tag::model,
};

// Of commands that write texts.
inline constexpr Parameter kSeedFlag = {
    .name = "seed",
    .aliases = "s",
    .summary = "equal seeds give equal texts; -1 or not given: another one each time",
    .type = ParameterType::integer,
    .min = -1,
    .max = 9.2e18};
inline constexpr Parameter kStopFlag = {.name = "stop",
                                        .aliases = "r, reverse_prompt",
                                        .summary = "end before this text appears; may be repeated",
                                        .type = ParameterType::text};

inline constexpr Parameter kEngineFlags[] = {
    kModelFlag,
    {.name = "context",
     .aliases = "c, ctx_size, n_ctx",
     .summary = "tokens of prompt and text together at most; not given: what the model was trained with, up to 8192",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 24,
     .unit = "tokens",
     .tag = Tag::backend},
    {.name = "override",
     .aliases = "override_kv",
     .summary = "sets a value of the model file's metadata, of the type that it has there; may be repeated",
     .type = ParameterType::text,
     .unit = "KEY=VALUE",
     .tag = Tag::model},
    {.name = "rope_scaling",
     .summary = "how rotary positions are stretched; not given: as the file says",
     .type = ParameterType::choice,
     .choices = "none, linear, yarn, dynamic, longrope",
     .tag = Tag::model},
    {.name = "rope_base",
     .aliases = "rope_freq_base",
     .summary = "base of the rotary frequencies",
     .min = 1e-6,
     .max = 1e15,
     .tag = Tag::model},
    {.name = "rope_factor",
     .aliases = "rope_scale",
     .summary = "how many times the trained context is stretched by --rope-scaling",
     .min = 1e-6,
     .max = 1e6,
     .tag = Tag::model},
    {.name = "rope_original_context",
     .aliases = "yarn_orig_ctx",
     .summary = "the context before stretching; not given: the trained one",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 30,
     .unit = "tokens",
     .tag = Tag::model},
    {.name = "yarn_ext_factor",
     .summary = "share of the yarn ramp between kept and stretched frequencies; 0: all are stretched",
     .min = 0,
     .max = 1,
     .tag = Tag::model},
    {.name = "yarn_attn_factor",
     .summary = "factor on the magnitude of rotated queries and keys under yarn",
     .min = 1e-6,
     .max = 1e6,
     .tag = Tag::model},
    {.name = "yarn_beta_fast",
     .summary = "turns in the original context from which on yarn keeps a frequency",
     .min = 1e-6,
     .max = 1e6,
     .tag = Tag::model},
    {.name = "yarn_beta_slow",
     .summary = "turns in the original context up to which yarn stretches a frequency in full",
     .min = 1e-6,
     .max = 1e6,
     .tag = Tag::model},
    {.name = "threads",
     .aliases = "t",
     .summary = "not given: one for each physical core",
     .type = ParameterType::integer,
     .min = 1,
     .max = ThreadTeam::kMostThreads,
     .tag = Tag::backend},
    {.name = "pin",
     .summary = "keep each thread on a processor of its own",
     .type = ParameterType::boolean,
     .tag = Tag::backend},
    {.name = "kernels",
     .summary = "vectorised kernels, or the plain ones they are judged by",
     .type = ParameterType::choice,
     .standard = "fast",
     .choices = "fast, reference",
     .tag = Tag::backend},
    {.name = "simd",
     .summary = "instruction set of the vectorised kernels; not given: the best of this machine, or PLM_SIMD",
     .type = ParameterType::text,
     .unit = "baseline|avx2|avx512|avx512_vnni",
     .tag = Tag::backend},
    {.name = "activations",
     .summary = "what activations are rounded to where they meet quantised weights",
     .type = ParameterType::choice,
     .standard = "int16",
     .choices = "f32, int16, int8",
     .tag = Tag::backend},
    {.name = "kv_dtype",
     .aliases = "kv_type",
     .summary = "type of stored keys and values, or of each: f32, f16, bf16, q8_0, q4_0",
     .type = ParameterType::text,
     .standard = "f32",
     .unit = "K[/V]",
     .tag = Tag::backend},
    {.name = "cache_type_k",
     .aliases = "ctk",
     .summary = "type of stored keys, in place of what --kv-dtype says",
     .type = ParameterType::text,
     .unit = "K",
     .tag = Tag::backend},
    {.name = "cache_type_v",
     .aliases = "ctv",
     .summary = "type of stored values, in place of what --kv-dtype says",
     .type = ParameterType::text,
     .unit = "V",
     .tag = Tag::backend},
    {.name = "batch_rows",
     .aliases = "b, batch_size, ub, ubatch_size",
     .summary = "tokens computed at once at most; changes speed, never a result",
     .type = ParameterType::integer,
     .standard = std::int64_t{256},
     .min = 1,
     .max = 65536,
     .unit = "tokens",
     .tag = Tag::backend},
    {.name = "quiet",
     .aliases = "q",
     .summary = "nothing on stderr but errors",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};

/// What the flags say of rotary positions, as settings of metadata without the architecture's prefix.
[[nodiscard]] std::vector<std::string> rope_settings(const Settings& settings);

/// What the flags say of keys and values. Error (usage) names the types there are.
[[nodiscard]] Result<KvTypes> chosen_kv_types(const Settings& settings);

/// Loads the file at `path` as the flags say, with a progress bar, and prints its warnings. `most_sequences` at a time.
/// Error (usage): the model is not made for `use`; the message says what it is and which command fits.
[[nodiscard]] Result<std::unique_ptr<Engine>> load_engine(Invocation& call, const std::string& path,
                                                          std::size_t most_sequences, ModelUse use = ModelUse::writing);

/// The same for one text, on a device whose operations `watcher` is told.
[[nodiscard]] Result<std::unique_ptr<Engine>> load_watched_engine(Invocation& call, const std::string& path,
                                                                  DeviceWatcher& watcher);

/// Sets what the model's makers advise for sampling where no flag says otherwise, unless --no-model-defaults; prints
/// its warnings. Returns what was set, by name.
Json use_model_defaults(Invocation& call, const Engine& engine);

/// Bytes of memory the process has needed at most so far.
[[nodiscard]] std::size_t peak_memory_bytes();

/// All of a text file (at most 64 MiB); `name` "-" means standard input. Errors (bad_input) name the file.
[[nodiscard]] Result<std::string> read_text(const std::string& name);

/// Writes a text file. Errors (failed) name it.
[[nodiscard]] Result<void> write_text(const std::string& name, std::string_view text);

/// What the flag "seed" says; -1 or not given: another one each time.
[[nodiscard]] std::uint64_t chosen_seed(const Settings& settings);

/// "1,2,3" as token ids. Error (usage).
[[nodiscard]] Result<std::vector<TokenId>> parse_ids(std::string_view text);

}  // namespace plm
