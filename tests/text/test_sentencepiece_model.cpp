#include "text/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

namespace fs = std::filesystem;

// Fields of a message in the wire format.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(std::uint32_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string real(std::uint32_t field, float value) {
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &value, 4);
  return varint(field << 3 | 5) + raw;
}
std::string piece(std::string_view text, float score, int type = 1) {
  std::string message = bytes(1, text) + real(2, score);
  if (type != 1) message += number(3, static_cast<std::uint64_t>(type));
  return bytes(1, message);
}

const std::string kPieces = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("▁", -3) +
                            piece("a", -4) + piece("b", -5) + piece("▁a", -1);
const std::string kBpe = bytes(2, number(3, 2));

// What errors say of a model.
std::string refused(std::string_view model) {
  const auto parsed = SentencePieceModel::parse(model, "f");
  EXPECT_FALSE(parsed.has_value());
  if (parsed.has_value()) return {};
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  return parsed.error().message;
}

std::shared_ptr<const Tokenizer> load(std::string_view model, std::string_view config = "") {
  GgufWriter writer;
  writer.add_string(kSentencePieceKey, model);
  if (!config.empty()) writer.add_string(kHuggingfaceConfigKey, config);
  return Tokenizer::load(file_of(writer)).value();
}

TEST(SentencePieceModel, HoldsWhatTheFileSays) {
  const auto model = SentencePieceModel::parse(
      kPieces + bytes(2, number(3, 2) + number(41, 2) + number(43, static_cast<std::uint64_t>(-1))) +
          bytes(3, bytes(2, "map") + number(3, 0) + number(4, 0)) + bytes(4, "tests of its own are passed over"),
      "f");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 7U);
  EXPECT_EQ(model->pieces[6].text, "▁a");
  EXPECT_EQ(model->pieces[6].score, -1.0F);
  EXPECT_EQ(model->pieces[1].type, TokenType::control);
  EXPECT_FALSE(model->is_unigram || model->prepends_space || model->merges_spaces);
  EXPECT_EQ(model->charsmap, "map");
  EXPECT_EQ(model->bos, 2);
  EXPECT_EQ(model->padding, -1);
}

TEST(SentencePieceModel, DamageNamesTheField) {
  EXPECT_EQ(refused(""), "f: pieces: there are none; is this a SentencePiece model?");
  EXPECT_EQ(refused("\x0A\x7F"), "f: field of 127 bytes at byte 2, where 0 are left; the file is truncated or damaged");
  EXPECT_EQ(refused(number(1, 3)), "f: field 1: expected a message");
  EXPECT_EQ(refused(piece("a", 0, 7)), "f: pieces[0]: type 7, expected 1 to 6");
  EXPECT_EQ(refused(kPieces + piece("a", std::nanf(""))), "f: pieces[7]: the score is not a number");
  EXPECT_EQ(refused(bytes(1, number(1, 1))), "f: pieces[0]: field 1 is of another type than it should");
  EXPECT_EQ(refused(piece(std::string(5000, 'x'), 0)), "f: pieces[0]: 5000 bytes, expected at most 4096");
  EXPECT_EQ(refused(kPieces + bytes(2, number(42, 7))),
            "f: trainer_spec.eos_id: 7 is outside the vocabulary of 7 pieces");
  EXPECT_EQ(refused(kPieces + bytes(2, number(3, 3))),
            "f: trainer_spec.model_type: 3, expected 1 (unigram) or 2 (BPE)");
  EXPECT_EQ(refused(kPieces + bytes(2, number(24, 1))), "f: trainer_spec.treat_whitespace_as_suffix: not implemented");
  EXPECT_EQ(refused(kPieces + bytes(3, number(5, 0))),
            "f: normalizer_spec.escape_whitespaces: false is not implemented");
  const SentencePieceLimits few{.pieces = 6};
  EXPECT_EQ(SentencePieceModel::parse(kPieces, "f", few).error().message, "f: pieces: more than 6");
}

