#include "text/huggingface_vocabulary.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "text/folder_settings.h"
#include "text/huggingface_pipeline.h"
#include "text/token_spelling.h"

namespace plm {
namespace {

// Whether the decoder takes away a space at the beginning of a text, which the encoder put there.
bool strips_first_space(const MapJson& decoder) {
  if (!decoder.is_object()) return false;
  const std::string type = decoder.value("type", MapJson()).is_string() ? decoder["type"].get<std::string>() : "";
  if (type == "Metaspace") {
    const auto scheme = decoder.find("prepend_scheme");
    if (scheme != decoder.end()) return *scheme != "never";
    return decoder.value("add_prefix_space", MapJson(true)) != false;
  }
  if (type == "Strip") return decoder.value("content", MapJson()) == " " && decoder.value("start", MapJson(0)) != 0;
  if (type == "WordPiece") return true;
  const auto members = decoder.find("decoders");
  return members != decoder.end() && members->is_array() &&
         std::any_of(members->begin(), members->end(), strips_first_space);
}

// Whether a part, or a member of a sequence of parts, is of this type.
bool has_part(const MapJson& part, std::string_view type) {
  if (!part.is_object()) return false;
  if (part.value("type", MapJson()) == type) return true;
  const auto members = part.find("pretokenizers");
  return members != part.end() && members->is_array() &&
         std::any_of(members->begin(), members->end(),
                     [type](const MapJson& member) { return has_part(member, type); });
}

class VocabularyWriter {
 public:
  VocabularyWriter(const HuggingfaceTokenizer& tokenizer, GgufWriter& out, std::vector<std::string>& warnings)
      : tokenizer_(tokenizer), out_(out), warnings_(warnings) {}

  Result<void> write(const HuggingfaceTexts& texts, std::size_t row_count) {
    PLM_TRY_ASSIGN(const FolderSettings settings,
                   FolderSettings::parse(texts.tokenizer_config_json, texts.special_tokens_map_json, texts.name));
    PLM_TRY(write_model());
    write_tokens(row_count);
    if (tokenizer_.kind == HuggingfaceModel::bpe) write_merges();
    if (tokenizer_.kind == HuggingfaceModel::unigram) PLM_TRY(write_normalizer());
    PLM_TRY(write_special_tokens(settings));
    if (!is_byte_level_) out_.add_boolean("tokenizer.ggml.add_space_prefix", strips_first_space(tokenizer_.decoder));
    if (const std::string text = settings.chat_template(); !text.empty()) {
      out_.add_string("tokenizer.chat_template", text);
    }
    return {};
  }

 private:
  Result<void> write_model() {
    PLM_TRY_ASSIGN(const HuggingfacePreTokenizer pre_tokenizer, load_pre_tokenizer(tokenizer_));
    is_byte_level_ = tokenizer_.kind == HuggingfaceModel::bpe && pre_tokenizer.uses_byte_alphabet;
    std::string_view model = "llama";
    if (is_byte_level_) model = "gpt2";
    if (tokenizer_.kind == HuggingfaceModel::unigram) model = "t5";
    if (tokenizer_.kind == HuggingfaceModel::word_piece) model = "bert";
    out_.add_string("tokenizer.ggml.model", model);
    std::string_view pre = "default";
    if (is_byte_level_) {
      const std::vector<std::string_view> expressions(pre_tokenizer.expressions.begin(),
                                                      pre_tokenizer.expressions.end());
      pre = find_pre_tokenizer_name(expressions);
      if (pre.empty()) {
        pre = "default";
        warnings_.push_back(
            fmt::format("{}: pre_tokenizer: no name in GGUF stands for it; other programs will cut "
                        "texts in another way",
                        tokenizer_.path));
      }
    }
    out_.add_string("tokenizer.ggml.pre", pre);
    return {};
  }

