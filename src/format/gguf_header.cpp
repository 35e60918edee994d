#include "format/gguf_header.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "base/utf8.h"
#include "format/byte_cursor.h"
#include "format/foreign_file.h"

namespace plm {
namespace {

// The shortest entries there can be, in bytes: what a count is compared with before anything is reserved for it.
constexpr std::uint64_t kLeastMetaBytes = 8 + 1 + 4 + 1;            // key length, key, type, value
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, n_dims, dim, type, offset

class HeaderParser {
 public:
  HeaderParser(std::span<const std::byte> bytes, const GgufLimits& limits, GgufWarnings& warnings)
      : bytes_(bytes), cursor_(bytes), limits_(limits), warnings_(warnings) {}

  Result<GgufHeader> parse();

 private:
  Result<void> read_magic_and_version();
  Result<std::uint64_t> read_count(std::string_view what, std::uint64_t limit);
  Result<void> check_count(std::string_view what, std::uint64_t count, std::uint64_t least_bytes) const;
  Result<std::string_view> read_name(std::string_view what, std::uint64_t limit);
  Result<void> read_metadata(std::uint64_t count);
  Result<MetaValue> read_value();
  Result<MetaValue> read_array();
  Result<void> set_alignment(const MetaValue& value);
  Result<void> read_tensor(std::uint64_t index);
  Result<void> read_shape(TensorEntry& tensor);

