#include "text/piece_cache.h"

#include <algorithm>
#include <bit>

namespace plm {

PieceCache::PieceCache(const PieceModel& model, std::size_t text_bytes)
    : encoder_(model.encoder(text_bytes)),
      slots_(std::clamp<std::size_t>(std::bit_ceil(text_bytes / 8), 16, 16384)),
      seed_(hash_seed(slots_.data())) {}

void PieceCache::encode(std::string_view piece, Slot& slot, std::vector<TokenId>& ids) {
  const std::size_t begin = ids.size();
  encoder_->append(piece, ids);
  const std::size_t count = ids.size() - begin;
  if (count > kMaxIds) return;
  std::copy(piece.begin(), piece.end(), slot.text.begin());
  std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(begin), count, slot.ids.begin());
  slot.bytes = static_cast<std::uint8_t>(piece.size());
  slot.count = static_cast<std::uint8_t>(count);
}

}  // namespace plm
