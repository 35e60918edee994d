#include "tensor/kv_types.h"

#include <algorithm>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr const StorageType* kKvTypes[] = {&quant_f32, &quant_f16, &quant_bf16, &quant_q8_0, &quant_q4_0};

}  // namespace

std::string KvTypes::name() const {
  return keys == values ? std::string(keys->name()) : fmt::format("{}/{}", keys->name(), values->name());
}

std::string kv_type_names(std::size_t head_dim) {
  std::string names;
  for (const StorageType* type : kKvTypes) {
    if (head_dim % type->block_size != 0) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", type->name());
  }
  return names;
}

Result<const StorageType*> find_kv_type(std::string_view name) {
  const StorageType* type = find_storage_type(name);
  if (std::ranges::find(kKvTypes, type) != std::end(kKvTypes)) return type;
  return fail(ErrorKind::usage, "type of keys and values: \"{}\" is not one of {}", printable(name, 40),
              kv_type_names());
}

Result<KvTypes> parse_kv_types(std::string_view text) {
  const std::size_t slash = text.find('/');
  PLM_TRY_ASSIGN(const StorageType* keys, find_kv_type(text.substr(0, slash)));
  if (slash == std::string_view::npos) return KvTypes(*keys);
  PLM_TRY_ASSIGN(const StorageType* values, find_kv_type(text.substr(slash + 1)));
  return KvTypes(*keys, *values);
}

}  // namespace plm