  void write_tokens(std::size_t row_count) {
    const std::size_t count = std::max(tokenizer_.tokens.size(), row_count);
    std::vector<std::int32_t> types(count, static_cast<std::int32_t>(TokenType::normal));
    std::vector<std::string> texts(count);
    std::vector<float> scores(count, 0.0F);
    const auto set_type = [&](std::size_t id, TokenType type) { types[id] = static_cast<std::int32_t>(type); };
    for (std::size_t id = 0; id < count; ++id) {
      const bool is_hole = id >= tokenizer_.tokens.size() || tokenizer_.tokens[id].text.empty();
      texts[id] = is_hole ? fmt::format("[PAD{}]", id) : tokenizer_.tokens[id].text;
      if (is_hole) {
        set_type(id, TokenType::unused);
        continue;
      }
      scores[id] = static_cast<float>(tokenizer_.tokens[id].score);
      if (tokenizer_.byte_fallback && byte_of_hex_token(texts[id])) set_type(id, TokenType::byte);
    }
    for (const AddedToken& token : tokenizer_.added) {
      set_type(static_cast<std::size_t>(token.id), token.is_control ? TokenType::control : TokenType::user_defined);
    }
    if (tokenizer_.unknown) set_type(static_cast<std::size_t>(*tokenizer_.unknown), TokenType::unknown);
    if (tokenizer_.kind == HuggingfaceModel::word_piece) mark_word_starts(types, texts);
    if (tokenizer_.kind == HuggingfaceModel::bpe && !is_byte_level_) score_by_merges(scores);

    const std::vector<std::string_view> views(texts.begin(), texts.end());
    out_.add_strings("tokenizer.ggml.tokens", views);
    out_.add_i32s("tokenizer.ggml.token_type", types);
    if (!is_byte_level_ && tokenizer_.kind != HuggingfaceModel::word_piece) {
      out_.add_f32s("tokenizer.ggml.scores", scores);
    }
  }

  // GGUF marks the tokens that begin a word, tokenizer.json those that continue one.
  void mark_word_starts(const std::vector<std::int32_t>& types, std::vector<std::string>& texts) const {
    for (std::size_t id = 0; id < texts.size(); ++id) {
      if (types[id] != static_cast<std::int32_t>(TokenType::normal)) continue;
      if (!tokenizer_.continuing_prefix.empty() && texts[id].starts_with(tokenizer_.continuing_prefix)) {
        texts[id].erase(0, tokenizer_.continuing_prefix.size());
      } else {
        texts[id].insert(0, kSpaceMark);
      }
    }
  }

  // Programs that merge by scores do as the list says when a token's score falls with the place of its first merge.
  void score_by_merges(std::vector<float>& scores) const {
    std::unordered_map<std::string_view, std::size_t> ids;
    for (std::size_t id = 0; id < tokenizer_.tokens.size(); ++id) ids.emplace(tokenizer_.tokens[id].text, id);
    std::vector<bool> seen(scores.size());
    for (std::size_t rank = 0; rank < tokenizer_.merges.size(); ++rank) {
      const auto& [left, right] = tokenizer_.merges[rank];
      const auto product = ids.find(left + right);
      if (product == ids.end() || seen[product->second]) continue;
      seen[product->second] = true;
      scores[product->second] = -static_cast<float>(rank + 1);
    }
  }

  void write_merges() {
    std::vector<std::string> lines;
    lines.reserve(tokenizer_.merges.size());
    for (const auto& [left, right] : tokenizer_.merges) lines.push_back(left + " " + right);
    const std::vector<std::string_view> views(lines.begin(), lines.end());
    out_.add_strings("tokenizer.ggml.merges", views);
  }

  // The character map of SentencePiece, and whether spaces in a row count as one.
  Result<void> write_normalizer() {
    bool merges_spaces = has_part(tokenizer_.pre_tokenizer, "WhitespaceSplit");
    PLM_TRY(for_each_normalizer(tokenizer_, [&](const std::string& type, const JsonField& part) -> Result<void> {
      const MapJson* pattern = part.find("pattern");
      const bool has_pattern = type == "Replace" && pattern != nullptr && pattern->is_object();
      if (has_pattern && pattern->value("Regex", MapJson()) == " {2,}") merges_spaces = true;
      if (type != "Precompiled") return {};
      PLM_TRY_ASSIGN(const std::string bytes, charsmap_bytes(part));
      if (!bytes.empty()) add_charsmap(bytes, out_);
      return {};
    }));
    out_.add_boolean("tokenizer.ggml.remove_extra_whitespaces", merges_spaces);
    return {};
  }

