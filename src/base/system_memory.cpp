#include "base/system_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace plm {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  while (file >> name) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    std::getline(file, name);
  }
  return kUnknown;
}

std::uint64_t number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : kUnknown;  // "max" is no number
}

// Of the control group at the root of what this process sees (version 2): limit less use.
std::uint64_t available_in_group() {
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  return limit - std::min(limit, used);
}

}  // namespace

std::uint64_t available_memory_bytes() { return std::min(available_on_machine(), available_in_group()); }

std::string memory_size(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes) : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace plm
