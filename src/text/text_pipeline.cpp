#include "text/text_pipeline.h"

namespace plm {

Result<void> TextPipeline::encode(std::string_view normal, bool begins_text, PieceCache& cache,
                                  std::vector<TokenId>& ids) const {
  const auto append = [&](std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t part = parts_.model->first_part(piece);
      cache.append(piece.substr(0, part), ids);
      piece.remove_prefix(part);
    }
  };
  if (const WordScanner scan = parts_.pre_tokenizer.scanner()) {
    for (std::size_t at = 0; at < normal.size();) {
      const std::size_t end = scan(normal, at);
      append(normal.substr(at, end - at));
      at = end;
    }
    return {};
  }
  Pieces pieces(normal, begins_text);
  PLM_TRY(parts_.pre_tokenizer.cut(pieces));
  for (const std::string_view piece : pieces.list()) append(piece);
  return {};
}

}  // namespace plm