  Result<void> write_special_tokens(const FolderSettings& settings) {
    std::unordered_map<std::string_view, TokenId> ids;
    for (const auto& [key, name] : kFolderSpecialTokens) {
      auto id = tokenizer_.find(settings.text(key));
      if (name == "unknown" && !id) id = tokenizer_.unknown;
      if (id) ids.emplace(name, *id);
    }
    PLM_TRY_ASSIGN(const Surroundings around, load_surroundings(tokenizer_));
    const auto named = [&](std::string_view name, TokenId id) {
      const auto found = ids.find(name);
      return found != ids.end() && found->second == id;
    };
    const bool adds_bos = !around.before.empty();
    if (adds_bos && !named("bos", around.before.front()) && !named("cls", around.before.front())) {
      ids["bos"] = around.before.front();
    }
    if (adds_bos && named("cls", around.before.front())) ids["bos"] = around.before.front();
    const bool adds_eos = !around.after.empty() && named("eos", around.after.back());
    const bool adds_separator = !around.after.empty() && !adds_eos;
    if (adds_separator) ids["seperator"] = around.after.back();
    for (const auto& [key, name] : kFolderSpecialTokens) {
      const auto found = ids.find(name);
      if (found == ids.end()) continue;
      out_.add_u32(fmt::format("tokenizer.ggml.{}_token_id", name), static_cast<std::uint32_t>(found->second));
    }
    out_.add_boolean("tokenizer.ggml.add_bos_token", adds_bos);
    out_.add_boolean("tokenizer.ggml.add_eos_token", adds_eos);
    out_.add_boolean("tokenizer.ggml.add_sep_token", adds_separator);
    return {};
  }

  const HuggingfaceTokenizer& tokenizer_;
  GgufWriter& out_;
  std::vector<std::string>& warnings_;
  bool is_byte_level_ = false;
};

}  // namespace

bool has_huggingface_tokenizer(const GgufFile& file) { return file.find(kHuggingfaceTokenizerKey) != nullptr; }

Result<HuggingfaceTexts> huggingface_texts(const GgufFile& file) {
  HuggingfaceTexts texts{.name = file.path()};
  PLM_TRY_ASSIGN(texts.tokenizer_json, file.string_value(kHuggingfaceTokenizerKey));
  PLM_TRY_ASSIGN(const auto config, file.optional_string(kHuggingfaceConfigKey));
  PLM_TRY_ASSIGN(const auto map, file.optional_string(kHuggingfaceSpecialTokensKey));
  texts.tokenizer_config_json = config.value_or("");
  texts.special_tokens_map_json = map.value_or("");
  return texts;
}

Result<void> add_ggml_vocabulary(const HuggingfaceTokenizer& tokenizer, const HuggingfaceTexts& texts,
                                 std::size_t row_count, GgufWriter& out, std::vector<std::string>& warnings) {
  return VocabularyWriter(tokenizer, out, warnings).write(texts, row_count);
}

Result<HuggingfaceTokenizer> add_ggml_vocabulary(const GgufFile& file, GgufWriter& out,
                                                 std::vector<std::string>& warnings) {
  PLM_TRY_ASSIGN(const HuggingfaceTexts texts, huggingface_texts(file));
  PLM_TRY_ASSIGN(HuggingfaceTokenizer tokenizer, HuggingfaceTokenizer::parse(texts.tokenizer_json, texts.name));
  PLM_TRY_ASSIGN(const std::size_t row_count, embedding_rows(file));
  PLM_TRY(add_ggml_vocabulary(tokenizer, texts, row_count, out, warnings));
  keep_given_values(file, out);
  return tokenizer;
}

Result<std::shared_ptr<const GgufFile>> vocabulary_file(const GgufWriter& out, std::string name) {
  auto bytes = std::make_shared<const std::vector<std::byte>>(out.bytes());
  PLM_TRY_ASSIGN(auto file, GgufFile::parse(*bytes, std::move(name), {.least_tensors = 0}));
  const GgufFile* plain = file.get();
  return std::shared_ptr<const GgufFile>(plain, [bytes, file](const GgufFile*) {});
}

}  // namespace plm
