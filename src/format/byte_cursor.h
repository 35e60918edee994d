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

  /// The bytes of `count` such strings in a row.
  Result<std::span<const std::byte>> strings(std::uint64_t count, std::string_view what) {
    const std::uint64_t begin = position_;
    for (; count > 0; --count) {
      std::uint64_t length = 0;
      if (remaining() >= sizeof length) std::memcpy(&length, bytes_.data() + position_, sizeof length);
      if (remaining() < sizeof length || length > remaining() - sizeof length) PLM_TRY(string(what));  // the error
      position_ += sizeof length + length;
    }
    return bytes_.subspan(begin, position_ - begin);
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;  // at most bytes_.size()
};

}  // namespace plm