  std::span<const std::byte> bytes_;
  ByteCursor cursor_;
  const GgufLimits& limits_;
  GgufWarnings& warnings_;
  GgufHeader header_;
};

Result<GgufHeader> HeaderParser::parse() {
  PLM_TRY(read_magic_and_version());
  PLM_TRY_ASSIGN(const auto tensor_count, read_count("n_tensors", limits_.tensors));
  PLM_TRY_ASSIGN(const auto metadata_count, read_count("n_kv", limits_.metadata_entries));
  if (metadata_count == 0) {
    return fail(ErrorKind::bad_input, "n_kv is 0: no metadata, not even general.architecture; this is not a model");
  }
  PLM_TRY(check_count("n_kv", metadata_count, kLeastMetaBytes));
  PLM_TRY(read_metadata(metadata_count));
  PLM_TRY(check_count("n_tensors", tensor_count, kLeastTensorBytes));
  header_.tensors.reserve(tensor_count);
  header_.ranges.reserve(tensor_count);
  for (std::uint64_t i = 0; i < tensor_count; ++i) PLM_TRY(read_tensor(i));
  header_.size = cursor_.position();
  return std::move(header_);
}

Result<void> HeaderParser::read_magic_and_version() {
  PLM_TRY_ASSIGN(const auto magic, cursor_.take(4, "magic"));
  const std::string_view characters(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (characters != "GGUF") {
    if (auto foreign = foreign_file_kind(bytes_)) {
      return fail(ErrorKind::bad_input, "magic: not a GGUF file but {}", *foreign);
    }
    return fail(ErrorKind::bad_input, "magic: is \"{}\", expected \"GGUF\"; this is not a GGUF file",
                printable(characters));
  }
  PLM_TRY_ASSIGN(header_.version, cursor_.number<std::uint32_t>("version"));
  const std::uint32_t swapped = __builtin_bswap32(header_.version);
  if (swapped >= 1 && swapped <= 3) {
    return fail(ErrorKind::bad_input,
                "version: {} with its bytes swapped; the file is big-endian, convert it again for "
                "a little-endian machine",
                swapped);
  }
  if (header_.version != 2 && header_.version != 3) {
    return fail(ErrorKind::bad_input, "version: is {}, expected 2 or 3; {}", header_.version,
                header_.version == 1 ? "convert the model again" : "the file is damaged or newer than this program");
  }
  return {};
}

Result<std::uint64_t> HeaderParser::read_count(std::string_view what, std::uint64_t limit) {
  PLM_TRY_ASSIGN(const auto count, cursor_.number<std::uint64_t>(what));
  if (count > limit) {
    return fail(ErrorKind::bad_input, "{}: is {}, at most {} are read; the file is damaged", what, count, limit);
  }
  return count;
}

Result<void> HeaderParser::check_count(std::string_view what, std::uint64_t count, std::uint64_t least_bytes) const {
  const std::uint64_t most = cursor_.remaining() / least_bytes;
  if (count <= most) return {};
  return fail(ErrorKind::bad_input,
              "{}: is {}, but the {} bytes left hold at most {}; the file is truncated or damaged", what, count,
              cursor_.remaining(), most);
}

// A key or a tensor's name: short, and such that a person can read it.
Result<std::string_view> HeaderParser::read_name(std::string_view what, std::uint64_t limit) {
  PLM_TRY_ASSIGN(const auto name, cursor_.string(what));
  if (name.empty()) return fail(ErrorKind::bad_input, "{} is empty", what);
  if (name.size() > limit) {
    return fail(ErrorKind::bad_input, "{} has {} bytes, at most {} are allowed: \"{}\"", what, name.size(), limit,
                printable(name, 40));
  }
  if (printable(name, name.size()) != name) {
    return fail(ErrorKind::bad_input, "{} is not plain UTF-8 text: \"{}\"", what, printable(name));
  }
  return name;
}

Result<void> HeaderParser::read_metadata(std::uint64_t count) {
  header_.metadata.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = read_name("key", limits_.key_bytes);
    if (!key) return fail(ErrorKind::bad_input, "metadata entry {} of {}: {}", i + 1, count, key.error().message);
    const auto value = read_value();
    if (!value) return tl::unexpected(value.error().within(fmt::format("key {}", printable(*key))));
    header_.metadata.push_back({*key, *value});
    if (value->as_string() && !utf8_is_valid(*value->as_string())) {
      warnings_.add("key {}: is not valid UTF-8: {}", printable(*key), value->described());
    }
    if (*key == "general.alignment") PLM_TRY(set_alignment(*value));
  }
  PLM_TRY_ASSIGN(header_.metadata_index, (NameIndex<MetaEntry, &MetaEntry::key>::of(header_.metadata, "key")));
  return {};
}

Result<GgufType> checked_type(std::uint32_t number, std::string_view what) {
  if (number > static_cast<std::uint32_t>(GgufType::f64)) {
    return fail(ErrorKind::bad_input, "{} is {}, expected 0 to 12; the file is damaged or newer than this program",
                what, number);
  }
  return static_cast<GgufType>(number);
}

// C++ knows two bools and so does the format; 2 is damage.
Result<void> check_booleans(std::span<const std::byte> bytes) {
  const auto odd = std::ranges::find_if(bytes, [](std::byte value) { return value > std::byte{1}; });
  if (odd == bytes.end()) return {};
  return fail(ErrorKind::bad_input, "bool stored as {}, expected 0 or 1; the file is damaged",
              static_cast<unsigned>(*odd));
}

Result<MetaValue> HeaderParser::read_value() {
  PLM_TRY_ASSIGN(const auto number, cursor_.number<std::uint32_t>("value type"));
  PLM_TRY_ASSIGN(const auto type, checked_type(number, "value type"));
  if (type == GgufType::array) return read_array();
  if (type == GgufType::string) {
    PLM_TRY_ASSIGN(const auto text, cursor_.string("string"));
    return MetaValue(type, std::as_bytes(std::span(text)));
  }
  PLM_TRY_ASSIGN(const auto bytes, cursor_.take(gguf_type_bytes(type), "value"));
  if (type == GgufType::boolean) PLM_TRY(check_booleans(bytes));
  return MetaValue(type, bytes);
}

Result<MetaValue> HeaderParser::read_array() {
  PLM_TRY_ASSIGN(const auto number, cursor_.number<std::uint32_t>("array element type"));
  PLM_TRY_ASSIGN(const auto type, checked_type(number, "array element type"));
  PLM_TRY_ASSIGN(const auto count, cursor_.number<std::uint64_t>("array length"));
  if (type == GgufType::array) {
    return fail(ErrorKind::bad_input, "array of arrays, expected an array of numbers or strings");
  }
  const std::uint64_t least_bytes = type == GgufType::string ? sizeof(std::uint64_t) : gguf_type_bytes(type);
  PLM_TRY(check_count("array length", count, least_bytes));
  const std::uint64_t begin = cursor_.position();
  if (type == GgufType::string) {
    PLM_TRY(cursor_.strings(count, "string in the array"));
  } else {
    PLM_TRY(cursor_.take(count * least_bytes, "array"));
  }
  const auto elements = bytes_.subspan(begin, cursor_.position() - begin);
  if (type == GgufType::boolean) PLM_TRY(check_booleans(elements));
  return MetaValue(type, count, elements);
}

Result<void> HeaderParser::set_alignment(const MetaValue& value) {
  const auto alignment = value.type() == GgufType::u32 ? value.as_unsigned() : std::nullopt;
  if (!alignment || *alignment < 8 || *alignment > limits_.alignment || !std::has_single_bit(*alignment)) {
    return fail(ErrorKind::bad_input, "general.alignment is {}, expected u32: a power of two from 8 to {}",
                value.described(), limits_.alignment);
  }
  header_.alignment = *alignment;
  return {};
}

Result<void> HeaderParser::read_tensor(std::uint64_t index) {
  TensorEntry tensor;
  auto name = read_name("tensor name", limits_.tensor_name_bytes);
  if (!name) return fail(ErrorKind::bad_input, "tensor table entry {}: {}", index + 1, name.error().message);
  tensor.name = *name;
  if (auto shape = read_shape(tensor); !shape) {
    return tl::unexpected(shape.error().within(fmt::format("tensor {}", printable(tensor.name))));
  }
  header_.tensors.push_back(tensor);
  return {};
}

// Rank, dimensions, type and offset. Nothing is stored unless the number of bytes follows from them without overflow.
Result<void> HeaderParser::read_shape(TensorEntry& tensor) {
  PLM_TRY_ASSIGN(tensor.rank, cursor_.number<std::uint32_t>("n_dims"));
  if (tensor.rank < 1 || tensor.rank > tensor.dims.size()) {
    return fail(ErrorKind::bad_input, "n_dims is {}, expected 1 to {}", tensor.rank, tensor.dims.size());
  }
  std::optional<std::uint64_t> elements = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) {
    PLM_TRY_ASSIGN(tensor.dims[i], cursor_.number<std::uint64_t>("dimension"));
    if (tensor.dims[i] == 0) return fail(ErrorKind::bad_input, "dimension {} is 0", i);
    if (elements) elements = checked_multiply(*elements, tensor.dims[i]);
  }
  PLM_TRY_ASSIGN(const auto type_id, cursor_.number<std::uint32_t>("tensor type"));
  tensor.type = find_ggml_type(type_id);
  if (tensor.type == nullptr) {
    return fail(ErrorKind::bad_input,
                "tensor type {} is unknown or was removed from the format; convert the model again", type_id);
  }
  PLM_TRY_ASSIGN(const auto offset, cursor_.number<std::uint64_t>("offset"));
  if (tensor.dims[0] % tensor.type->block_elements != 0) {
    return fail(ErrorKind::bad_input, "row length {} is not a multiple of {}, the quant block of {}", tensor.dims[0],
                tensor.type->block_elements, tensor.type->name);
  }
  const auto size = elements ? storage_bytes(*tensor.type, *elements) : std::nullopt;
  if (!size) {
    return fail(ErrorKind::bad_input, "dimensions {} make more bytes than 64 bits count",
                fmt::join(tensor.shape(), " x "));
  }
  header_.ranges.push_back({offset, *size});
  return {};
}

}  // namespace

Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes, const GgufLimits& limits,
                                     GgufWarnings& warnings) {
  return HeaderParser(bytes, limits, warnings).parse();
}

}  // namespace plm
