// How keys and values are stored: a type for each, written "f16" or "q8_0/q4_0". The measured loss of each pair stands
// in docs/explanation/kv-cache.md. Tested by tests/tensor/test_kv_types.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tensor/storage_type.h"

namespace plm {

struct KvTypes {
  const StorageType* keys = &quant_f32;
  const StorageType* values = &quant_f32;

  constexpr KvTypes() = default;
  constexpr KvTypes(const StorageType& both) : keys(&both), values(&both) {}  // NOLINT(google-explicit-constructor)
  constexpr KvTypes(const StorageType& of_keys, const StorageType& of_values) : keys(&of_keys), values(&of_values) {}
  friend bool operator==(const KvTypes&, const KvTypes&) = default;

  /// "f16", or "q8_0/q4_0" for keys in q8_0 and values in q4_0.
  [[nodiscard]] std::string name() const;
};

/// Names of the types that keys and values can have, "f32, f16, ..."; with `head_dim`, of those whose blocks divide it.
[[nodiscard]] std::string kv_type_names(std::size_t head_dim = 0);

/// The type with this name or alias, if keys and values can have it. Error (usage) names those they can.
[[nodiscard]] Result<const StorageType*> find_kv_type(std::string_view name);

/// "K" or "K/V". Error (usage) as find_kv_type's.
[[nodiscard]] Result<KvTypes> parse_kv_types(std::string_view text);

/// Numbers of a head that are rotated together before they are stored in `type` (Device::hadamard): with so few levels,
/// a number that is large by itself would cost its neighbours theirs. The largest power of two that divides head_dim;
/// 0: they are stored as they are.
[[nodiscard]] constexpr std::size_t kv_rotation(const StorageType& type, std::size_t head_dim) {
  return &type == &quant_q4_0 ? std::size_t{1} << std::countr_zero(head_dim) : 0;
}

}  // namespace plm
