#include "text/huggingface_pipeline.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/token_spelling.h"
#include "text/unicode_class.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace plm {
namespace {

constexpr std::string_view kGpt2Words =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";

// What the library means by \w+|[^\w\s]+ (PCRE2 leaves marks out of \w).
constexpr const char* kWords = R"re([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+|[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\s]+)re";

Result<Pattern> compile(const JsonField& field, std::string_view expression) {
  auto pattern = Pattern::compile(expression);
  if (!pattern) return field.bad("{}", pattern.error().message);
  return pattern;
}

// "pattern": {"String": ...} or {"Regex": ...}
struct SearchedText {
  std::string text;
  bool is_expression = false;
};
Result<SearchedText> searched_text(const JsonField& field) {
  const MapJson* pattern = field.find("pattern");
  if (pattern != nullptr && pattern->is_object()) {
    for (const char* key : {"String", "Regex"}) {
      const auto found = pattern->find(key);
      if (found != pattern->end() && found->is_string()) {
        return SearchedText{found->get<std::string>(), std::string_view(key) == "Regex"};
      }
    }
  }
  return field.bad("pattern is missing, expected {{\"String\": ...}} or {{\"Regex\": ...}}");
}

// Calls `add` for the part itself, or for each member of a Sequence, however nested.
template <typename Add>
Result<void> for_each_part(const JsonField& field, const char* members, Add add) {
  PLM_TRY_ASSIGN(const std::string type, field.text("type"));
  if (type != "Sequence") return add(type, field);
  PLM_TRY_ASSIGN(const MapJson* list, field.array(members));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonField member{field.path, fmt::format("{}.{}[{}]", field.field, members, i), (*list)[i]};
    PLM_TRY(for_each_part(member, members, add));
  }
  return {};
}

Result<NormalizerStep> replace_step(const JsonField& field) {
  PLM_TRY_ASSIGN(SearchedText searched, searched_text(field));
  PLM_TRY_ASSIGN(std::string content, field.text("content"));
  if (!searched.is_expression) return replace_text_step(std::move(searched.text), std::move(content));
  PLM_TRY_ASSIGN(Pattern pattern, compile(field, searched.text));
  return replace_pattern_step(std::move(pattern), std::move(content));
}

Result<NormalizerStep> precompiled_step(const JsonField& field) {
  PLM_TRY_ASSIGN(std::string bytes, charsmap_bytes(field));
  auto map = Charsmap::parse(std::move(bytes));
  if (!map) return field.bad("precompiled_charsmap: {}", map.error().message);
  return charsmap_step(std::make_shared<const Charsmap>(*std::move(map)), true);
}

Result<NormalizerStep> bert_step_of(const JsonField& field) {
  BertNormalization rules;
  PLM_TRY_ASSIGN(rules.cleans, field.flag_or("clean_text", true));
  PLM_TRY_ASSIGN(rules.spaces_chinese, field.flag_or("handle_chinese_chars", true));
  PLM_TRY_ASSIGN(rules.lower_case, field.flag_or("lowercase", true));
  PLM_TRY_ASSIGN(rules.strips_accents, field.flag_or("strip_accents", rules.lower_case));
  return bert_step(rules);
}

Result<NormalizerStep> normalizer_step(const std::string& type, const JsonField& field) {
  if (type == "NFC") return unicode_form_step(UnicodeForm::nfc);
  if (type == "NFD") return unicode_form_step(UnicodeForm::nfd);
  if (type == "NFKC") return unicode_form_step(UnicodeForm::nfkc);
  if (type == "NFKD") return unicode_form_step(UnicodeForm::nfkd);
  if (type == "Lowercase") return lower_case_step();
  if (type == "StripAccents") return strip_marks_step();
  if (type == "Nmt") return nmt_step();
  if (type == "ByteLevel") return byte_alphabet_step();
  if (type == "Replace") return replace_step(field);
  if (type == "Precompiled") return precompiled_step(field);
  if (type == "BertNormalizer") return bert_step_of(field);
  if (type == "Prepend") {
    PLM_TRY_ASSIGN(std::string prefix, field.text("prepend"));
    return prepend_text_step(std::move(prefix));
  }
  if (type == "Strip") {
    PLM_TRY_ASSIGN(const bool left, field.flag_or("strip_left", true));
    PLM_TRY_ASSIGN(const bool right, field.flag_or("strip_right", true));
    return strip_spaces_step(left, right);
  }
  return field.bad("type '{}' is not implemented", printable(type));
}

