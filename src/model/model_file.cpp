#include "model/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace plm {

Result<ModelFile> ModelFile::open(std::shared_ptr<const GgufFile> file) {
  ModelFile model_file;
  PLM_TRY_ASSIGN(const std::string_view name, file->string_value("general.architecture"));
  if (name.empty()) {
    return fail(ErrorKind::bad_input, "{}: general.architecture: empty, expected the name of an architecture",
                file->path());
  }
  model_file.architecture_ = std::string(name);
  model_file.warnings_.assign(file->warnings().begin(), file->warnings().end());
  model_file.file_ = std::move(file);
  return model_file;
}

std::string ModelFile::full_key(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

tl::unexpected<Error> ModelFile::key_error(std::string_view key, std::string_view found, std::string_view rule) const {
  return fail(ErrorKind::bad_input, "{}: {} = {}: must be {}", path(), full_key(key), found, rule);
}

bool ModelFile::has_key(std::string_view key) const { return file_->find(full_key(key)) != nullptr; }

Result<std::size_t> ModelFile::integer(std::string_view key, IntegerRange range) const {
  PLM_TRY_ASSIGN(const std::uint64_t value, file_->unsigned_value(full_key(key)));
  if (value < range.min || value > range.max) {
    return key_error(
        key, fmt::format("{}", value),
        range.min == range.max ? fmt::format("{}", range.min) : fmt::format("between {} and {}", range.min, range.max));
  }
  return static_cast<std::size_t>(value);
}

Result<std::size_t> ModelFile::integer_or(std::string_view key, std::size_t otherwise, IntegerRange range) const {
  if (!has_key(key)) return otherwise;
  return integer(key, range);
}

Result<double> ModelFile::positive_real(std::string_view key, double highest) const {
  PLM_TRY_ASSIGN(const double value, file_->real_value(full_key(key)));
  if (!(value > 0 && value <= highest)) {
    return key_error(key, fmt::format("{}", value), fmt::format("above 0 and at most {}", highest));
  }
  return value;
}

Result<double> ModelFile::positive_real_or(std::string_view key, double otherwise, double highest) const {
  if (!has_key(key)) return otherwise;
  return positive_real(key, highest);
}

Result<std::string> ModelFile::text_or(std::string_view key, std::string_view otherwise) const {
  PLM_TRY_ASSIGN(const auto value, file_->optional_string(full_key(key)));
  return std::string(value.value_or(otherwise));
}

// "llama.embedding_length = 64, llama.rope.dimension_count = 64"; empty when none does.
std::string ModelFile::keys_that_say(std::uint64_t value) const {
  std::string keys;
  for (const MetaEntry& entry : file_->metadata()) {
    if (!entry.key.starts_with(architecture_ + ".") || entry.value.as_unsigned() != value) continue;
    keys += fmt::format("{}{} = {}", keys.empty() ? "" : ", ", entry.key, value);
  }
  return keys;
}

tl::unexpected<Error> ModelFile::shape_error(const TensorEntry& entry, MatrixSize expected) const {
  const bool is_vector = expected.outputs == 1;
  const std::string shape =
      is_vector ? fmt::format("{}", expected.inputs) : fmt::format("{}, {}", expected.inputs, expected.outputs);
  std::string keys = keys_that_say(entry.dims[0] != expected.inputs ? expected.inputs : expected.outputs);
  if (keys.empty()) keys = "the hyper-parameters";
  return fail(ErrorKind::bad_input, "{}: tensor {}: shape [{}], expected [{}] by {}", path(), entry.name,
              fmt::join(entry.shape(), ", "), shape, keys);
}

Result<ModelFile::Tensor> ModelFile::tensor(const std::string& name, MatrixSize size) {
  const TensorEntry* entry = file_->find_tensor(name);
  if (entry == nullptr) {
    return fail(ErrorKind::bad_input,
                "{}: tensor {}: missing; the file is incomplete or of another architecture than {}", path(), name,
                architecture_);
  }
  used_.insert(name);
  const bool fits =
      entry->dims[0] == size.inputs && entry->dims[1] == size.outputs && entry->dims[2] == 1 && entry->dims[3] == 1;
  if (!fits) return shape_error(*entry, size);
  const StorageType* type = find_storage_type(entry->type->id);
  if (type == nullptr) {
    std::string known;
    for (const StorageType* usable : storage_types()) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", usable->name());
    }
    return fail(ErrorKind::bad_input, "{}: tensor {}: storage type {} cannot be used here; this version reads {}",
                path(), name, entry->type->name, known);
  }
  return Tensor{entry, type};
}

void ModelFile::set_progress(std::function<void(double fraction)> progress) {
  progress_ = std::move(progress);
  all_bytes_ = 0;
  for (const TensorEntry& entry : file_->tensors()) all_bytes_ += entry.byte_count();
}

void ModelFile::tell_taken(const TensorEntry& entry) {
  file_->release(entry);
  if (!progress_ || !taken_.insert(std::string(entry.name)).second) return;
  bytes_taken_ += entry.byte_count();
  progress_(static_cast<double>(bytes_taken_) / static_cast<double>(all_bytes_));
}

std::size_t ModelFile::layers_in_file() const {
  constexpr std::string_view kPrefix = "blk.";
  std::size_t count = 0;
  for (const TensorEntry& entry : file_->tensors()) {
    if (!entry.name.starts_with(kPrefix)) continue;
    const std::string_view rest = entry.name.substr(kPrefix.size());
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (code == std::errc() && end != rest.data() + rest.size() && *end == '.') count = std::max(count, index + 1);
  }
  return count;
}

void ModelFile::warn_about_unused_tensors() {
  constexpr std::size_t kMostNamed = 8;  // a file may have a million of them
  std::size_t unused = 0;
  for (const TensorEntry& entry : file_->tensors()) {
    if (used_.contains(std::string(entry.name)) || ++unused > kMostNamed) continue;
    warn(fmt::format("{}: tensor {}: not used by architecture {}; ignored", path(), printable(entry.name, 80),
                     architecture_));
  }
  if (unused > kMostNamed) {
    warn(fmt::format("{}: {} more tensors are not used by architecture {}; ignored", path(), unused - kMostNamed,
                     architecture_));
  }
}

std::size_t ModelFile::parameter_count() const {
  std::size_t count = 0;
  for (const TensorEntry& entry : file_->tensors()) count += entry.element_count();
  return count;
}

}  // namespace plm
