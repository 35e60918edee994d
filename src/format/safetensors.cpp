#include "format/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/half.h"
#include "base/json.h"
#include "base/utf8.h"
#include "format/byte_cursor.h"

namespace plm {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostHeaderDepth = 8;              // it needs 3
constexpr std::string_view kMetadata = "__metadata__";

struct DtypeFact {
  std::string_view name;
  SafetensorsDtype dtype;
  std::uint64_t bytes;
};
constexpr DtypeFact kDtypes[] = {
    {"F64", SafetensorsDtype::f64, 8},         {"F32", SafetensorsDtype::f32, 4},
    {"F16", SafetensorsDtype::f16, 2},         {"BF16", SafetensorsDtype::bf16, 2},
    {"I64", SafetensorsDtype::i64, 8},         {"I32", SafetensorsDtype::i32, 4},
    {"I16", SafetensorsDtype::i16, 2},         {"I8", SafetensorsDtype::i8, 1},
    {"U8", SafetensorsDtype::u8, 1},           {"BOOL", SafetensorsDtype::boolean, 1},
    {"F8_E4M3", SafetensorsDtype::f8_e4m3, 1},
};

// The header's JSON, without what follows it.
Result<Json> parse_header(ByteCursor& cursor) {
  PLM_TRY_ASSIGN(const auto size, cursor.number<std::uint64_t>("header length"));
  if (size > kMostHeaderBytes) {
    return fail(ErrorKind::bad_input, "header length: is {}, at most {} bytes are allowed; the file is damaged", size,
                kMostHeaderBytes);
  }
  if (size == 0 || size > cursor.remaining()) {
    return fail(ErrorKind::bad_input,
                "header length: is {}, expected 1 to the {} bytes that follow; the file is truncated or damaged, "
                "download it again",
                size, cursor.remaining());
  }
  PLM_TRY_ASSIGN(const auto raw, cursor.take(size, "header"));
  const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
  if (!text.starts_with('{')) {
    return fail(ErrorKind::bad_input, "header: begins with \"{}\", expected {{; this is not a safetensors file",
                printable(text, 10));
  }
  return parse_json(text, "header", {.bytes = kMostHeaderBytes, .depth = kMostHeaderDepth});
}

// Member `key` of a tensor's description; null when absent.
const Json& member(const Json& description, const char* key) {
  static const Json absent;
  const auto found = description.find(key);
  return found == description.end() ? absent : *found;
}

Result<std::vector<std::uint64_t>> natural_numbers(const Json& list, std::string_view what) {
  const auto is_natural = [](const Json& item) { return item.is_number_unsigned(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_natural)) {
    return fail(ErrorKind::bad_input, "{} is {}, expected a list of integers of at least 0", what,
                printable(json_text(list), 60));
  }
  return list.get<std::vector<std::uint64_t>>();
}

// Bytes of a tensor; nullopt when 64 bits do not count them.
std::optional<std::uint64_t> tensor_bytes(std::span<const std::uint64_t> shape, std::uint64_t element_bytes) {
  std::optional<std::uint64_t> bytes = element_bytes;
  for (const std::uint64_t dim : shape) {
    bytes = checked_multiply(*bytes, dim);
    if (!bytes) return std::nullopt;
  }
  return bytes;
}

// One tensor of the header; its data offsets count from the start of `data`.
Result<SafetensorsEntry> parse_entry(const Json& description, std::span<const std::byte> data) {
  if (!description.is_object()) return fail(ErrorKind::bad_input, "is {}, expected an object", description.type_name());
  const Json& dtype = member(description, "dtype");
  const auto* fact = std::ranges::find_if(kDtypes, [&dtype](const DtypeFact& known) {
    return dtype.is_string() && dtype.get<std::string>() == known.name;
  });
  if (fact == std::end(kDtypes)) {
    return fail(ErrorKind::bad_input, "dtype is {}, which is not known", printable(json_text(dtype), 60));
  }
  SafetensorsEntry entry{.dtype = fact->dtype, .shape = {}, .bytes = {}};
  PLM_TRY_ASSIGN(entry.shape, natural_numbers(member(description, "shape"), "shape"));
  PLM_TRY_ASSIGN(const auto offsets, natural_numbers(member(description, "data_offsets"), "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    return fail(ErrorKind::bad_input, "data_offsets are [{}], expected a begin and an end within the {} bytes of data",
                fmt::join(offsets, ", "), data.size());
  }
  entry.bytes = data.subspan(offsets[0], offsets[1] - offsets[0]);
  if (tensor_bytes(entry.shape, fact->bytes) != entry.bytes.size()) {
    return fail(ErrorKind::bad_input, "shape [{}] of {} does not make the {} bytes that data_offsets give it",
                fmt::join(entry.shape, ", "), fact->name, entry.bytes.size());
  }
  return entry;
}

Result<std::map<std::string, std::string, std::less<>>> parse_metadata(const Json& object) {
  std::map<std::string, std::string, std::less<>> metadata;
  if (!object.is_object()) {
    return fail(ErrorKind::bad_input, "{}: is {}, expected an object", kMetadata, object.type_name());
  }
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return fail(ErrorKind::bad_input, "{}: {} is {}, expected a string", kMetadata, printable(key),
                  value.type_name());
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

// The tensors lie one after another from the first byte of data to the last.
Result<void> check_coverage(const std::map<std::string, SafetensorsEntry, std::less<>>& tensors,
                            std::span<const std::byte> data) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> in_file;
  for (const auto& named : tensors) in_file.push_back(&named);
  std::ranges::sort(
      in_file, {}, [](const auto* named) { return std::pair(named->second.bytes.data(), named->second.bytes.size()); });
  const std::byte* free_from = data.data();
  for (const auto* named : in_file) {
    const std::span<const std::byte> bytes = named->second.bytes;
    if (bytes.data() != free_from) {
      return fail(ErrorKind::bad_input, "tensor {}: data_offsets begin at {}, expected {}: tensors follow each other",
                  printable(named->first), bytes.data() - data.data(), free_from - data.data());
    }
    free_from = bytes.data() + bytes.size();
  }
  const auto rest = static_cast<std::uint64_t>(data.data() + data.size() - free_from);
  if (rest != 0) return fail(ErrorKind::bad_input, "file size: {} bytes after the last tensor belong to nothing", rest);
  return {};
}

}  // namespace

