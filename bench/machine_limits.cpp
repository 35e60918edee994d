#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine_limits.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "machine_limits.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using Int32Tag = hn::Repartition<std::int32_t, FloatTag>;

/// Reads `count` bytes, a multiple of 1024, and returns something that depends on all of them.
std::int32_t read_bytes(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t kStreams = 8, kPrefetchBytes = 4096;
  const Int32Tag d;
  const std::size_t vector_bytes = hn::Lanes(d) * sizeof(std::int32_t);
  hn::Vec<Int32Tag> sums[kStreams];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t at = 0; at < count; at += kStreams * vector_bytes) {
    for (std::size_t line = 0; line < kStreams * vector_bytes; line += 64) {
      hwy::Prefetch(bytes + at + line + kPrefetchBytes);
    }
    _Pragma("GCC unroll 8") for (std::size_t i = 0; i < kStreams; ++i) {
      const auto* place = reinterpret_cast<const std::int32_t*>(bytes + at + i * vector_bytes);
      sums[i] = hn::Xor(sums[i], hn::Load(d, place));
    }
  }
  for (std::size_t i = 1; i < kStreams; ++i) sums[0] = hn::Xor(sums[0], sums[i]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

/// Fused multiply-adds of float32; returns the operations done.
double multiply_add(std::size_t rounds) {
  constexpr std::size_t kChains = 12;  // independent sums: more than latency times pipes, and fewer than registers
  const FloatTag d;
  hn::Vec<FloatTag> sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const auto x = hn::Set(d, 0.999F), y = hn::Set(d, 0.1F);
  for (std::size_t round = 0; round < rounds; ++round) {
    _Pragma("GCC unroll 12") for (std::size_t i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], x, y);
  }
  volatile float result = 0;  // so that the sums are needed
  for (std::size_t i = 0; i < kChains; ++i) result = result + hn::GetLane(sums[i]);
  return 2.0 * static_cast<double>(rounds * kChains * hn::Lanes(d));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
namespace {

HWY_EXPORT(read_bytes);
HWY_EXPORT(multiply_add);

// The integer instructions are written in assembly: compilers move invariant products out of the loop, and sums into
// memory. Ten independent sums, registers 2 to 11, hide every latency.
#if defined(__x86_64__)
#define PLM_INSTRUCTION(FUNCTION, PRODUCTS, STEP)                                                                 \
  double FUNCTION(std::size_t rounds) {                                                                           \
    for (std::size_t round = 0; round < rounds; ++round) {                                                        \
      asm volatile(".irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n" STEP "\n.endr" ::                                   \
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                         "xmm11", "xmm12");                                                                       \
    }                                                                                                             \
    asm volatile("vzeroupper");                                                                                   \
    return 2.0 * 10 * (PRODUCTS) * static_cast<double>(rounds);                                                   \
  }
// Products of 16-bit pairs, added to 32-bit sums; products of four bytes likewise, in one instruction.
PLM_INSTRUCTION(multiply_pairs_256, 16, "vpmaddwd %%ymm0, %%ymm1, %%ymm12\n vpaddd %%ymm12, %%ymm\\n, %%ymm\\n")
PLM_INSTRUCTION(multiply_pairs_512, 32, "vpmaddwd %%zmm0, %%zmm1, %%zmm12\n vpaddd %%zmm12, %%zmm\\n, %%zmm\\n")
PLM_INSTRUCTION(multiply_quads_512, 64, "vpdpbusd %%zmm0, %%zmm1, %%zmm\\n")
#undef PLM_INSTRUCTION
#endif

constexpr std::size_t kRepeats = 9;
constexpr double kBytesPerRepeat = 1e9;

/// Runs `work` on all members of the team, several times; it returns the amount that one member has done.
Limit measure(Limit limit, ThreadTeam& team, const std::function<double(int member)>& work) {
  for (std::size_t repeat = 0; repeat <= kRepeats; ++repeat) {
    std::atomic<double> amount = 0;
    const Stopwatch watch;
    team.run([&](int member) { amount.fetch_add(work(member)); });
    if (repeat > 0) limit.values.push_back(amount.load() / watch.elapsed_ms() / 1e6);  // the first one warms up
  }
  std::sort(limit.values.begin(), limit.values.end());
  return limit;
}

std::atomic<std::int32_t> sink;  // what the work has computed, so that it must be done

struct Instruction {
  std::string name;
  double (*run)(std::size_t rounds);  // returns the operations done
};

/// Those that this machine has.
std::vector<Instruction> instructions() {
  std::vector<Instruction> all;
  all.push_back({"float32 fma", [](std::size_t rounds) { return HWY_DYNAMIC_DISPATCH(multiply_add)(rounds); }});
#if defined(__x86_64__)
  const bool is_wide = __builtin_cpu_supports("avx512bw");
  if (is_wide) all.push_back({"int16 maddwd", multiply_pairs_512});
  if (!is_wide && __builtin_cpu_supports("avx2")) all.push_back({"int16 maddwd", multiply_pairs_256});
  if (__builtin_cpu_supports("avx512vnni")) all.push_back({"int8 dpbusd", multiply_quads_512});
#endif
  return all;
}

}  // namespace

std::vector<Limit> limits_of_reading(double megabytes, std::span<ThreadTeam* const> teams) {
  constexpr std::size_t kGrain = 4096, kReadAhead = 4096;
  const auto bytes = static_cast<std::size_t>(megabytes * 1e6) / kGrain * kGrain;
  const auto buffer = AlignedBuffer::allocate(bytes + kReadAhead);
  if (!buffer.has_value()) return {};
  std::memset(buffer->data(), 1, buffer->size());  // before that all pages are one page of zeros
  const auto rounds = static_cast<std::size_t>(std::max(1.0, kBytesPerRepeat / static_cast<double>(bytes)));
  std::vector<Limit> limits;
  for (ThreadTeam* team : teams) {
    const auto work = [&](int member) {
      const Share share = share_of(bytes, member, team->size(), kGrain);
      for (std::size_t round = 0; round < rounds; ++round) {
        sink += HWY_DYNAMIC_DISPATCH(read_bytes)(buffer->data() + share.begin, share.end - share.begin);
      }
      return static_cast<double>(rounds * (share.end - share.begin));
    };
    limits.push_back(measure({"read", megabytes, team->size(), "GB/s", {}}, *team, work));
  }
  return limits;
}

std::vector<Limit> limits_of_instructions(ThreadTeam& team) {
  std::vector<Limit> limits;
  for (const Instruction& instruction : instructions()) {
    limits.push_back(measure({instruction.name, 0, team.size(), "GOP/s", {}}, team,
                             [&](int) { return instruction.run(10'000'000); }));
  }
  return limits;
}

}  // namespace plm
#endif
