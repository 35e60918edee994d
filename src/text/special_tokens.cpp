#include "text/special_tokens.h"

#include <algorithm>
#include <string>

namespace plm {
namespace {

struct Row {
  SpecialToken purpose;
  std::array<std::string_view, 2> keys;   // under "tokenizer.ggml."; the second is an older name
  std::array<std::string_view, 8> texts;  // how to find it in a file that does not name it, best first
};

constexpr Row kRows[kSpecialTokenCount] = {
    {SpecialToken::bos, {"bos_token_id"}, {}},
    {SpecialToken::eos, {"eos_token_id"}, {}},
    {SpecialToken::eot,
     {"eot_token_id"},
     {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<end_of_utterance>", "[EOT]", "<EOT>", "_<EOT>"}},
    {SpecialToken::eom, {"eom_token_id"}, {"<|eom_id|>"}},
    {SpecialToken::unknown, {"unknown_token_id"}, {}},
    {SpecialToken::separator, {"seperator_token_id"}, {}},  // the format spells it so
    {SpecialToken::padding, {"padding_token_id"}, {}},
    {SpecialToken::mask, {"mask_token_id"}, {}},
    {SpecialToken::classify, {"cls_token_id"}, {}},
    {SpecialToken::fim_prefix,
     {"fim_pre_token_id", "prefix_token_id"},
     {"<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<｜fim▁begin｜>", "▁<PRE>", "<PRE>", "<|code_prefix|>"}},
    {SpecialToken::fim_suffix,
     {"fim_suf_token_id", "suffix_token_id"},
     {"<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>", "<｜fim▁hole｜>", "▁<SUF>", "<SUF>", "<|code_suffix|>"}},
    {SpecialToken::fim_middle,
     {"fim_mid_token_id", "middle_token_id"},
     {"<|fim_middle|>", "<fim_middle>", "<fim-middle>", "<｜fim▁end｜>", "▁<MID>", "<MID>", "<|code_middle|>"}},
    {SpecialToken::fim_padding, {"fim_pad_token_id"}, {"<|fim_pad|>", "<fim_pad>", "<fim-pad>"}},
    {SpecialToken::fim_repository,
     {"fim_rep_token_id"},
     {"<|fim_repo|>", "<|repo_name|>", "<repo_name>", "<fim-repo>", "<REPO>", "<reponame>"}},
    {SpecialToken::fim_separator, {"fim_sep_token_id"}, {"<|file_sep|>", "<file_sep>"}},
};

// Purposes that end generation, and texts of further tokens that do.
constexpr SpecialToken kEndingPurposes[] = {SpecialToken::eos,
                                            SpecialToken::eot,
                                            SpecialToken::eom,
                                            SpecialToken::fim_padding,
                                            SpecialToken::fim_repository,
                                            SpecialToken::fim_separator};
constexpr std::string_view kEndingTexts[] = {
    "<|eot_id|>",         "<|im_end|>",           "<|end|>", "<|return|>", "<|call|>",
    "<end_of_turn>",      "<|eom_id|>",           "[EOT]",   "<EOT>",      "_<EOT>",
    "<|endoftext|>",      "<|end_of_text|>",      "<turn|>", "<|calls|>",  "<|flush|>",
    "<end_of_utterance>", "<｜end▁of▁sentence｜>"};

// A marker found by its text; an ordinary token that happens to read like one is none.
std::optional<TokenId> find_marker(std::string_view text, const TextIndex& texts, std::span<const TokenType> types) {
  const auto number = text.empty() ? std::nullopt : texts.find(text);
  if (!number || types[*number] == TokenType::normal) return std::nullopt;
  return static_cast<TokenId>(*number);
}

Result<std::optional<TokenId>> read_id(const GgufFile& file, std::string_view name, std::size_t vocabulary_size) {
  const std::string key = fmt::format("tokenizer.ggml.{}", name);
  PLM_TRY_ASSIGN(const auto id, file.optional_unsigned(key));
  if (!id) return std::optional<TokenId>();
  if (*id >= vocabulary_size) {
    return fail(ErrorKind::bad_input, "{}: {}: {} is outside the vocabulary of {} tokens; convert the model again",
                file.path(), key, *id, vocabulary_size);
  }
  return std::optional<TokenId>(static_cast<TokenId>(*id));
}

// Checkpoints may name several tokens that end a text; the key is ours (model/checkpoint.cpp writes it).
Result<void> add_listed_ends(const GgufFile& file, std::size_t vocabulary_size, std::vector<TokenId>& ending) {
  constexpr std::string_view kKey = "tokenizer.ggml.eos_token_ids";
  PLM_TRY_ASSIGN(const auto ids, file.optional_integer_array(kKey));
  for (const std::int64_t id : ids.value_or(std::vector<std::int64_t>())) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= vocabulary_size) {
      return fail(ErrorKind::bad_input, "{}: {}: {} is outside the vocabulary of {} tokens; convert the model again",
                  file.path(), kKey, id, vocabulary_size);
    }
    ending.push_back(static_cast<TokenId>(id));
  }
  return {};
}

}  // namespace

Result<SpecialTokens> SpecialTokens::load(const GgufFile& file, const TextIndex& texts,
                                          std::span<const TokenType> types) {
  SpecialTokens tokens;
  for (const Row& row : kRows) {
    auto& id = tokens.ids_[static_cast<std::size_t>(row.purpose)];
    for (const std::string_view key : row.keys) {
      if (key.empty()) continue;
      PLM_TRY_ASSIGN(const auto named, read_id(file, key, types.size()));
      if (!id) id = named;
    }
    for (const std::string_view text : row.texts) {
      if (!id) id = find_marker(text, texts, types);
    }
  }

  // Encoders name what begins a text after its use.
  auto& bos = tokens.ids_[static_cast<std::size_t>(SpecialToken::bos)];
  if (!bos) bos = tokens.find(SpecialToken::classify);

  auto& ending = tokens.end_of_generation_;
  for (const SpecialToken purpose : kEndingPurposes) {
    if (const auto id = tokens.find(purpose)) ending.push_back(*id);
  }
  PLM_TRY(add_listed_ends(file, types.size(), ending));
  for (const std::string_view text : kEndingTexts) {
    if (const auto id = find_marker(text, texts, types)) ending.push_back(*id);
  }
  // In the "harmony" format <|end|> only ends one message of several; its answers end with <|return|> or <|call|>.
  if (find_marker("<|return|>", texts, types) && find_marker("<|call|>", texts, types)) {
    std::erase(ending, find_marker("<|end|>", texts, types).value_or(kNoToken));
  }
  std::sort(ending.begin(), ending.end());
  ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
  return tokens;
}

}  // namespace plm
