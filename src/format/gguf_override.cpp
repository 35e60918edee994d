#include "format/gguf_override.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "format/gguf.h"

namespace plm {
namespace {

constexpr std::size_t kMostOverrides = 1024;
constexpr std::size_t kMostKeyBytes = 65535;

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::optional<std::vector<std::byte>> number(std::string_view text) {
  const std::optional<T> value = parsed<T>(text);
  if (!value.has_value()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(*value)) return std::nullopt;
  }
  return bytes_of(*value);
}

std::optional<std::vector<std::byte>> encoded(GgufType type, std::string_view text) {
  switch (type) {
    case GgufType::u8: return number<std::uint8_t>(text);
    case GgufType::i8: return number<std::int8_t>(text);
    case GgufType::u16: return number<std::uint16_t>(text);
    case GgufType::i16: return number<std::int16_t>(text);
    case GgufType::u32: return number<std::uint32_t>(text);
    case GgufType::i32: return number<std::int32_t>(text);
    case GgufType::u64: return number<std::uint64_t>(text);
    case GgufType::i64: return number<std::int64_t>(text);
    case GgufType::f32: return number<float>(text);
    case GgufType::f64: return number<double>(text);
    case GgufType::boolean:
      if (text != "true" && text != "false") return std::nullopt;
      return std::vector<std::byte>{std::byte{text == "true"}};
    case GgufType::string: {
      const auto bytes = std::as_bytes(std::span(text));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    case GgufType::array: return std::nullopt;
  }
  return std::nullopt;
}

// What a value of a key that the file has not is meant to be.
GgufType apparent_type(std::string_view text) {
  if (text == "true" || text == "false") return GgufType::boolean;
  for (const GgufType type : {GgufType::u32, GgufType::i32, GgufType::u64, GgufType::i64, GgufType::f32}) {
    if (encoded(type, text).has_value()) return type;
  }
  return GgufType::string;
}

// llama.cpp's word for a type in front of a value, taken off.
std::optional<GgufType> take_type(std::string_view& text) {
  constexpr std::pair<std::string_view, GgufType> kWords[] = {
      {"int:", GgufType::i64}, {"float:", GgufType::f32}, {"bool:", GgufType::boolean}, {"str:", GgufType::string}};
  for (const auto& [word, type] : kWords) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return type;
  }
  return std::nullopt;
}

}  // namespace

Result<GgufOverride> make_gguf_override(std::string_view key, std::string_view value, const MetaValue* standing) {
  const std::string shown = printable(key, 80);
  if (key.empty() || key.size() > kMostKeyBytes) {
    return fail(ErrorKind::usage, "override \"{}\": expected KEY=VALUE with a key of 1 to {} bytes", shown,
                kMostKeyBytes);
  }
  if (standing != nullptr && standing->is_array()) {
    return fail(ErrorKind::usage, "override {}: holds an {}; only single values can be overridden", shown,
                standing->described());
  }
  const bool is_text = standing != nullptr && standing->type() == GgufType::string;
  std::string_view text = value;
  const std::optional<GgufType> stated = take_type(text);
  if (is_text && stated.has_value() && *stated != GgufType::string) text = value;  // a text that begins so
  const GgufType type = standing != nullptr ? standing->type() : stated.value_or(apparent_type(text));
  auto bytes = encoded(type, text);
  if (!bytes.has_value()) {
    return fail(ErrorKind::usage, "override {}: \"{}\", expected a value of type {}{}", shown, printable(value, 80),
                gguf_type_name(type), standing != nullptr ? ", as in the file" : "");
  }
  return GgufOverride{std::string(key), type, *std::move(bytes)};
}

Result<std::shared_ptr<const GgufFile>> GgufFile::overridden(std::shared_ptr<const GgufFile> base,
                                                             std::span<const std::string> settings) {
  if (settings.empty()) return base;
  if (settings.size() > kMostOverrides) {
    return fail(ErrorKind::usage, "override: given {} times, at most {} are allowed", settings.size(), kMostOverrides);
  }
  std::shared_ptr<GgufFile> file(new GgufFile(*base));
  file->base_ = std::move(base);  // owns what the views of the copy refer to
  for (const std::string& setting : settings) {
    const std::size_t at = setting.find('=');
    if (at == std::string::npos) {
      return fail(ErrorKind::usage, "override \"{}\": expected KEY=VALUE", printable(setting, 80));
    }
    const std::string_view key = std::string_view(setting).substr(0, at);
    PLM_TRY_ASSIGN(GgufOverride made,
                   make_gguf_override(key, std::string_view(setting).substr(at + 1), file->find(key)));
    const auto kept = std::make_shared<const GgufOverride>(std::move(made));
    file->overrides_.push_back(kept);
    const MetaEntry entry{kept->key, MetaValue(kept->type, kept->bytes)};
    const auto standing = std::ranges::find(file->metadata_, key, &MetaEntry::key);
    if (standing == file->metadata_.end()) {
      file->metadata_.push_back(entry);
    } else {
      standing->value = entry.value;
    }
    PLM_TRY_ASSIGN(file->metadata_index_, (NameIndex<MetaEntry, &MetaEntry::key>::of(file->metadata_, "override")));
  }
  return file;
}

}  // namespace plm
