#include "text/detokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace plm {
namespace {

// How many bytes at the end of `text` may still become a character.
std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t count = std::min<std::size_t>(text.size(), 3); count > 0; --count) {
    if (utf8_is_incomplete(text.substr(text.size() - count))) return count;
  }
  return 0;
}

}  // namespace

Detokenizer::Detokenizer(const Vocabulary& vocabulary, const DetokenizeOptions& options)
    : vocabulary_(vocabulary), options_(options), drops_space_(options.whole_text && vocabulary.adds_space_prefix()) {}

std::string Detokenizer::push(TokenId id) {
  const std::size_t begin = pending_.size();
  const TokenType type = vocabulary_.type(id);
  if (type == TokenType::control || type == TokenType::unknown) {
    if (options_.show_special) pending_.append(vocabulary_.text(id));
  } else {
    vocabulary_.append_bytes(id, pending_);
    if (drops_space_ && pending_.size() > begin) {
      if (pending_[begin] == ' ') pending_.erase(begin, 1);
      drops_space_ = false;
    }
  }
  const std::size_t complete = pending_.size() - unfinished_bytes(pending_);
  std::string text = utf8_sanitized(std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return text;
}

std::string Detokenizer::finish() {
  drops_space_ = options_.whole_text && vocabulary_.adds_space_prefix();
  return utf8_sanitized(std::exchange(pending_, {}));
}

std::string detokenize(const Vocabulary& vocabulary, std::span<const TokenId> ids, const DetokenizeOptions& options) {
  Detokenizer detokenizer(vocabulary, options);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text += detokenizer.finish();
}

}  // namespace plm
