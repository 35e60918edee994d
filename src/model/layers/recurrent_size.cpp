#include "model/layers/recurrent_size.h"

#include "model/layers/dense_config.h"

namespace plm {
namespace {

constexpr std::size_t kMostTaps = 64;
constexpr std::size_t kMostKeySize = 4096;

}  // namespace

Result<RecurrentSize> RecurrentSize::from_file(const ModelFile& file, std::size_t hidden_size) {
  RecurrentSize size{.hidden_size = hidden_size};
  PLM_TRY_ASSIGN(size.inner_size, file.integer("ssm.inner_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(size.heads, file.integer("ssm.time_step_rank", {1, size.inner_size}));
  PLM_TRY_ASSIGN(size.groups, file.integer("ssm.group_count", {1, size.heads}));
  PLM_TRY_ASSIGN(size.key_size, file.integer("ssm.state_size", {1, kMostKeySize}));
  PLM_TRY_ASSIGN(size.taps, file.integer("ssm.conv_kernel", {2, kMostTaps}));
  if (size.inner_size % size.heads != 0) {
    return file.key_error("ssm.time_step_rank", fmt::format("{}", size.heads),
                          fmt::format("a divisor of ssm.inner_size = {}", size.inner_size));
  }
  if (size.heads % size.groups != 0) {
    return file.key_error("ssm.group_count", fmt::format("{}", size.groups),
                          fmt::format("a divisor of ssm.time_step_rank = {}", size.heads));
  }
  return size;
}

}  // namespace plm
