#include "base/thread_team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace plm {
namespace {

TEST(ThreadTeam, EveryMemberRunsOnceARound) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadTeam team(size);
    EXPECT_EQ(team.size(), size);
    std::vector<int> runs(static_cast<std::size_t>(size));  // plain: `run` itself must order the accesses
    for (int round = 1; round <= 50; ++round) {
      team.run([&](int member) { ++runs[static_cast<std::size_t>(member)]; });
      for (const int count : runs) ASSERT_EQ(count, round);
    }
  }
}

TEST(ThreadTeam, TheCallerIsMemberZero) {
  ThreadTeam team(3);
  std::vector<std::thread::id> ids(3);
  team.run([&](int member) { ids[static_cast<std::size_t>(member)] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3U);
}

// After a barrier everyone sees what everyone wrote before it, without any other synchronisation.
TEST(ThreadTeam, BarrierSeparatesTheStages) {
  constexpr int kMembers = 4;
  constexpr int kStages = 100;
  ThreadTeam team(kMembers);
  std::vector<int> values(kMembers, 0);
  std::vector<int> mismatches(kMembers, 0);
  team.run([&](int member) {
    const auto m = static_cast<std::size_t>(member);
    for (int stage = 1; stage <= kStages; ++stage) {
      values[m] = stage;
      team.barrier();
      mismatches[m] += std::accumulate(values.begin(), values.end(), 0) != kMembers * stage;
      team.barrier();
    }
  });
  EXPECT_EQ(mismatches, std::vector<int>(kMembers, 0));
}

TEST(ThreadTeam, WakesAfterItFellAsleep) {
  ThreadTeam team(2);
  int sum = 0;
  std::vector<int> parts(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far longer than the members spin
    team.run([&](int member) { parts[static_cast<std::size_t>(member)] = member + 1; });
    sum += parts[0] + parts[1];
  }
  EXPECT_EQ(sum, 9);
}

TEST(ThreadTeam, TeamsLiveSideBySideAndIdleOnesEnd) {
  ThreadTeam idle(4);
  ThreadTeam outer(2);
  std::vector<int> sums(2);
  outer.run([&](int member) {
    ThreadTeam inner(2);
    std::vector<int> parts(2);
    inner.run([&](int part) { parts[static_cast<std::size_t>(part)] = part + 1; });
    sums[static_cast<std::size_t>(member)] = parts[0] + parts[1];
  });
  EXPECT_EQ(sums, (std::vector<int>{3, 3}));
}

TEST(ThreadTeam, SharesCoverEverythingOnceInOrder) {
  for (const std::size_t count : {0U, 1U, 5U, 64U, 1000U, 1001U}) {
    for (const int members : {1, 2, 3, 7, 64}) {
      for (const std::size_t grain : {1U, 8U, 32U}) {
        std::size_t next = 0;
        std::size_t most = 0;
        std::size_t least = count;
        for (int member = 0; member < members; ++member) {
          const Share share = share_of(count, member, members, grain);
          ASSERT_EQ(share.begin, next);
          ASSERT_LE(share.begin, share.end);
          ASSERT_TRUE(share.begin % grain == 0 || share.begin == count);
          next = share.end;
          most = std::max(most, share.end - share.begin);
          least = std::min(least, share.end - share.begin);
        }
        ASSERT_EQ(next, count) << members << " members, grain " << grain;
        ASSERT_LE(most - least, 2 * grain);
      }
    }
  }
}

TEST(ThreadTeam, CountsAtLeastOneCore) {
  EXPECT_GE(physical_core_count(), 1);
  EXPECT_LE(physical_core_count(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

// The processors that every member may run on.
std::vector<cpu_set_t> masks_of(ThreadTeam& team) {
  std::vector<cpu_set_t> masks(static_cast<std::size_t>(team.size()));
  team.run([&](int member) {
    cpu_set_t& mask = masks[static_cast<std::size_t>(member)];
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
  });
  return masks;
}

TEST(ThreadTeam, PinsItsOwnThreadsAndLeavesTheCallerAlone) {
  const ProcessorList processors = allowed_processors();
  ASSERT_GE(processors.numbers.size(), 1U);
  EXPECT_EQ(static_cast<int>(processors.cores), physical_core_count());
  const int size = std::min(static_cast<int>(processors.numbers.size()), ThreadTeam::kMostThreads);
  ThreadTeam team(size, true);
  const std::vector<cpu_set_t> masks = masks_of(team);
  EXPECT_EQ(CPU_COUNT(masks.data()), static_cast<int>(processors.numbers.size()));
  for (std::size_t member = 1; member < masks.size(); ++member) {
    EXPECT_EQ(CPU_COUNT(&masks[member]), 1);
    EXPECT_TRUE(CPU_ISSET(processors.numbers[member], &masks[member]));
  }
}

TEST(ThreadTeam, IsNotPinnedUnlessAskedOrWhenProcessorsAreTooFew) {
  const auto allowed = static_cast<int>(allowed_processors().numbers.size());
  ThreadTeam free_team(2), crowd(std::min(allowed + 1, ThreadTeam::kMostThreads), true);
  for (ThreadTeam* team : {&free_team, &crowd}) {
    for (const cpu_set_t& mask : masks_of(*team)) EXPECT_EQ(CPU_COUNT(&mask), allowed);
  }
}

}  // namespace
}  // namespace plm
