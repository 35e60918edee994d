// Hashes for tables whose keys a stranger chooses: texts and pairs of ids from model files.
//
// A file could be built so that its keys collide and every look-up walks the whole table; therefore each table has a
// seed that no file can know (an address of this process). Results never depend on the seed, only the time does.
// Tested through tests/text/test_text_index.cpp and test_merge_table.cpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace plm {

/// The two halves of the 128-bit product folded together: every input bit reaches every output bit.
[[nodiscard]] inline std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A seed that differs between processes and tables: the address of something that the table allocated.
[[nodiscard]] inline std::uint64_t hash_seed(const void* address) {
  return hash_mix(reinterpret_cast<std::uintptr_t>(address) ^ 0x9E3779B97F4A7C15U, 0xD6E8FEB86659FD93U);
}

[[nodiscard]] inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kFactor = 0xA0761D6478BD642FU;
  std::uint64_t hash = seed ^ text.size();
  std::uint64_t word = 0;
  while (text.size() > sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = hash_mix(hash ^ word, kFactor);
    text.remove_prefix(sizeof word);
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  return hash_mix(hash ^ word, kFactor);
}

}  // namespace plm
