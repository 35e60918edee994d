// Remembers the ids of short pieces while one text is encoded: most words come again.
//
// Direct-mapped: two pieces that want one slot take turns. A slot is one line of the processor's cache and holds piece
// and ids themselves. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/piece_model.h"
#include "text/seeded_hash.h"
#include "text/short_text.h"

namespace plm {

class PieceCache {
 public:
  /// For a text of that many bytes. `model` must outlive it.
  PieceCache(const PieceModel& model, std::size_t text_bytes);

  /// Appends the ids of `piece`, not empty.
  void append(std::string_view piece, std::vector<TokenId>& ids) {
    if (piece.size() > kMaxBytes) return encoder_->append(piece, ids);
    Slot& slot = slots_[hash_text(piece, seed_) & (slots_.size() - 1)];
    if (slot.bytes == piece.size() && same_bytes(slot.text.data(), piece.data(), piece.size())) {
      ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
      return;
    }
    encode(piece, slot, ids);
  }

 private:
  static constexpr std::size_t kMaxBytes = 26, kMaxIds = 9;

  struct alignas(64) Slot {
    std::array<char, kMaxBytes> text{};
    std::uint8_t bytes = 0;  // 0: free
    std::uint8_t count = 0;
    std::array<TokenId, kMaxIds> ids{};
  };
  void encode(std::string_view piece, Slot& slot, std::vector<TokenId>& ids);

  std::unique_ptr<PieceEncoder> encoder_;
  std::vector<Slot> slots_;  // a power of two
  std::uint64_t seed_;
};

}  // namespace plm