Result<SplitBehavior> behavior_of(const JsonField& field) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous},
  };
  PLM_TRY_ASSIGN(const std::string name, field.text_or("behavior", "Isolated"));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return field.bad("behavior '{}', expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
                   printable(name));
}

// Rewrites every piece; `rewrite(piece, is_first_of_text)`.
template <typename Rewrite>
void rewrite_pieces(Pieces& pieces, Rewrite rewrite) {
  std::vector<std::string_view> list;
  list.reserve(pieces.list().size());
  bool first = pieces.begins_text();
  for (const std::string_view piece : pieces.list()) {
    list.push_back(pieces.keep(rewrite(piece, first)));
    first = false;
  }
  pieces.replace(std::move(list), pieces.begins_text());
}

PreTokenizerStep split_step(SplitFinder find, SplitBehavior behavior, bool invert) {
  return [find = std::move(find), behavior, invert](Pieces& pieces) { return split(pieces, find, behavior, invert); };
}

void spell_in_byte_alphabet(Pieces& pieces) {
  rewrite_pieces(pieces, [](std::string_view piece, bool) {
    std::string spelled;
    append_in_byte_alphabet(piece, spelled);
    return spelled;
  });
}

enum class PrependScheme { always, first, never };

// Collects the steps; bytes are spelled in the alphabet only when another step looks at them afterwards.
class PreTokenizerBuilder {
 public:
  Result<void> add(const std::string& type, const JsonField& field) {
    if (type == "Split") return add_split(field);
    if (type == "ByteLevel") return add_byte_level(field);
    if (type == "Metaspace") return add_metaspace(field);
    if (type == "Digits") return add_digits(field);
    if (type == "Punctuation") {
      PLM_TRY_ASSIGN(const SplitBehavior behavior, behavior_of(field));
      return add_step(split_step(find_characters(is_bert_punctuation), behavior, false));
    }
    if (type == "Whitespace") return add_expression(field, kWords, SplitBehavior::removed, true);
    if (type == "WhitespaceSplit") {
      return add_step(split_step(find_characters(is_white_space), SplitBehavior::removed, false));
    }
    if (type == "BertPreTokenizer") {
      PLM_TRY(add_step(split_step(find_characters(is_white_space), SplitBehavior::removed, false)));
      return add_step(split_step(find_characters(is_bert_punctuation), SplitBehavior::isolated, false));
    }
    if (type == "CharDelimiterSplit") {
      PLM_TRY_ASSIGN(std::string delimiter, field.text("delimiter"));
      return add_step(split_step(find_text(std::move(delimiter)), SplitBehavior::removed, false));
    }
    return field.bad("type '{}' is not implemented", printable(type));
  }

  Result<HuggingfacePreTokenizer> finish() && {
    out_.spells_bytes = owes_alphabet_;
    if (!only_expressions_) {
      out_.expressions.clear();
      return std::move(out_);
    }
    const std::vector<std::string_view> expressions(out_.expressions.begin(), out_.expressions.end());
    PLM_TRY_ASSIGN(out_.steps, PreTokenizer::compile(expressions));
    return std::move(out_);
  }

 private:
  Result<void> add_step(PreTokenizerStep step) {
    only_expressions_ = false;
    pay_alphabet();
    out_.steps.add(std::move(step));
    return {};
  }

  void pay_alphabet() {
    if (!std::exchange(owes_alphabet_, false)) return;
    only_expressions_ = false;
    out_.steps.add([](Pieces& pieces) -> Result<void> {
      spell_in_byte_alphabet(pieces);
      return {};
    });
  }