TEST(SentencePieceModel, BecomesATokeniser) {
  const auto tokenizer = load(kPieces + kBpe);
  EXPECT_EQ(tokenizer->vocabulary().kind().kind, TokenizerKind::sentencepiece_bpe);
  EXPECT_EQ(tokenizer->encode("a  ab").value(), (Ids{1, 6, 6, 5})) << "spaces are merged, as the library does";
  EXPECT_EQ(tokenizer->encode("aé", {.add_special = false}).value(), (Ids{6, 0}));
  EXPECT_EQ(load(kPieces + kBpe + bytes(3, number(4, 0)))->encode("a  b").value(), (Ids{1, 6, 3, 3, 5}));
  EXPECT_EQ(load(kPieces)->encode("a").value(), (Ids{6, 2})) << "unigram models end a text";
  EXPECT_EQ(load(kPieces + kBpe, R"({"add_bos_token": false})")->encode("a").value(), Ids{6});
}

TEST(SentencePieceModel, TheFoldersTokensComeBehind) {
  const std::string config = R"({"bos_token": {"content": "<|x|>"}, "chat_template": "t", "added_tokens_decoder":
      {"8": {"content": "<|x|>", "special": true}, "9": {"content": "ab"}, "4": {"content": "a", "special": false}}})";
  const auto tokenizer = load(kPieces + kBpe, config);
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  EXPECT_EQ(vocabulary.size(), 10U);
  EXPECT_EQ(vocabulary.type(7), TokenType::unused);
  EXPECT_EQ(vocabulary.special(SpecialToken::bos), 8);
  EXPECT_EQ(vocabulary.special(SpecialToken::eos), 2) << "the model's own";
  EXPECT_EQ(vocabulary.type(4), TokenType::user_defined);
  EXPECT_EQ(vocabulary.chat_template(), "t");
  EXPECT_EQ(tokenizer->encode("<|x|>ab", {.add_special = false, .parse_special = true}).value(), (Ids{8, 9}));

  GgufWriter writer;
  writer.add_string(kSentencePieceKey, kPieces);
  writer.add_string(kHuggingfaceConfigKey, R"({"added_tokens_decoder": {"999999": {"content": "x"}}})");
  EXPECT_EQ(Tokenizer::load(file_of(writer)).error().message,
            "m.gguf: tokenizer_config.json: added_tokens_decoder: token 'x' has id 999999, expected one below 65550");
}

// Ids by the SentencePiece library.
TEST(SentencePieceModel, AgreesWithTheLibrary) {
  const fs::path folder = fs::path(PLM_GOLDEN) / "text/tiny_tokenizers";
  const Json golden = read_json(fs::path(PLM_GOLDEN) / "text/tiny_tokenizers.json");
  const std::pair<const char*, const char*> files[] = {{"spm", "tokenizer.model"},
                                                       {"unigram_spm", "sentencepiece.bpe.model"}};
  for (const auto& [name, file] : files) {
    const bool is_xlm_roberta = std::string_view(name) == "unigram_spm";
    const auto tokenizer = load(read_file(folder / name / file), read_file(folder / name / "tokenizer_config.json"));
    std::size_t i = 0;
    for (const Json& row : read_json(fs::path(PLM_GOLDEN) / "text/strings.json")) {
      if (row.at("text").is_null()) continue;
      auto expected = golden.at(name).at("ids")[i++].get<Ids>();
      if (is_xlm_roberta) {
        for (TokenId& id : expected) id = id == 0 ? 3 : id + 1;
      }
      const auto text = row.at("text").get<std::string>();
      // The library prepares a text first; Hugging Face's classes, which the models are trained with, look for such
      // tokens first, and so no space comes before them.
      if (text.find("<mask>") != std::string::npos) continue;
      EXPECT_EQ(tokenizer->encode(text, {.add_special = false}).value(), expected) << name << " " << i << ": " << text;
    }
    EXPECT_EQ(i, golden.at(name).at("ids").size());
  }
}

}  // namespace
}  // namespace plm
