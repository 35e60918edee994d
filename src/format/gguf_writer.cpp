#include "format/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/checked.h"

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

// Writes all of `bytes` and waits until they are on the disk.
bool write_fully(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0;
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

void GgufWriter::add_tensor(std::string_view name, const GgmlType& type, std::span<const std::uint64_t> dims,
                            std::span<const std::byte> bytes) {
  PLM_CHECK(!name.empty() && name.size() <= 63 && !dims.empty() && dims.size() <= 4);
  PLM_CHECK(std::ranges::find(tensors_, name, &Tensor::name) == tensors_.end());
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : dims) elements *= dim;
  PLM_CHECK(elements > 0 && dims[0] % type.block_elements == 0 && storage_bytes(type, elements) == bytes.size());
  tensors_.push_back({std::string(name), &type, {dims.begin(), dims.end()}, {bytes.begin(), bytes.end()}});
}

std::vector<std::byte> GgufWriter::bytes() const {
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
    offset = *checked_round_up(offset + tensor.bytes.size(), alignment_);
  }
  sink.pad(alignment_);
  for (const Tensor& tensor : tensors_) {
    sink.append(tensor.bytes);
    sink.pad(alignment_);
  }
  return sink.take();
}

Result<void> GgufWriter::write(const std::string& path) const {
  const std::string temporary = fmt::format("{}.{}.partial", path, getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(ErrorKind::failed, "{}: cannot be created: {}", temporary, std::strerror(errno));
  int failure = write_fully(descriptor, bytes()) ? 0 : errno;
  ::close(descriptor);
  if (failure == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  unlink(temporary.c_str());
  const bool is_full = failure == ENOSPC || failure == EDQUOT || failure == EFBIG;
  return fail(is_full ? ErrorKind::no_room : ErrorKind::failed, "{}: cannot be written: {}", path,
              std::strerror(failure));
}

}  // namespace plm
