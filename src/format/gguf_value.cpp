#include "format/gguf_value.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/utf8.h"

namespace plm {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are read in place, and they are little-endian");

struct TypeFact {
  std::string_view name;
  std::size_t bytes;
};
// In the order of GgufType.
constexpr std::array<TypeFact, 13> kTypeFacts = {{{"u8", 1},
                                                  {"i8", 1},
                                                  {"u16", 2},
                                                  {"i16", 2},
                                                  {"u32", 4},
                                                  {"i32", 4},
                                                  {"f32", 4},
                                                  {"bool", 1},
                                                  {"string", 0},
                                                  {"array", 0},
                                                  {"u64", 8},
                                                  {"i64", 8},
                                                  {"f64", 8}}};

const TypeFact& fact(GgufType type) { return kTypeFacts[static_cast<std::size_t>(type)]; }

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// The integer at `at`; nullopt for other types and for a u64 that does not fit.
std::optional<std::int64_t> load_integer(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::u8: return load<std::uint8_t>(at);
    case GgufType::i8: return load<std::int8_t>(at);
    case GgufType::u16: return load<std::uint16_t>(at);
    case GgufType::i16: return load<std::int16_t>(at);
    case GgufType::u32: return load<std::uint32_t>(at);
    case GgufType::i32: return load<std::int32_t>(at);
    case GgufType::i64: return load<std::int64_t>(at);
    case GgufType::u64: {
      const auto value = load<std::uint64_t>(at);
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default: return std::nullopt;
  }
}

bool is_integer(GgufType type) {
  return gguf_type_bytes(type) > 0 && type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean;
}

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view gguf_type_name(GgufType type) { return fact(type).name; }
std::size_t gguf_type_bytes(GgufType type) { return fact(type).bytes; }

StringArray::Iterator StringArray::Iterator::operator++(int) {
  const Iterator before = *this;
  ++*this;
  return before;
}

std::vector<std::string_view> StringArray::views() const {
  std::vector<std::string_view> all;
  all.reserve(size());
  for (std::string_view text : *this) all.push_back(text);
  return all;
}

std::optional<std::uint64_t> MetaValue::as_unsigned() const {
  if (type_ == GgufType::u64) return load<std::uint64_t>(bytes_.data());
  const std::optional<std::int64_t> value = as_integer();
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> MetaValue::as_integer() const { return load_integer(type_, bytes_.data()); }

std::optional<double> MetaValue::as_real() const {
  if (type_ == GgufType::f32) return load<float>(bytes_.data());
  if (type_ == GgufType::f64) return load<double>(bytes_.data());
  return std::nullopt;
}

std::optional<bool> MetaValue::as_boolean() const {
  if (type_ != GgufType::boolean) return std::nullopt;
  return bytes_[0] != std::byte{0};
}

std::optional<std::string_view> MetaValue::as_string() const {
  if (type_ != GgufType::string) return std::nullopt;
  return characters(bytes_);
}

std::optional<StringArray> MetaValue::as_strings() const {
  if (!is_array() || element_type_ != GgufType::string) return std::nullopt;
  return StringArray(bytes_, count_);
}

std::optional<std::vector<float>> MetaValue::as_reals() const {
  if (!is_array() || element_type_ != GgufType::f32) return std::nullopt;
  std::vector<float> values(count_);
  if (count_ > 0) std::memcpy(values.data(), bytes_.data(), bytes_.size());
  return values;
}

std::optional<std::vector<std::int64_t>> MetaValue::as_integers() const {
  if (!is_array() || !is_integer(element_type_)) return std::nullopt;
  std::vector<std::int64_t> values(count_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    const auto value = load_integer(element_type_, bytes_.data() + i * gguf_type_bytes(element_type_));
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return values;
}

std::string MetaValue::described() const {
  if (is_array()) return fmt::format("array of {} {}", count_, gguf_type_name(element_type_));
  if (auto text = as_string()) return fmt::format("string \"{}\"", printable(*text, 60));
  if (auto truth = as_boolean()) return fmt::format("bool {}", *truth);
  if (type_ == GgufType::f32) return fmt::format("f32 {}", load<float>(bytes_.data()));
  if (auto real = as_real()) return fmt::format("f64 {}", *real);
  if (auto natural = as_unsigned()) return fmt::format("{} {}", gguf_type_name(type_), *natural);
  return fmt::format("{} {}", gguf_type_name(type_), *as_integer());
}

}  // namespace plm
