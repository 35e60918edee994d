#include "model/parameter_counts.h"

#include <string>
#include <string_view>

namespace plm {
namespace {

// "blk.3.ffn_up_exps.weight", or in old files "blk.3.ffn_up.7.weight".
bool is_of_experts(std::string_view name) {
  if (name.find("_exps.") != std::string_view::npos) return true;
  for (const std::string_view part : {".ffn_gate.", ".ffn_up.", ".ffn_down."}) {
    const std::size_t at = name.find(part);
    if (at == std::string_view::npos) continue;
    const char next = at + part.size() < name.size() ? name[at + part.size()] : ' ';
    return next >= '0' && next <= '9';
  }
  return false;
}

std::uint64_t key_or_none(const GgufFile& file, std::string_view key) {
  const MetaValue* family = file.find("general.architecture");
  const auto name = family != nullptr ? family->as_string() : std::nullopt;
  const MetaValue* value = name ? file.find(std::string(*name) + "." + std::string(key)) : nullptr;
  return value != nullptr ? value->as_unsigned().value_or(0) : 0;
}

}  // namespace

ParameterCounts count_parameters(const GgufFile& file) {
  ParameterCounts counts;
  std::uint64_t of_experts = 0;
  for (const TensorEntry& tensor : file.tensors()) {
    counts.total += tensor.element_count();
    if (is_of_experts(tensor.name)) of_experts += tensor.element_count();
  }
  const std::uint64_t experts = key_or_none(file, "expert_count"), used = key_or_none(file, "expert_used_count");
  counts.active = counts.total;
  if (experts == 0 || used == 0 || used > experts) return counts;
  counts.experts = experts;
  counts.used_experts = used;
  counts.active = counts.total - of_experts + of_experts / experts * used;
  return counts;
}

}  // namespace plm
