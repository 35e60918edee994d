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

std::string ModelFile::full_key(std::string_view key) const {
  std::string full = fmt::format("{}.{}", architecture_, key);
  asked_.insert(full);
  return full;
}

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

Result<double> ModelFile::share_or(std::string_view key, double otherwise) const {
  if (!has_key(key)) return otherwise;
  PLM_TRY_ASSIGN(const double value, file_->real_value(full_key(key)));
  if (!(value >= 0 && value <= 1)) return key_error(key, fmt::format("{}", value), "between 0 and 1");
  return value;
}

Result<bool> ModelFile::boolean_or(std::string_view key, bool otherwise) const {
  PLM_TRY_ASSIGN(const auto value, file_->optional_boolean(full_key(key)));
  return value.value_or(otherwise);
}

bool ModelFile::is_array(std::string_view key) const {
  const MetaValue* value = file_->find(full_key(key));
  return value != nullptr && value->is_array();
}

Result<std::vector<bool>> ModelFile::booleans(std::string_view key, std::size_t count) const {
  const MetaValue* value = file_->find(full_key(key));
  if (value == nullptr || value->element_type() != GgufType::boolean || value->count() != count) {
    return key_error(key, value == nullptr ? "nothing" : value->described(), fmt::format("{} truth values", count));
  }
  std::vector<bool> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value->bytes()[i] != std::byte{0};
  return values;
}

Result<std::vector<std::size_t>> ModelFile::integers(std::string_view key, std::size_t count,
                                                     IntegerRange range) const {
  const MetaValue* value = file_->find(full_key(key));
  const auto numbers = value == nullptr ? std::nullopt : value->as_integers();
  if (!numbers.has_value() || numbers->size() != count) {
    return key_error(key, value == nullptr ? "nothing" : value->described(), fmt::format("{} integers", count));
  }
  std::vector<std::size_t> values;
  for (const std::int64_t number : *numbers) {
    const auto size = static_cast<std::uint64_t>(number);
    if (number < 0 || size < range.min || size > range.max) {
      return key_error(key, fmt::format("{} among others", number),
                       fmt::format("integers between {} and {}", range.min, range.max));
    }
    values.push_back(static_cast<std::size_t>(size));
  }
  return values;
}

Result<std::string> ModelFile::text_or(std::string_view key, std::string_view otherwise) const {
  PLM_TRY_ASSIGN(const auto value, file_->optional_string(full_key(key)));
  return std::string(value.value_or(otherwise));
}

Result<std::vector<std::string>> ModelFile::texts_or_none(std::string_view key) const {
  const MetaValue* value = file_->find(full_key(key));
  if (value == nullptr) return std::vector<std::string>();
  const auto strings = value->as_strings();
  if (!strings) return key_error(key, value->described(), "an array of strings");
  return std::vector<std::string>(strings->begin(), strings->end());
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
  const bool is_vector = expected.outputs == 1 && expected.count == 1;
  std::string shape =
      is_vector ? fmt::format("{}", expected.inputs) : fmt::format("{}, {}", expected.inputs, expected.outputs);
  if (expected.count > 1) shape += fmt::format(", {}", expected.count);
  std::string keys = keys_that_say(entry.dims[0] != expected.inputs    ? expected.inputs
                                   : entry.dims[1] != expected.outputs ? expected.outputs
                                                                       : expected.count);
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
  const bool fits = entry->dims[0] == size.inputs && entry->dims[1] == size.outputs && entry->dims[2] == size.count &&
                    entry->dims[3] == 1;
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

namespace {

// Whether a tensor has a name that networks of text give their own; other names (of an image encoder, of notes) do not
// change what this one computes.
bool is_of_a_network(std::string_view name) {
  for (const std::string_view part : {"blk.", "output", "token_", "position_", "rope_", "cls", "per_layer_"}) {
    if (name.starts_with(part)) return true;
  }
  return false;
}

// Whether a key (without the architecture's prefix) says how to compute, rather than what the model is called or how
// its file was made.
bool changes_the_result(std::string_view key, const MetaValue& value) {
  if (key.starts_with("rope.scaling.")) return false;  // the type says which of them count
  const bool is_nothing = value.as_unsigned() == 0U || value.as_real() == 0.0 || value.as_boolean() == false;
  if (is_nothing) return false;
  for (const std::string_view group : {"attention.", "rope.", "expert", "ssm."}) {
    if (key.starts_with(group)) return true;
  }
  for (const std::string_view part : {"softcap", "scale", "residual"}) {
    if (key.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Result<void> ModelFile::refuse_unread() const {
  std::size_t count = 0;
  const TensorEntry* first = nullptr;
  for (const TensorEntry& entry : file_->tensors()) {
    if (!is_of_a_network(entry.name) || used_.contains(std::string(entry.name))) continue;
    if (++count == 1) first = &entry;
  }
  if (first != nullptr) {
    return fail(
        ErrorKind::bad_input,
        "{}: tensor {}{}: not part of architecture {} as this version knows it; the file holds a variant, which "
        "would be computed wrongly",
        path(), printable(first->name, 80), count > 1 ? fmt::format(" (and {} more)", count - 1) : "", architecture_);
  }
  const std::string prefix = architecture_ + ".";
  for (const auto& set : file_->overrides()) {
    if (!set->key.starts_with(prefix) || asked_.contains(set->key)) continue;
    return fail(ErrorKind::usage, "override {}: architecture {} reads no such key in this file",
                printable(set->key, 80), architecture_);
  }
  for (const MetaEntry& entry : file_->metadata()) {
    if (!entry.key.starts_with(prefix) || asked_.contains(std::string(entry.key))) continue;
    if (!changes_the_result(entry.key.substr(prefix.size()), entry.value)) continue;
    return fail(ErrorKind::bad_input,
                "{}: {} = {}: not known for architecture {} in this version; the file holds a variant, which would be "
                "computed wrongly",
                path(), printable(entry.key, 80), entry.value.described(), architecture_);
  }
  return {};
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
