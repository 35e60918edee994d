// Every storage type that a GGUF tensor may name: its id in the file, its name, and how many bytes hold how many
// elements.
//
// Source: the GGUF specification and the block structures of ggml (October 2026). The numbers are all that this room
// needs: what the bytes mean is the business of tensor/quant. An id that is not here was removed from the format or is
// newer. Tested by tests/format/test_ggml_type.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plm {

/// One storage type. A row of `n` elements (`n` a multiple of `block_elements`) takes n / block_elements * block_bytes
/// bytes.
struct GgmlType {
  std::uint32_t id;
  std::string_view name;         ///< as ggml writes it in capitals: "F32", "Q4_K"
  std::uint32_t block_elements;  ///< elements per quant block, 1 for plain numbers
  std::uint32_t block_bytes;     ///< bytes per quant block
};

/// All known types, ascending by id.
[[nodiscard]] std::span<const GgmlType> ggml_types();

/// The type with this id; nullptr when it was removed or never existed.
[[nodiscard]] const GgmlType* find_ggml_type(std::uint32_t id);

/// The type with this name ("Q4_1"); nullptr when there is none.
[[nodiscard]] const GgmlType* find_ggml_type(std::string_view name);

/// Bytes of `elements` elements; nullopt when they do not fill whole quant blocks or the number overflows.
[[nodiscard]] std::optional<std::uint64_t> storage_bytes(const GgmlType& type, std::uint64_t elements);

}  // namespace plm
