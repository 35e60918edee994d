// GGUF bytes put together field by field, so that a test can set any one of them wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plm {

/// `value` as its little-endian bytes.
template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string raw_u32(std::uint32_t value) { return raw(value); }
inline std::string raw_u64(std::uint64_t value) { return raw(value); }
/// A length, by default the true one, and the characters.
inline std::string raw_string(std::string_view text, std::optional<std::uint64_t> length = {}) {
  return raw(length.value_or(text.size())) + std::string(text);
}

inline std::span<const std::byte> as_file(std::string_view bytes) { return std::as_bytes(std::span(bytes)); }

struct RawTensor {
  std::string name = "w";
  std::vector<std::uint64_t> dims{8};
  std::uint32_t type = 0;  // F32
  std::uint64_t offset = 0;
  std::optional<std::uint32_t> rank{};
};

struct RawGguf {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count{}, metadata_count{};  // default: the true ones
  std::vector<std::string> metadata{raw_string("general.architecture") + raw_u32(8) + raw_string("llama")};
  std::vector<RawTensor> tensors{RawTensor{}};
  std::uint64_t alignment = 32;  // of the padding between table and data
  char padding = '\0';
  std::string data = std::string(32, '\1');

  /// Adds a metadata entry: `value` is its content as in the file.
  RawGguf& with(std::string_view key, std::uint32_t type, const std::string& value) {
    metadata.push_back(raw_string(key) + raw_u32(type) + value);
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    std::string file = magic + raw_u32(version) + raw_u64(tensor_count.value_or(tensors.size())) +
                       raw_u64(metadata_count.value_or(metadata.size()));
    for (const std::string& entry : metadata) file += entry;
    for (const RawTensor& tensor : tensors) {
      file += raw_string(tensor.name) + raw(tensor.rank.value_or(static_cast<std::uint32_t>(tensor.dims.size())));
      for (const std::uint64_t dim : tensor.dims) file += raw(dim);
      file += raw(tensor.type) + raw(tensor.offset);
    }
    file.append((alignment - file.size() % alignment) % alignment, padding);
    return file + data;
  }
};

}  // namespace plm
