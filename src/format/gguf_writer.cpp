#include "format/gguf_writer.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "format/gguf_output.h"

namespace plm {
namespace {

// The bytes of a file or of a value, growing at the end.
class ByteSink {
 public:
  void append(std::span<const std::byte> raw) { bytes_.insert(bytes_.end(), raw.begin(), raw.end()); }
  template <typename T>
  void number(T value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  void string(std::string_view text) {
    number<std::uint64_t>(text.size());
    append(std::as_bytes(std::span(text)));
  }
  void pad(std::uint64_t alignment) { bytes_.resize(*checked_round_up(bytes_.size(), alignment)); }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

template <typename T>
MetaValue number_value(GgufType type, const T& value) {
  return MetaValue(type, std::as_bytes(std::span(&value, 1)));
}

template <typename T>
MetaValue array_value(GgufType element_type, std::span<const T> values) {
  return MetaValue(element_type, values.size(), std::as_bytes(values));
}

std::vector<std::byte> encoded(const MetaValue& value) {
  ByteSink sink;
  sink.number(static_cast<std::uint32_t>(value.type()));
  if (value.is_array()) {
    sink.number(static_cast<std::uint32_t>(value.element_type()));
    sink.number(value.count());
  } else if (value.type() == GgufType::string) {
    sink.number<std::uint64_t>(value.bytes().size());
  }
  sink.append(value.bytes());
  return sink.take();
}

}  // namespace

void GgufWriter::add_u32(std::string_view key, std::uint32_t value) { add(key, number_value(GgufType::u32, value)); }
void GgufWriter::add_i32(std::string_view key, std::int32_t value) { add(key, number_value(GgufType::i32, value)); }
void GgufWriter::add_u64(std::string_view key, std::uint64_t value) { add(key, number_value(GgufType::u64, value)); }
void GgufWriter::add_f32(std::string_view key, float value) { add(key, number_value(GgufType::f32, value)); }
void GgufWriter::add_boolean(std::string_view key, bool value) { add(key, number_value(GgufType::boolean, value)); }

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  add(key, MetaValue(GgufType::string, std::as_bytes(std::span(value))));
}
void GgufWriter::add_u32s(std::string_view key, std::span<const std::uint32_t> values) {
  add(key, array_value(GgufType::u32, values));
}
void GgufWriter::add_i32s(std::string_view key, std::span<const std::int32_t> values) {
  add(key, array_value(GgufType::i32, values));
}
void GgufWriter::add_booleans(std::string_view key, const std::vector<bool>& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  add(key, array_value(GgufType::boolean, std::span<const std::uint8_t>(bytes)));
}
void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  add(key, array_value(GgufType::f32, values));
}
void GgufWriter::add_strings(std::string_view key, std::span<const std::string_view> values) {
  ByteSink elements;
  for (const std::string_view value : values) elements.string(value);
  add(key, MetaValue(GgufType::string, values.size(), elements.take()));
}

void GgufWriter::add(std::string_view key, const MetaValue& value) {
  PLM_CHECK(!key.empty());
  if (key == "general.alignment") {
    const auto alignment = value.as_unsigned();
    PLM_CHECK(value.type() == GgufType::u32 && *alignment >= 8 && std::has_single_bit(*alignment));
    alignment_ = *alignment;
  }
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  Entry& entry = found != entries_.end() ? *found : entries_.emplace_back(Entry{std::string(key), {}});
  entry.value = encoded(value);
}

void GgufWriter::announce_tensor(std::string_view name, const GgmlType& type, std::span<const std::uint64_t> dims) {
  PLM_CHECK(!name.empty() && name.size() <= 63 && !dims.empty() && dims.size() <= 4);
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : dims) elements *= dim;
  const auto size = storage_bytes(type, elements);
  PLM_CHECK(elements > 0 && dims[0] % type.block_elements == 0 && size);
  PLM_CHECK(names_.emplace(name).second);
  tensors_.push_back({std::string(name), &type, {dims.begin(), dims.end()}, *size, {}});
}

void GgufWriter::add_tensor(std::string_view name, const GgmlType& type, std::span<const std::uint64_t> dims,
                            std::span<const std::byte> bytes) {
  announce_tensor(name, type, dims);
  PLM_CHECK(bytes.size() == tensors_.back().size);
  tensors_.back().bytes.assign(bytes.begin(), bytes.end());
}

std::vector<std::uint64_t> GgufWriter::tensor_sizes() const {
  std::vector<std::uint64_t> sizes;
  for (const Tensor& tensor : tensors_) sizes.push_back(tensor.size);
  return sizes;
}

std::vector<std::byte> GgufWriter::header() const {
  ByteSink sink;
  sink.append(std::as_bytes(std::span(std::string_view("GGUF"))));
  sink.number<std::uint32_t>(3);
  sink.number<std::uint64_t>(tensors_.size());
  sink.number<std::uint64_t>(entries_.size());
  for (const Entry& entry : entries_) {
    sink.string(entry.key);
    sink.append(entry.value);
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    sink.string(tensor.name);
    sink.number(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) sink.number(dim);
    sink.number(tensor.type->id);
    sink.number(offset);
    offset = *checked_round_up(offset + tensor.size, alignment_);
  }
  sink.pad(alignment_);
  return sink.take();
}

std::vector<std::byte> GgufWriter::bytes() const {
  ByteSink sink;
  sink.append(header());
  for (const Tensor& tensor : tensors_) {
    PLM_CHECK(tensor.bytes.size() == tensor.size);
    sink.append(tensor.bytes);
    sink.pad(alignment_);
  }
  return sink.take();
}

Result<void> GgufWriter::write(const std::string& path) const {
  PLM_TRY_ASSIGN(GgufOutput output, GgufOutput::create(path, *this));
  for (const Tensor& tensor : tensors_) PLM_TRY(output.append(tensor.bytes));
  return output.finish();
}

}  // namespace plm
