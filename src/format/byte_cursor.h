// Reads little-endian fields from the front of a byte range and never past its end.
// Tested by tests/format/test_byte_cursor.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"

namespace plm {

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  /// The next `count` bytes; `what` they are goes into the error.
  Result<std::span<const std::byte>> take(std::uint64_t count, std::string_view what) {
    if (count > remaining()) {
      return fail(
          ErrorKind::bad_input,
          "{} takes {} bytes at byte {}, where {} are left; the file is truncated or damaged, download it again", what,
          count, position_, remaining());
    }
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  /// The next number of type T.
  template <typename T>
  Result<T> number(std::string_view what) {
    PLM_TRY_ASSIGN(const auto raw, take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// A u64 length and as many characters.
  Result<std::string_view> string(std::string_view what) {
    PLM_TRY_ASSIGN(const auto length, number<std::uint64_t>(what));
    PLM_TRY_ASSIGN(const auto raw, take(length, what));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;  // at most bytes_.size()
};

}  // namespace plm
