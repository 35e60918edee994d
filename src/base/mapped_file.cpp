#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace plm {
namespace {

// What the signal handler may look at: fixed storage, written before the range is published.
struct GuardedRange {
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<const std::byte*> end{nullptr};
  std::array<char, 512> path{};
};
constexpr int kGuardSlots = 64;
std::array<GuardedRange, kGuardSlots> guarded_ranges;
std::array<std::atomic_flag, kGuardSlots> slot_taken{};

std::int64_t modified_ns(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// Only async-signal-safe calls from here on.
void write_text(const char* text) { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text)); }

void on_bus_error(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  for (const GuardedRange& range : guarded_ranges) {
    const std::byte* begin = range.begin.load(std::memory_order_acquire);
    if (begin != nullptr && address >= begin && address < range.end.load(std::memory_order_relaxed)) {
      write_text("error: ");
      write_text(range.path.data());
      write_text(": the file was truncated while in use; restore it and start again\n");
      _exit(static_cast<int>(ErrorKind::model_changed));
    }
  }
  signal(SIGBUS, SIG_DFL);
  raise(SIGBUS);
}

int take_guard_slot(const std::string& path, std::span<const std::byte> bytes) {
  for (int slot = 0; slot < kGuardSlots; ++slot) {
    if (slot_taken[slot].test_and_set()) continue;
    GuardedRange& range = guarded_ranges[slot];
    const std::size_t length = std::min(path.size(), range.path.size() - 1);
    memcpy(range.path.data(), path.data(), length);
    range.path[length] = '\0';
    range.end.store(bytes.data() + bytes.size(), std::memory_order_relaxed);
    range.begin.store(bytes.data(), std::memory_order_release);
    return slot;
  }
  return -1;  // more maps than slots: the map works, only the message would be less kind
}

Result<void> check_is_regular(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::bad_input, "{}: is a directory, expected a file; name the file inside it", path);
  }
  if (S_ISFIFO(status.st_mode)) {
    return fail(ErrorKind::bad_input, "{}: is a pipe, expected a file that can be mapped; save it to disk first", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::bad_input, "{}: is a device or socket, expected a regular file", path);
  }
  if (status.st_size == 0) return fail(ErrorKind::bad_input, "{}: is empty (0 bytes); download it again", path);
  return {};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor_ < 0) {
    if (errno == ENOENT) return fail(ErrorKind::bad_input, "{}: no such file; check the path", path);
    return fail(ErrorKind::bad_input, "{}: cannot be opened: {}", path, std::strerror(errno));
  }
  struct stat status {};
  if (fstat(file->descriptor_, &status) != 0) {
    return fail(ErrorKind::bad_input, "{}: cannot be examined: {}", path, std::strerror(errno));
  }
  PLM_TRY(check_is_regular(path, status));
  file->size_ = static_cast<std::size_t>(status.st_size);
  file->modified_ns_ = modified_ns(status);
  void* map = mmap(nullptr, file->size_, PROT_READ, MAP_SHARED, file->descriptor_, 0);
  if (map == MAP_FAILED) {
    return fail(ErrorKind::bad_input, "{}: cannot be mapped ({} bytes): {}", path, file->size_, std::strerror(errno));
  }
  file->data_ = static_cast<const std::byte*>(map);
  file->guard_slot_ = take_guard_slot(path, file->bytes());
  return file;
}

MappedFile::~MappedFile() {
  if (guard_slot_ >= 0) {
    guarded_ranges[guard_slot_].begin.store(nullptr, std::memory_order_release);
    slot_taken[guard_slot_].clear();
  }
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> MappedFile::unchanged() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) {
    return fail(ErrorKind::model_changed, "{}: cannot be examined any more: {}", path_, std::strerror(errno));
  }
  if (static_cast<std::size_t>(status.st_size) != size_) {
    return fail(ErrorKind::model_changed,
                "{}: the file changed while in use: {} bytes now, {} when opened; start again", path_, status.st_size,
                size_);
  }
  if (modified_ns(status) != modified_ns_) {
    return fail(ErrorKind::model_changed, "{}: the file was written to while in use; start again", path_);
  }
  // Another file under the same name. One that was only removed is still whole for us.
  struct stat named {};
  if (stat(path_.c_str(), &named) == 0 && (named.st_ino != status.st_ino || named.st_dev != status.st_dev)) {
    return fail(ErrorKind::model_changed, "{}: the file was replaced while in use; start again", path_);
  }
  return {};
}

void MappedFile::expect_sequential_read() const { madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED); }

void MappedFile::release(std::span<const std::byte> bytes) const {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void install_map_guard() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace plm
