// State-space mixers in Hugging Face checkpoints: what models that have attention as well call them, and settings that
// have no key in GGUF, since everybody's are the same.
// Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <string_view>

#include "model/huggingface_form.h"

namespace plm {

inline constexpr auto kMambaSettings = std::to_array<SettingRule>({
    {.from = "mamba_d_conv", .to = "ssm.conv_kernel", .min = 2, .max = 64},
    {.from = "mamba_d_state", .to = "ssm.state_size", .max = 4096},
    {.from = "mamba_n_heads", .to = "ssm.time_step_rank"},
    {.from = "mamba_n_groups", .to = "ssm.group_count"},
});

/// All but the projections in and out.
inline constexpr auto kMambaTensors = std::to_array<TensorRule>({
    {.from = "model.layers.{}.mamba.conv1d.weight",
     .to = "blk.{}.ssm_conv1d.weight",
     .numbers = NumberChange::to_float},
    {"model.layers.{}.mamba.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"model.layers.{}.mamba.dt_bias", "blk.{}.ssm_dt.bias"},
    {.from = "model.layers.{}.mamba.A_log",
     .to = "blk.{}.ssm_a",
     .numbers = NumberChange::minus_exp,
     .folded = kOneColumn},
    {.from = "model.layers.{}.mamba.D", .to = "blk.{}.ssm_d", .folded = kOneColumn},
    {.from = "model.layers.{}.mamba.norm.weight", .to = "blk.{}.ssm_norm.weight", .folded = "mamba_n_groups"},
});

/// Refuses (bad_input, naming the setting) another activation than SiLU under `activation`, and limits of time steps
/// that would change one.
[[nodiscard]] Result<void> refuse_other_scans(const ConfigReader& config, std::string_view activation);

}  // namespace plm
