#include "format/gguf.h"

#include <algorithm>

#include "base/utf8.h"
#include "format/gguf_header.h"
#include "format/gguf_layout.h"

namespace plm {
namespace {

constexpr std::string_view kPartCount = "split.count";
constexpr std::string_view kPartNumber = "split.no";

// The end of the name of part `index` (from 0) of a split model, as every splitter writes it.
std::string part_suffix(std::uint64_t index, std::uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

// A value of the file, absent or as `read` sees it.
template <typename T>
Result<std::optional<T>> optional_value(const GgufFile& file, std::string_view key,
                                        std::optional<T> (MetaValue::*read)() const, std::string_view expected) {
  const MetaValue* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  if (auto found = (value->*read)()) return found;
  return fail(ErrorKind::bad_input, "{}: {} is {}, expected {}", file.path(), printable(key), value->described(),
              expected);
}

template <typename T>
Result<T> required_value(const GgufFile& file, std::string_view key, Result<std::optional<T>> found) {
  if (!found) return tl::unexpected(std::move(found).error());
  if (!*found) return fail(ErrorKind::bad_input, "{}: {} is missing", file.path(), printable(key));
  return *std::move(*found);
}

}  // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::string& path, const GgufLimits& limits) {
  PLM_TRY_ASSIGN(auto file, map_and_load(path, limits));
  PLM_TRY_ASSIGN(const auto part_count, file->optional_unsigned(kPartCount));
  if (part_count.value_or(0) > 1) PLM_TRY(file->join_parts(*part_count, limits));
  PLM_TRY(file->finish(limits));
  return file;
}

Result<std::shared_ptr<const GgufFile>> GgufFile::parse(std::span<const std::byte> bytes, std::string name,
                                                        const GgufLimits& limits) {
  PLM_TRY_ASSIGN(auto file, load(bytes, std::move(name), limits));
  PLM_TRY_ASSIGN(const auto part_count, file->optional_unsigned(kPartCount));
  if (part_count.value_or(0) > 1) {
    return fail(ErrorKind::bad_input, "{}: {} is {}; the parts of a split model are found by path only", file->path(),
                kPartCount, *part_count);
  }
  PLM_TRY(file->finish(limits));
  return file;
}

Result<std::shared_ptr<const GgufFile>> GgufFile::assemble(GgufParts parts, const GgufLimits& limits) {
  GgufWarnings warnings;
  auto header = parse_gguf_header(parts.header, limits, warnings);
  if (!header) return tl::unexpected(header.error().within(parts.name));
  PLM_CHECK(header->tensors.size() == parts.tensors.size());
  std::shared_ptr<GgufFile> file(new GgufFile());
  file->owned_header_ = std::move(parts.header);  // what the entries refer to stays where it is
  file->metadata_ = std::move(header->metadata);
  file->metadata_index_ = std::move(header->metadata_index);
  file->tensors_ = std::move(header->tensors);
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    GgufParts::Tensor& source = parts.tensors[i];
    TensorEntry& tensor = file->tensors_[i];
    PLM_CHECK(source.make != nullptr || source.bytes.size() == tensor.byte_count());
    tensor.bytes = source.bytes;
    tensor.make = std::move(source.make);
    tensor.part = tensor.make != nullptr ? 0 : static_cast<std::uint32_t>(source.file) + 1;
  }
  file->parts_.push_back({.name = std::move(parts.name),
                          .file = nullptr,
                          .bytes = file->owned_header_,
                          .header = std::span<const std::byte>(file->owned_header_).first(header->size),
                          .version = header->version,
                          .alignment = header->alignment});
  for (std::shared_ptr<const MappedFile>& map : parts.files) {
    GgufPart part{.name = map->path(), .file = nullptr, .bytes = map->bytes(), .header = {}};
    part.file = std::move(map);
    file->parts_.push_back(std::move(part));
  }
  file->warnings_ = std::move(parts.warnings);
  PLM_TRY(file->finish(limits));
  return file;
}

