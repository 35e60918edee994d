#include "model/gguf_export.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "format/gguf_output.h"
#include "model/storage_mixture.h"

namespace plm {
namespace {

constexpr std::size_t kSliceNumbers = 1U << 20;  // of one thread at a time: 4 MiB of float32
constexpr std::size_t kCopyBytes = 16U << 20;

// The file must not be written over while it is being read, by whatever name.
Result<void> check_target(const GgufFile& file, const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return {};
  for (const GgufPart& part : file.parts()) {
    if (!std::filesystem::equivalent(part.name, path, none)) continue;
    return fail(ErrorKind::usage, "{}: is the model that is being read; name another file to write to", path);
  }
  if (std::filesystem::is_regular_file(path, none)) return {};
  return fail(ErrorKind::usage, "{}: is a folder or a device; name a file to write to", path);
}

/// Repacks one tensor, slice by slice.
class Repacker {
 public:
  Repacker(const StorageType& from, const StorageType& to, std::size_t row, ThreadTeam& team)
      : from_(from), to_(to), row_(row), team_(team), numbers_(static_cast<std::size_t>(team.size())) {
    rows_at_a_time_ = std::max<std::size_t>(1, kSliceNumbers / row_);
    for (auto& numbers : numbers_) numbers.resize(row_);
  }

  [[nodiscard]] std::size_t slice_rows() const { return rows_at_a_time_ * numbers_.size(); }

  /// False when the rows hold something that is no number.
  bool repack(std::span<const std::byte> rows, std::span<std::byte> out) {
    const std::size_t from_bytes = from_.row_bytes(row_), to_bytes = to_.row_bytes(row_);
    const std::size_t count = rows.size() / from_bytes;
    std::atomic<bool> is_finite{true};
    team_.run([&](int member) {
      const Share share = share_of(count, member, team_.size());
      std::vector<float>& numbers = numbers_[static_cast<std::size_t>(member)];
      for (std::size_t row = share.begin; row < share.end; ++row) {
        const std::byte* blocks = rows.data() + row * from_bytes;
        if (!from_.is_finite(blocks, row_ / from_.block_size)) is_finite.store(false, std::memory_order_relaxed);
        from_.unpack(blocks, numbers.data(), row_ / from_.block_size);
        to_.pack(numbers.data(), out.data() + row * to_bytes, row_ / to_.block_size);
      }
    });
    return is_finite.load();
  }

 private:
  const StorageType& from_;
  const StorageType& to_;
  std::size_t row_;  // numbers in one
  ThreadTeam& team_;
  std::size_t rows_at_a_time_ = 1;           // of one thread
  std::vector<std::vector<float>> numbers_;  // one row a thread
};

class Exporter {
 public:
  Exporter(const GgufFile& file, const ExportOptions& options, ThreadTeam& team)
      : file_(file), options_(options), team_(team) {}

  Result<ExportSummary> run(GgufWriter keys, const std::string& path);

 private:
  Result<void> plan(GgufWriter& keys);
  Result<void> write(GgufOutput& output, const TensorEntry& tensor, const GgmlType& type);
  Result<void> repack(GgufOutput& output, const TensorEntry& tensor, std::span<const std::byte> bytes,
                      const GgmlType& type);
  Result<void> advance(std::uint64_t bytes);

