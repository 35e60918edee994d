#include "base/protobuf.h"

#include <cstring>

namespace plm {

Result<std::uint64_t> ProtobufReader::varint() {
  const std::size_t begin = position();
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return fail(ErrorKind::bad_input, "number at byte {} does not end; the file is truncated or damaged", begin);
}

Result<std::string_view> ProtobufReader::take(std::uint64_t count) {
  if (count > rest_.size()) {
    return fail(ErrorKind::bad_input,
                "field of {} bytes at byte {}, where {} are left; the file is truncated or damaged", count, position(),
                rest_.size());
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

Result<std::optional<ProtobufField>> ProtobufReader::next() {
  if (rest_.empty()) return std::optional<ProtobufField>();
  const std::size_t begin = position();
  PLM_TRY_ASSIGN(const std::uint64_t key, varint());
  constexpr std::uint64_t kMostNumber = (1U << 29) - 1;
  if (key >> 3 == 0 || key >> 3 > kMostNumber) {
    return fail(ErrorKind::bad_input, "field number {} at byte {}, expected 1 to {}; the file is damaged", key >> 3,
                begin, kMostNumber);
  }
  ProtobufField field{.number = static_cast<std::uint32_t>(key >> 3)};
  switch (key & 7U) {
    case 0: {
      PLM_TRY_ASSIGN(field.value, varint());
      return field;
    }
    case 1:
    case 5: {
      field.wire = (key & 7U) == 1 ? ProtobufWire::fixed64 : ProtobufWire::fixed32;
      PLM_TRY_ASSIGN(const std::string_view raw, take(field.wire == ProtobufWire::fixed64 ? 8 : 4));
      std::memcpy(&field.value, raw.data(), raw.size());
      return field;
    }
    case 2: {
      field.wire = ProtobufWire::bytes;
      PLM_TRY_ASSIGN(const std::uint64_t count, varint());
      PLM_TRY_ASSIGN(field.bytes, take(count));
      return field;
    }
    default:
      return fail(ErrorKind::bad_input,
                  "field {} at byte {} has wire type {}, expected 0, 1, 2 or 5; the file is damaged", field.number,
                  begin, key & 7U);
  }
}

}  // namespace plm