  Result<void> add_expression(const JsonField& field, const std::string& expression, SplitBehavior behavior,
                              bool invert) {
    PLM_TRY_ASSIGN(Pattern pattern, compile(field, expression));
    pay_alphabet();
    // What lies between the matches is cut off as well, so inverting changes nothing here.
    if (behavior == SplitBehavior::isolated) {
      out_.expressions.push_back(expression);
    } else {
      only_expressions_ = false;
    }
    auto shared = std::make_shared<const Pattern>(std::move(pattern));
    out_.steps.add(split_step(find_pattern(std::move(shared)), behavior, invert));
    return {};
  }

  Result<void> add_split(const JsonField& field) {
    PLM_TRY_ASSIGN(SearchedText searched, searched_text(field));
    PLM_TRY_ASSIGN(const SplitBehavior behavior, behavior_of(field));
    PLM_TRY_ASSIGN(const bool invert, field.flag_or("invert", false));
    if (searched.is_expression) return add_expression(field, searched.text, behavior, invert);
    return add_step(split_step(find_text(std::move(searched.text)), behavior, invert));
  }

  Result<void> add_digits(const JsonField& field) {
    PLM_TRY_ASSIGN(const bool individual, field.flag_or("individual_digits", false));
    if (individual) return add_expression(field, R"re(\p{N})re", SplitBehavior::isolated, false);
    return add_step(split_step(find_characters(is_number), SplitBehavior::contiguous, false));
  }

  Result<void> add_byte_level(const JsonField& field) {
    PLM_TRY_ASSIGN(const bool adds_space, field.flag_or("add_prefix_space", true));
    PLM_TRY_ASSIGN(const bool uses_expression, field.flag_or("use_regex", true));
    if (adds_space) {
      PLM_TRY(add_step([](Pieces& pieces) -> Result<void> {
        rewrite_pieces(pieces, [](std::string_view piece, bool) {
          return (piece.starts_with(' ') ? std::string() : " ") + std::string(piece);
        });
        return {};
      }));
    }
    if (uses_expression) {
      PLM_TRY(add_expression(field, std::string(kGpt2Words), SplitBehavior::isolated, false));
    }
    pay_alphabet();
    owes_alphabet_ = out_.uses_byte_alphabet = true;
    return {};
  }

  Result<void> add_metaspace(const JsonField& field) {
    PLM_TRY_ASSIGN(const std::string mark, field.text_or("replacement", kSpaceMark));
    PLM_TRY_ASSIGN(const bool adds_space, field.flag_or("add_prefix_space", true));  // the older name
    PLM_TRY_ASSIGN(const std::string name, field.text_or("prepend_scheme", adds_space ? "always" : "never"));
    PLM_TRY_ASSIGN(const bool splits, field.flag_or("split", true));
    if (name != "always" && name != "first" && name != "never") {
      return field.bad("prepend_scheme '{}', expected always, first or never", printable(name));
    }
    const PrependScheme scheme = name == "always"  ? PrependScheme::always
                                 : name == "first" ? PrependScheme::first
                                                   : PrependScheme::never;
    PLM_TRY(add_step([mark, scheme](Pieces& pieces) -> Result<void> {
      rewrite_pieces(pieces, [&](std::string_view piece, bool is_first) {
        std::string marked;
        for (const char c : piece) {
          if (c == ' ') {
            marked += mark;
          } else {
            marked.push_back(c);
          }
        }
        const bool prepends = scheme == PrependScheme::always || (scheme == PrependScheme::first && is_first);
        return prepends && !marked.starts_with(mark) ? mark + marked : marked;
      });
      return {};
    }));
    return splits ? add_step(split_step(find_text(mark), SplitBehavior::merged_with_next, false)) : Result<void>();
  }

  HuggingfacePreTokenizer out_;
  bool only_expressions_ = true;
  bool owes_alphabet_ = false;  // the pieces are bytes that the next step wants to see in the byte alphabet
};

