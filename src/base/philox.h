// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A number is a pure function of where it is used; there is no generator to share, so neither the order of work nor the
// batch can change a draw (DESIGN section 4). Key: the seed. Counter: (candidate index, cell, draw number, purpose).
// Tested by tests/base/test_philox.cpp against the published known answers.
#pragma once

#include <array>
#include <cstdint>

namespace plm {

/// What a draw is for; two purposes never share a number.
enum class Purpose : std::uint32_t { token = 0, gate = 1, position = 2, noise = 3 };

/// The place of a draw. Equal places give equal numbers.
struct DrawPlace {
  std::uint64_t seed = 0;
  std::uint32_t candidate = 0;  ///< index of the alternative answer (best of n, --parallel)
  std::uint32_t cell = 0;       ///< position in the text, in tokens from its start
  std::uint32_t draw = 0;       ///< number of the draw at this place
  Purpose purpose = Purpose::token;
};

/// The raw function: ten rounds over a 128-bit counter with a 64-bit key.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                                std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// A uniform number in [0, 1) with 53 bits.
[[nodiscard]] constexpr double uniform(const DrawPlace& place) {
  const auto words = philox4x32({place.candidate, place.cell, place.draw, static_cast<std::uint32_t>(place.purpose)},
                                {static_cast<std::uint32_t>(place.seed), static_cast<std::uint32_t>(place.seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace plm
