// One metadata value of a GGUF file: its type and a view of its bytes in the map. Nothing is copied or decoded until
// asked.
//
// A MetaValue is made by the reader only, after every length in it was checked, so the accessors need no further
// bounds. It lives as long as the bytes do (as long as the GgufFile). Tested by tests/format/test_gguf_value.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plm {

/// Value types with their numbers in the file.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// "u32", "string" ...
[[nodiscard]] std::string_view gguf_type_name(GgufType type);

/// Bytes of one value; 0 for string and array, whose length is in the file.
[[nodiscard]] std::size_t gguf_type_bytes(GgufType type);

/// The strings of an array value, in order: a forward range of string_view over the file's bytes. Walking 262144 tokens
/// takes about a millisecond; who needs the n-th string keeps `views()`.
class StringArray {
 public:
  StringArray() = default;
  /// `bytes`: `count` strings, each a little-endian u64 length and its bytes.
  StringArray(std::span<const std::byte> bytes, std::uint64_t count) : bytes_(bytes), count_(count) {}

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    std::string_view operator*() const { return {reinterpret_cast<const char*>(at_ + sizeof(std::uint64_t)), size()}; }
    Iterator& operator++() {
      at_ += sizeof(std::uint64_t) + size();
      return *this;
    }
    Iterator operator++(int);
    bool operator==(const Iterator&) const = default;

   private:
    [[nodiscard]] std::uint64_t size() const {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, at_, sizeof bytes);
      return bytes;
    }
    const std::byte* at_ = nullptr;
  };

  [[nodiscard]] Iterator begin() const { return Iterator(bytes_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

  /// All strings, for access by index (16 bytes each).
  [[nodiscard]] std::vector<std::string_view> views() const;

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t count_ = 0;
};

class MetaValue {
 public:
  /// `bytes` for a string: its characters; for an array: its elements; else the number, little-endian.
  MetaValue(GgufType type, std::span<const std::byte> bytes) : type_(type), bytes_(bytes) {}
  MetaValue(GgufType element_type, std::uint64_t count, std::span<const std::byte> bytes)
      : type_(GgufType::array), element_type_(element_type), count_(count), bytes_(bytes) {}

  [[nodiscard]] GgufType type() const { return type_; }
  [[nodiscard]] bool is_array() const { return type_ == GgufType::array; }
  [[nodiscard]] GgufType element_type() const { return element_type_; }  ///< arrays only; never `array`
  [[nodiscard]] std::uint64_t count() const { return count_; }           ///< elements of an array, else 1
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  // The value, where the type allows it without loss of meaning; nullopt otherwise.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;  ///< any integer type that holds a value >= 0
  [[nodiscard]] std::optional<std::int64_t> as_integer() const;    ///< any integer type, except u64 above 2^63-1
  [[nodiscard]] std::optional<double> as_real() const;             ///< f32, f64
  [[nodiscard]] std::optional<bool> as_boolean() const;
  [[nodiscard]] std::optional<std::string_view> as_string() const;
  [[nodiscard]] std::optional<StringArray> as_strings() const;
  [[nodiscard]] std::optional<std::vector<float>> as_reals() const;            ///< an array of f32
  [[nodiscard]] std::optional<std::vector<std::int64_t>> as_integers() const;  ///< an array of any integer type

  /// For a person, on one line: `u32 7`, `string "llama"`, `array of 49152 string`.
  [[nodiscard]] std::string described() const;

 private:
  GgufType type_;
  GgufType element_type_ = GgufType::u8;
  std::uint64_t count_ = 1;
  std::span<const std::byte> bytes_;
};

}  // namespace plm