Result<void> add_template(const HuggingfaceTokenizer& tokenizer, const JsonField& field, Surroundings& around) {
  PLM_TRY_ASSIGN(const MapJson* single, field.array("single"));
  bool before = true;
  std::vector<TokenId> first, last;
  for (const MapJson& piece : *single) {
    if (piece.is_object() && piece.contains("Sequence")) {
      before = false;
      continue;
    }
    const auto special = piece.is_object() ? piece.find("SpecialToken") : piece.end();
    if (special == piece.end() || !special->is_object()) return field.bad("single: expected Sequence or SpecialToken");
    const JsonField token{field.path, field.field + ".single", *special};
    PLM_TRY_ASSIGN(const std::string text, token.text("id"));
    const auto id = tokenizer.find(text);
    if (!id) return field.bad("single: '{}' is no token", printable(text));
    (before ? first : last).push_back(*id);
  }
  around.before.insert(around.before.begin(), first.begin(), first.end());
  around.after.insert(around.after.end(), last.begin(), last.end());
  return {};
}

// "pair": what stands between the texts A and B, and the type of B. A tokeniser that has none joins single ones.
Result<void> add_pair_template(const HuggingfaceTokenizer& tokenizer, const JsonField& field, Surroundings& around) {
  const MapJson* pair = field.find("pair");
  std::vector<TokenId> between;
  std::size_t texts = 0;
  for (const MapJson& piece : pair != nullptr && pair->is_array() ? *pair : MapJson::array()) {
    const bool is_text = piece.is_object() && piece.contains("Sequence");
    const auto part = piece.is_object() ? piece.find(is_text ? "Sequence" : "SpecialToken") : piece.end();
    if (part == piece.end() || !part->is_object()) return field.bad("pair: expected Sequence or SpecialToken");
    const JsonField named{field.path, field.field + ".pair", *part};
    PLM_TRY_ASSIGN(const std::string text, named.text("id"));
    if (is_text) {
      if (text != (texts == 0 ? "A" : "B") || ++texts > 2) return field.bad("pair: expected the sequences A, B");
      const auto type = part->find("type_id");
      if (texts == 2) around.second_type = type != part->end() && *type == 1;
    } else if (texts == 1) {
      const auto id = tokenizer.find(text);
      if (!id) return field.bad("pair: '{}' is no token", printable(text));
      between.push_back(*id);
    }
  }
  if (texts == 2) around.between = std::move(between);
  return {};
}

Result<void> add_templates(const HuggingfaceTokenizer& tokenizer, const JsonField& field, Surroundings& around) {
  PLM_TRY(add_template(tokenizer, field, around));
  return add_pair_template(tokenizer, field, around);
}

// "cls": ["[CLS]", 101]
Result<TokenId> named_token(const HuggingfaceTokenizer& tokenizer, const JsonField& field, const char* key) {
  const MapJson* pair = field.find(key);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string()) {
    return field.bad("{} is missing, expected [token, id]", key);
  }
  const auto id = tokenizer.find((*pair)[0].get<std::string>());
  if (!id) return field.bad("{}: '{}' is no token", key, printable((*pair)[0].get<std::string>()));
  return *id;
}

Result<std::unique_ptr<PieceModel>> load_model(const HuggingfaceTokenizer& tokenizer, const Vocabulary& vocabulary,
                                               bool spells_bytes, std::vector<std::string>& warnings) {
  switch (tokenizer.kind) {
    case HuggingfaceModel::bpe: {
      const BpeRules rules{.starts_as_characters = !spells_bytes,
                           .whole_pieces = tokenizer.whole_pieces,
                           .byte_fallback = tokenizer.byte_fallback,
                           .fuses_unknown = tokenizer.fuses_unknown,
                           .unknown = tokenizer.unknown};
      return Bpe::load(vocabulary, rules, warnings);
    }
    case HuggingfaceModel::unigram:
      return std::make_unique<Unigram>(
          vocabulary, UnigramRules{.byte_fallback = tokenizer.byte_fallback, .unknown = tokenizer.unknown});
    case HuggingfaceModel::word_piece:
      return std::make_unique<WordPiece>(
          vocabulary,
          WordPieceRules{.max_word_characters = tokenizer.max_word_characters, .unknown = tokenizer.unknown});
  }
  return nullptr;
}

}  // namespace