float safetensors_float(SafetensorsDtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  if (dtype == SafetensorsDtype::f32) {
    float value = 0;
    PLM_CHECK((index + 1) * sizeof value <= bytes.size());
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  PLM_CHECK(dtype == SafetensorsDtype::f16 || dtype == SafetensorsDtype::bf16);
  PLM_CHECK((index + 1) * sizeof bits <= bytes.size());
  std::memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
  return dtype == SafetensorsDtype::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

std::string_view safetensors_dtype_name(SafetensorsDtype dtype) {
  return std::ranges::find(kDtypes, dtype, &DtypeFact::dtype)->name;
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
  PLM_TRY_ASSIGN(auto map, MappedFile::open(path));
  PLM_TRY_ASSIGN(auto file, load(map->bytes(), path));
  file->file_ = std::move(map);
  return file;
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                                                      std::string name) {
  return load(bytes, std::move(name));
}

Result<std::shared_ptr<SafetensorsFile>> SafetensorsFile::load(std::span<const std::byte> bytes, std::string name) {
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile());
  file->name_ = std::move(name);
  if (auto read = file->read(bytes); !read) return tl::unexpected(read.error().within(file->name_));
  return file;
}

Result<void> SafetensorsFile::read(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  PLM_TRY_ASSIGN(const Json header, parse_header(cursor));
  const auto data = bytes.subspan(cursor.position());
  for (const auto& [name, description] : header.items()) {
    if (name == kMetadata) {
      PLM_TRY_ASSIGN(metadata_, parse_metadata(description));
      continue;
    }
    auto entry = parse_entry(description, data);
    if (!entry) return tl::unexpected(entry.error().within(fmt::format("tensor {}", printable(name))));
    tensors_.emplace(name, *std::move(entry));
  }
  return check_coverage(tensors_, data);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace plm
