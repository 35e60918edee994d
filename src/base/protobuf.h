// Reads the fields of one message in the wire format of Protocol Buffers, in the order in which they stand.
//
// Source: "Encoding", Protocol Buffers documentation. A stranger wrote the bytes: every length is checked, the
// long-deprecated groups are refused. Nothing is copied. Tested by tests/base/test_protobuf.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace plm {

/// How a field's value is written.
enum class ProtobufWire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct ProtobufField {
  std::uint32_t number = 0;
  ProtobufWire wire = ProtobufWire::varint;
  std::uint64_t value = 0;  ///< of a varint or fixed field
  std::string_view bytes;   ///< of a bytes field: a string, a message, packed numbers

  // The value as its type says; nullopt where the wire differs from the type's.
  [[nodiscard]] std::optional<std::string_view> as_bytes() const {
    return wire == ProtobufWire::bytes ? std::optional(bytes) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> as_integer() const {
    return wire == ProtobufWire::varint ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
  [[nodiscard]] std::optional<float> as_float() const {
    return wire == ProtobufWire::fixed32 ? std::optional(std::bit_cast<float>(static_cast<std::uint32_t>(value)))
                                         : std::nullopt;
  }
};

class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message), size_(message.size()) {}

  /// The next field; nullopt at the end. Errors (bad_input) name the byte of the message.
  Result<std::optional<ProtobufField>> next();

 private:
  Result<std::uint64_t> varint();
  Result<std::string_view> take(std::uint64_t count);
  [[nodiscard]] std::size_t position() const { return size_ - rest_.size(); }

  std::string_view rest_;
  std::size_t size_;
};

}  // namespace plm