// One file, with neither its index of tensors nor the other parts.
Result<std::shared_ptr<GgufFile>> GgufFile::load(std::span<const std::byte> bytes, std::string name,
                                                 const GgufLimits& limits) {
  GgufWarnings warnings;
  auto header = parse_gguf_header(bytes, limits, warnings);
  if (!header) return tl::unexpected(header.error().within(name));
  if (auto placed = place_tensors(bytes, *header, warnings); !placed) {
    return tl::unexpected(placed.error().within(name));
  }
  std::shared_ptr<GgufFile> file(new GgufFile());
  for (const std::string& sentence : warnings.sentences()) file->warnings_.push_back(name + ": " + sentence);
  file->metadata_ = std::move(header->metadata);
  file->metadata_index_ = std::move(header->metadata_index);
  file->tensors_ = std::move(header->tensors);
  file->parts_.push_back({.name = std::move(name),
                          .file = nullptr,
                          .bytes = bytes,
                          .header = bytes.first(header->size),
                          .version = header->version,
                          .alignment = header->alignment});
  return file;
}

Result<std::shared_ptr<GgufFile>> GgufFile::map_and_load(const std::string& path, const GgufLimits& limits) {
  PLM_TRY_ASSIGN(auto map, MappedFile::open(path));
  PLM_TRY_ASSIGN(auto file, load(map->bytes(), path, limits));
  file->parts_.front().file = std::move(map);
  return file;
}

// This is the first part of `count`: finds the others by its name and takes in their tensors.
Result<void> GgufFile::join_parts(std::uint64_t count, const GgufLimits& limits) {
  if (count > limits.parts) {
    return fail(ErrorKind::bad_input, "{}: {} is {}, at most {} are read", path(), kPartCount, count, limits.parts);
  }
  PLM_TRY_ASSIGN(const auto number, unsigned_value(kPartNumber));
  const std::string suffix = part_suffix(number, count);
  if (!path().ends_with(suffix)) {
    return fail(ErrorKind::bad_input,
                "{}: {} is {} and {} is {}, so the name must end in {}; give the parts their names back", path(),
                kPartCount, count, kPartNumber, number, suffix);
  }
  const std::string stem = path().substr(0, path().size() - suffix.size());
  if (number != 0) {
    return fail(ErrorKind::bad_input, "{}: {} is {}: a later part of a split model; name the first one, {}", path(),
                kPartNumber, number, stem + part_suffix(0, count));
  }
  for (std::uint64_t i = 1; i < count; ++i) PLM_TRY(append_part(stem + part_suffix(i, count), i, limits));
  PLM_TRY_ASSIGN(const auto tensor_count, optional_unsigned("split.tensors.count"));
  if (tensor_count && *tensor_count != tensors_.size()) {
    return fail(ErrorKind::bad_input,
                "{}: split.tensors.count is {}, but the {} parts hold {} tensors; download them again", path(),
                *tensor_count, count, tensors_.size());
  }
  return {};
}

Result<void> GgufFile::append_part(const std::string& part_path, std::uint64_t number, const GgufLimits& limits) {
  auto loaded = map_and_load(part_path, limits);
  if (!loaded) return tl::unexpected(loaded.error().within(fmt::format("{}: part {}", path(), number + 1)));
  GgufFile& part = **loaded;
  for (const std::string_view key : {kPartCount, kPartNumber}) {
    PLM_TRY_ASSIGN(const auto found, part.unsigned_value(key));
    PLM_TRY_ASSIGN(const auto expected, key == kPartNumber ? number : unsigned_value(key));
    if (found != expected) {
      return fail(ErrorKind::bad_input, "{}: {} is {}, expected {}; the part belongs to another model", part_path, key,
                  found, expected);
    }
  }
  for (TensorEntry& tensor : part.tensors_) tensor.part = static_cast<std::uint32_t>(parts_.size());
  tensors_.insert(tensors_.end(), part.tensors_.begin(), part.tensors_.end());
  warnings_.insert(warnings_.end(), part.warnings_.begin(), part.warnings_.end());
  parts_.push_back(std::move(part.parts_.front()));
  return {};
}

