#include "engine/constraint_store.h"

#include <algorithm>
#include <utility>

namespace plm {

Result<ConstraintStore::Entry> ConstraintStore::compiled(const ConstraintSource& source) {
  const auto found = std::ranges::find(kept_, source, &Entry::source);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  if (trie_ == nullptr) trie_ = TokenTrie::of(tokenizer_->vocabulary());
  const Vocabulary& vocabulary = tokenizer_->vocabulary();
  const NamedTokens tokens{.find = [&](std::string_view text) { return vocabulary.find(text); },
                           .count = vocabulary.size()};
  Entry entry{.source = source, .constraint = nullptr, .warnings = {}};
  const auto named = [](const Error& error) { return error.within("constraint"); };
  PLM_TRY_ASSIGN(Grammar grammar, grammar_of(source, tokens, entry.warnings).map_error(named));
  PLM_TRY_ASSIGN(entry.constraint, TokenConstraint::create(std::move(grammar), trie_).map_error(named));
  kept_.push_front(std::move(entry));
  if (kept_.size() > kMostKept) kept_.pop_back();
  return kept_.front();
}

std::function<std::vector<TokenId>(std::string_view)> ConstraintStore::speller() const {
  // With a space put in front of every text the tokens of a part are not those of the part within a text.
  if (tokenizer_->vocabulary().kind().kind != TokenizerKind::byte_bpe) return {};
  return [tokenizer = tokenizer_](std::string_view text) {
    auto tokens = tokenizer->encode(text, {.add_special = false, .parse_special = false});
    if (!tokens.has_value()) return std::vector<TokenId>{};
    std::string spelled;
    for (const TokenId token : *tokens) tokenizer->vocabulary().append_bytes(token, spelled);
    return spelled == text ? *std::move(tokens) : std::vector<TokenId>{};  // normalised: not what must come
  };
}

}  // namespace plm