Result<void> for_each_normalizer(const HuggingfaceTokenizer& tokenizer, const HuggingfacePartUse& use) {
  if (tokenizer.normalizer.is_null()) return {};
  return for_each_part({tokenizer.path, "normalizer", tokenizer.normalizer}, "normalizers", use);
}

Result<std::string> charsmap_bytes(const JsonField& precompiled) {
  PLM_TRY_ASSIGN(const std::string encoded, precompiled.text_or("precompiled_charsmap", ""));
  auto bytes = base64_decode(encoded);
  if (!bytes) return precompiled.bad("precompiled_charsmap is no base64");
  return *std::move(bytes);
}

Result<Normalizer> load_normalizer(const HuggingfaceTokenizer& tokenizer) {
  Normalizer normalizer;
  PLM_TRY(for_each_normalizer(tokenizer, [&](const std::string& type, const JsonField& part) -> Result<void> {
    PLM_TRY_ASSIGN(NormalizerStep step, normalizer_step(type, part));
    normalizer.add(std::move(step));
    return {};
  }));
  return normalizer;
}

Result<HuggingfacePreTokenizer> load_pre_tokenizer(const HuggingfaceTokenizer& tokenizer) {
  PreTokenizerBuilder builder;
  if (!tokenizer.pre_tokenizer.is_null()) {
    const JsonField field{tokenizer.path, "pre_tokenizer", tokenizer.pre_tokenizer};
    PLM_TRY(for_each_part(field, "pretokenizers",
                          [&](const std::string& type, const JsonField& part) { return builder.add(type, part); }));
  }
  return std::move(builder).finish();
}

Result<std::unique_ptr<const TextPipeline>> load_huggingface_pipeline(const HuggingfaceTokenizer& tokenizer,
                                                                      const Vocabulary& vocabulary,
                                                                      std::vector<std::string>& warnings) {
  TextPipeline::Parts parts;
  PLM_TRY_ASSIGN(parts.normalizer, load_normalizer(tokenizer));
  PLM_TRY_ASSIGN(HuggingfacePreTokenizer pre_tokenizer, load_pre_tokenizer(tokenizer));
  parts.pre_tokenizer = std::move(pre_tokenizer.steps);
  PLM_TRY_ASSIGN(parts.model, load_model(tokenizer, vocabulary, pre_tokenizer.spells_bytes, warnings));
  return std::make_unique<const TextPipeline>(std::move(parts));
}

Result<Surroundings> load_surroundings(const HuggingfaceTokenizer& tokenizer) {
  Surroundings around;
  if (tokenizer.post_processor.is_null()) return around;
  const JsonField field{tokenizer.path, "post_processor", tokenizer.post_processor};
  PLM_TRY(for_each_part(field, "processors", [&](const std::string& type, const JsonField& part) -> Result<void> {
    if (type == "ByteLevel") return {};  // only moves offsets
    if (type == "TemplateProcessing") return add_templates(tokenizer, part, around);
    if (type != "BertProcessing" && type != "RobertaProcessing") {
      return part.bad("type '{}' is not implemented", printable(type));
    }
    PLM_TRY_ASSIGN(const TokenId first, named_token(tokenizer, part, "cls"));
    PLM_TRY_ASSIGN(const TokenId last, named_token(tokenizer, part, "sep"));
    around.before.insert(around.before.begin(), first);
    around.after.push_back(last);
    around.between.assign(type == "RobertaProcessing" ? 2 : 1, last);
    around.second_type = type == "BertProcessing";
    return {};
  }));
  return around;
}

}  // namespace plm