// What is checked once all tensors are there.
Result<void> GgufFile::finish(const GgufLimits& limits) {
  if (tensors_.size() < limits.least_tensors)
    return fail(ErrorKind::bad_input, "{}: n_tensors is 0: no tensors; this is not a model", path());
  auto index = NameIndex<TensorEntry, &TensorEntry::name>::of(tensors_, "tensor");
  if (!index) return tl::unexpected(index.error().within(path()));
  tensor_index_ = *std::move(index);
  constexpr std::uint64_t kLastKnownFileType = 40, kGuessedFileType = 1024;
  if (const MetaValue* file_type = find("general.file_type")) {
    const auto number = file_type->as_unsigned();
    if (!number || (*number > kLastKnownFileType && *number != kGuessedFileType)) {
      warnings_.push_back(fmt::format("{}: general.file_type is {}, which names no known mixture of storage types",
                                      path(), file_type->described()));
    }
  }
  return {};
}

Result<TensorBytes> GgufFile::read(const TensorEntry& tensor) const {
  if (tensor.make == nullptr) return TensorBytes{tensor.bytes, nullptr};
  auto buffer = AlignedBuffer::allocate(tensor.byte_count());
  if (!buffer) return tl::unexpected(buffer.error().within(fmt::format("{}: tensor {}", path(), tensor.name)));
  const auto owner = std::make_shared<const AlignedBuffer>(*std::move(buffer));
  (*tensor.make)({owner->data(), owner->size()});
  return TensorBytes{owner->bytes(), owner};
}

void GgufFile::release(const TensorEntry& tensor) const {
  const GgufPart& part = parts_[tensor.part];
  if (part.file != nullptr) part.file->release(tensor.bytes);
}

Result<void> GgufFile::unchanged() const {
  for (const GgufPart& part : parts_) {
    if (part.file) PLM_TRY(part.file->unchanged());
  }
  return {};
}

const MetaValue* GgufFile::find(std::string_view key) const {
  const MetaEntry* entry = metadata_index_.find(metadata_, key);
  return entry == nullptr ? nullptr : &entry->value;
}

const TensorEntry* GgufFile::find_tensor(std::string_view name) const { return tensor_index_.find(tensors_, name); }

Result<std::optional<std::uint64_t>> GgufFile::optional_unsigned(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_unsigned, "an integer of at least 0");
}
Result<std::optional<double>> GgufFile::optional_real(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_real, "f32 or f64");
}
Result<std::optional<std::string_view>> GgufFile::optional_string(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_string, "a string");
}
Result<std::optional<bool>> GgufFile::optional_boolean(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_boolean, "a bool");
}
Result<std::optional<StringArray>> GgufFile::optional_string_array(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_strings, "an array of strings");
}
Result<std::optional<std::vector<float>>> GgufFile::optional_f32_array(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_reals, "an array of f32");
}
Result<std::optional<std::vector<std::int64_t>>> GgufFile::optional_integer_array(std::string_view key) const {
  return optional_value(*this, key, &MetaValue::as_integers, "an array of integers");
}

Result<std::uint64_t> GgufFile::unsigned_value(std::string_view key) const {
  return required_value(*this, key, optional_unsigned(key));
}
Result<double> GgufFile::real_value(std::string_view key) const {
  return required_value(*this, key, optional_real(key));
}
Result<std::string_view> GgufFile::string_value(std::string_view key) const {
  return required_value(*this, key, optional_string(key));
}
Result<bool> GgufFile::boolean_value(std::string_view key) const {
  return required_value(*this, key, optional_boolean(key));
}
Result<StringArray> GgufFile::string_array(std::string_view key) const {
  return required_value(*this, key, optional_string_array(key));
}
Result<std::vector<float>> GgufFile::f32_array(std::string_view key) const {
  return required_value(*this, key, optional_f32_array(key));
}
Result<std::vector<std::int64_t>> GgufFile::integer_array(std::string_view key) const {
  return required_value(*this, key, optional_integer_array(key));
}

}  // namespace plm
