// Hashes for tables whose keys a stranger chooses: texts and pairs of ids from model files.
//
// A file could be built so that its keys collide and every look-up walks the whole table; therefore each table has a
// seed that no file can know (an address of this process). Results never depend on the seed, only the time does.
// Tested through tests/text/test_text_index.cpp and test_merge_table.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/short_text.h"

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
  const char* bytes = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = seed ^ left;
  if (left <= 8) return hash_mix(hash ^ short_word(bytes, left), kFactor);
  for (; left > 8; left -= 8, bytes += 8) hash = hash_mix(hash ^ word_at<std::uint64_t>(bytes), kFactor);
  return hash_mix(hash ^ word_at<std::uint64_t>(bytes + left - 8), kFactor);  // may overlap the word before
}

}  // namespace plm