  const GgufFile& file_;
  const ExportOptions& options_;
  ThreadTeam& team_;
  std::vector<const GgmlType*> types_;  // one a tensor
  ExportSummary summary_;
  std::uint64_t bytes_done_ = 0;
};

// Decides every type and whether it can be had, before anything is written.
Result<void> Exporter::plan(GgufWriter& keys) {
  std::optional<StorageMixture> mixture;
  if (options_.type != nullptr) {
    mixture.emplace(file_, *options_.type, options_.pure);
    keys.add_u32("general.file_type", mixture->file_type());
    keys.add_u32("general.quantization_version", 2);
  }
  for (const TensorEntry& tensor : file_.tensors()) {
    const GgmlType& type = mixture ? mixture->type_of(tensor) : *tensor.type;
    if (&type != tensor.type && find_storage_type(tensor.type->id) == nullptr) {
      return fail(ErrorKind::bad_input,
                  "{}: tensor {}: storage type {} cannot be unpacked here; start from a file of "
                  "more bits",
                  file_.path(), printable(tensor.name), tensor.type->name);
    }
    if (mixture && &type != tensor.type && tensor.dims[0] % options_.type->block_size != 0) ++summary_.fallbacks;
    keys.announce_tensor(tensor.name, type, tensor.shape());
    types_.push_back(&type);
    ++summary_.tensors_by_type[std::string(type.name)];
    summary_.bytes_read += tensor.byte_count();
    summary_.bytes_written += *storage_bytes(type, tensor.element_count());
  }
  return {};
}

Result<ExportSummary> Exporter::run(GgufWriter keys, const std::string& path) {
  PLM_TRY(check_target(file_, path));
  PLM_TRY(plan(keys));
  PLM_TRY_ASSIGN(GgufOutput output, GgufOutput::create(path, keys));
  for (std::size_t i = 0; i < types_.size(); ++i) PLM_TRY(write(output, file_.tensors()[i], *types_[i]));
  PLM_TRY(file_.unchanged());
  PLM_TRY(output.finish());
  return std::move(summary_);
}

Result<void> Exporter::write(GgufOutput& output, const TensorEntry& tensor, const GgmlType& type) {
  PLM_TRY_ASSIGN(const TensorBytes data, file_.read(tensor));
  if (&type != tensor.type) {
    PLM_TRY(repack(output, tensor, data.bytes, type));
  } else {
    for (std::size_t at = 0; at < data.bytes.size(); at += kCopyBytes) {
      const auto piece = data.bytes.subspan(at, std::min(kCopyBytes, data.bytes.size() - at));
      PLM_TRY(output.append(piece));
      PLM_TRY(advance(piece.size()));
    }
  }
  file_.release(tensor);
  return {};
}

Result<void> Exporter::repack(GgufOutput& output, const TensorEntry& tensor, std::span<const std::byte> bytes,
                              const GgmlType& type) {
  const StorageType& from = *find_storage_type(tensor.type->id);
  const StorageType& to = *find_storage_type(type.id);
  Repacker repacker(from, to, tensor.dims[0], team_);
  const std::size_t slice = repacker.slice_rows() * from.row_bytes(tensor.dims[0]);
  std::vector<std::byte> packed(repacker.slice_rows() * to.row_bytes(tensor.dims[0]));
  for (std::size_t at = 0; at < bytes.size(); at += slice) {
    const auto rows = bytes.subspan(at, std::min(slice, bytes.size() - at));
    const auto out =
        std::span(packed).first(rows.size() / from.row_bytes(tensor.dims[0]) * to.row_bytes(tensor.dims[0]));
    if (!repacker.repack(rows, out)) {
      return fail(ErrorKind::bad_input,
                  "{}: tensor {}: NaN or infinite numbers; the file is damaged, download it again", file_.path(),
                  printable(tensor.name));
    }
    PLM_TRY(output.append(out));
    PLM_TRY(advance(rows.size()));
  }
  return {};
}

Result<void> Exporter::advance(std::uint64_t bytes) {
  bytes_done_ += bytes;
  if (options_.on_progress) {
    options_.on_progress(static_cast<double>(bytes_done_) / static_cast<double>(summary_.bytes_read));
  }
  if (options_.interrupted && options_.interrupted()) {
    return fail(ErrorKind::interrupted, "{}: interrupted; nothing was written", file_.path());
  }
  return {};
}

}  // namespace

Result<ExportSummary> export_gguf(const GgufFile& file, GgufWriter keys, const std::string& path,
                                  const ExportOptions& options, ThreadTeam& team) {
  return Exporter(file, options, team).run(std::move(keys), path);
}

}  // namespace plm
