// What this machine can do at most, to judge figures by: bytes read per second at several sizes (decoding reads every
// weight once a token), and operations per second of the instructions that the kernels are made of (prefill).
//
//     bench_limits [--json] [MEGABYTES...]
//
// A figure is the median of several repeats, with the least and the greatest; the greatest is what an idle machine
// gives. How it is measured is in machine_limits.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_team.h"
#include "machine_limits.h"

namespace plm {
namespace {

void print(const Limit& limit, bool as_json, bool is_first) {
  const double median = limit.values[limit.values.size() / 2];
  if (as_json) {
    fmt::print(
        "{}{{\"what\": \"{}\", \"megabytes\": {}, \"threads\": {}, \"unit\": \"{}\", \"median\": {:.2f}, "
        "\"min\": {:.2f}, \"max\": {:.2f}}}",
        is_first ? "" : ",\n", limit.what, limit.megabytes, limit.threads, limit.unit, median, limit.values.front(),
        limit.values.back());
  } else {
    const std::string size = limit.megabytes > 0 ? fmt::format("{} MB", limit.megabytes) : "";
    fmt::print("{:<22}{:>10}{:>9}{:>10.1f}{:>10.1f}{:>10.1f}  {}\n", limit.what, size, limit.threads, median,
               limit.values.front(), limit.values.back(), limit.unit);
  }
  std::fflush(stdout);
}

int run(bool as_json, const std::vector<double>& sizes) {
  std::vector<std::unique_ptr<ThreadTeam>> owned;
  std::vector<ThreadTeam*> teams;
  const int cores = physical_core_count();
  for (int threads = 1;; threads = std::min(2 * threads, cores)) {
    teams.push_back(owned.emplace_back(std::make_unique<ThreadTeam>(threads)).get());
    if (threads == cores) break;
  }
  bool is_first = true;
  const auto show = [&](const Limit& limit) { print(limit, as_json, std::exchange(is_first, false)); };
  if (as_json) fmt::print("[");
  if (!as_json) fmt::print("{:<22}{:>10}{:>9}{:>10}{:>10}{:>10}\n", "limit", "size", "threads", "median", "min", "max");
  for (const double megabytes : sizes) {
    const std::vector<Limit> limits = limits_of_reading(megabytes, teams);
    if (limits.empty()) std::fputs("bench_limits: not enough memory for one of the sizes\n", stderr);
    for (const Limit& limit : limits) show(limit);
  }
  for (ThreadTeam* team : teams) {
    for (const Limit& limit : limits_of_instructions(*team)) show(limit);
  }
  if (as_json) fmt::print("]\n");
  return 0;
}

}  // namespace
}  // namespace plm

int main(int argc, char** argv) {
  bool as_json = false;
  std::vector<double> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const double megabytes = std::atof(argv[i]);
    if (word == "--json") {
      as_json = true;
    } else if (megabytes >= 0.1 && megabytes <= 1e6) {
      sizes.push_back(megabytes);
    } else {
      fmt::print(stderr, "usage: bench_limits [--json] [MEGABYTES...]\n");
      return 2;
    }
  }
  if (sizes.empty()) sizes = {1, 16, 50, 100, 250, 1000};
  return plm::run(as_json, sizes);
}
