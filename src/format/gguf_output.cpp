#include "format/gguf_output.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/checked.h"

namespace plm {
namespace {

tl::unexpected<Error> write_failure(const std::string& path, int reason) {
  const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return fail(is_full ? ErrorKind::no_room : ErrorKind::failed, "{}: cannot be written: {}", path,
              std::strerror(reason));
}

// Refuses before the first byte what the disk cannot hold. A file system that does not say how much is free passes.
Result<void> check_room(const std::string& path, std::uint64_t needed) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct statvfs disk {};
  if (statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return {};
  const auto available = checked_multiply(disk.f_bavail, disk.f_frsize);
  if (!available || disk.f_blocks == 0 || *available >= needed) return {};
  return fail(ErrorKind::no_room, "{}: takes {} bytes, the disk has {} free; make room or choose another folder", path,
              needed, *available);
}

}  // namespace

Result<GgufOutput> GgufOutput::create(const std::string& path, const GgufWriter& contents) {
  GgufOutput output(path);
  const std::vector<std::byte> header = contents.header();
  output.alignment_ = contents.alignment();
  output.sizes_ = contents.tensor_sizes();
  std::uint64_t total = header.size();
  for (const std::uint64_t size : output.sizes_) total += *checked_round_up(size, output.alignment_);
  PLM_TRY(check_room(path, total));
  output.temporary_ = fmt::format("{}.{}.partial", path, getpid());
  output.descriptor_ = ::open(output.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (output.descriptor_ < 0) {
    return fail(ErrorKind::failed, "{}: cannot be created: {}", output.temporary_, std::strerror(errno));
  }
  PLM_TRY(output.write(header));
  return output;
}

GgufOutput::GgufOutput(GgufOutput&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      alignment_(other.alignment_),
      sizes_(std::move(other.sizes_)),
      tensor_(other.tensor_),
      written_(other.written_) {}

GgufOutput::~GgufOutput() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  unlink(temporary_.c_str());
}

Result<void> GgufOutput::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return write_failure(path_, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> GgufOutput::pad() {
  const std::vector<std::byte> zeros(*checked_round_up(written_, alignment_) - written_);
  written_ = 0;
  ++tensor_;
  return write(zeros);
}

Result<void> GgufOutput::append(std::span<const std::byte> bytes) {
  PLM_CHECK(tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - written_);
  PLM_TRY(write(bytes));
  written_ += bytes.size();
  return written_ == sizes_[tensor_] ? pad() : Result<void>();
}

Result<void> GgufOutput::finish() {
  PLM_CHECK(tensor_ == sizes_.size());
  if (fsync(descriptor_) != 0) return write_failure(path_, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return write_failure(path_, errno);
  ::close(std::exchange(descriptor_, -1));
  return {};
}

}  // namespace plm
