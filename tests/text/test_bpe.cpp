#include "text/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/philox.h"
#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

struct Loaded {
  explicit Loaded(const VocabularyFields& fields)
      : tokenizer(Tokenizer::load(file_of(fields.writer())).value()), vocabulary(tokenizer->vocabulary()) {}

  [[nodiscard]] Result<Ids> encode(std::string_view text) const {
    return tokenizer->encode(text, {.add_special = false});
  }
  [[nodiscard]] std::string decode(const Ids& ids) const {
    std::string bytes;
    for (const TokenId id : ids) vocabulary.append_bytes(id, bytes);
    return bytes;
  }

  std::shared_ptr<const Tokenizer> tokenizer;
  const Vocabulary& vocabulary;
};

// The definition: of all neighbours that may merge, the leftmost of those with the lowest rank do; again and again.
std::vector<std::string> naive(std::vector<std::string> symbols, const std::map<std::string, std::size_t>& ranks) {
  while (true) {
    std::size_t best = symbols.size(), best_rank = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ranks.find(symbols[i] + " " + symbols[i + 1]);
      if (found != ranks.end() && found->second < best_rank) best = i, best_rank = found->second;
    }
    if (best == symbols.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, MergesAsTheDefinitionSays) {
  std::uint32_t draw = 0;
  const auto random = [&draw](std::size_t limit) { return philox4x32({draw++, 0, 0, 0}, {3, 0})[0] % limit; };
  for (int round = 0; round < 50; ++round) {
    VocabularyFields fields{.tokens = {"a", "b", "c"}};
    std::map<std::string, std::size_t> ranks;
    for (std::size_t i = 0; i < 12; ++i) {
      const std::string left = fields.tokens[random(fields.tokens.size())];
      const std::string right = fields.tokens[random(fields.tokens.size())];
      fields.merges.push_back(left + " " + right);
      ranks.emplace(fields.merges.back(), i);
      if (std::find(fields.tokens.begin(), fields.tokens.end(), left + right) == fields.tokens.end()) {
        fields.tokens.push_back(left + right);
      }
    }
    const Loaded loaded(fields);
    for (int word = 0; word < 20; ++word) {
      std::vector<std::string> letters;
      std::string text;
      for (std::size_t length = 1 + random(40); length > 0; --length) text += letters.emplace_back(1, "abc"[random(3)]);
      Ids expected;
      for (const std::string& symbol : naive(letters, ranks)) expected.push_back(*loaded.vocabulary.find(symbol));
      EXPECT_EQ(loaded.encode(text).value(), expected) << text;
    }
  }
}

// Ids by Hugging Face tokenizers.
TEST(Bpe, AgreesWithTheReferenceUnderEveryPreTokenizer) {
  const Json& golden = tiny_bpe_golden();
  for (const auto& [name, ids] : golden.at("ids").items()) {
    const Loaded loaded(tiny_bpe(name));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto text = golden.at("strings")[i].get<std::string>();
      if (text.find("<|") != std::string::npos) continue;  // special tokens are Tokenizer's business
      EXPECT_EQ(loaded.encode(text).value(), ids[i].get<Ids>()) << name << " " << i << ": " << text;
    }
  }
}

TEST(Bpe, WhatItEncodesDecodesToTheSame) {
  for (const std::string_view name : {"default", "gpt-2", "smollm", "llama-bpe", "deepseek-llm"}) {
    const Loaded loaded(tiny_bpe(std::string(name)));
    for (const Json& string : tiny_bpe_golden().at("strings")) {
      const auto text = string.get<std::string>();
      EXPECT_EQ(loaded.decode(loaded.encode(text).value()), text);
    }
  }
}

TEST(Bpe, AnyBytesAtAllEncodeAndDecodeToTheSame) {
  const Loaded loaded(tiny_bpe("llama-bpe"));
  for (std::uint32_t round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::uint32_t i = 0; i < round % 64; ++i) {
      const std::uint32_t word = philox4x32({round, i, 0, 0}, {5, 0})[0];
      bytes.push_back(static_cast<char>(word % 3 == 0 ? word >> 8 : "a \n\xE6\xAD\xAA\xF0\x9F"[word % 9]));
    }
    const auto ids = loaded.encode(bytes);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(loaded.decode(*ids), bytes);
  }
}

// Pieces are cut where no token goes across; the ids must not show it.
TEST(Bpe, CutsBetweenCharactersThatNeverMergeChangeNothing) {
  for (std::uint32_t round = 0; round < 60; ++round) {
    std::uint32_t draw = 0;
    const auto random = [&](std::size_t limit) { return philox4x32({draw++, round, 0, 0}, {17, 0})[0] % limit; };
    const bool by_score = round % 2 == 0;
    VocabularyFields fields{
        .model = by_score ? "llama" : "gemma4", .pre = "", .tokens = {"a", "b", "é", "▁", ">", "–"}};
    for (std::size_t i = 0; i < 12; ++i) {
      const std::string left = fields.tokens[random(fields.tokens.size())];
      const std::string right = fields.tokens[random(fields.tokens.size())];
      if (std::find(fields.tokens.begin(), fields.tokens.end(), left + right) != fields.tokens.end()) continue;
      fields.tokens.push_back(left + right);
      fields.merges.push_back(left + " " + right);
    }
    for (std::size_t id = 0; id < fields.tokens.size(); ++id) fields.scores.push_back(-static_cast<float>(id));
    std::map<std::string, std::size_t> ranks;
    if (by_score) {  // whatever joins to a token merges
      for (const std::string& left : fields.tokens) {
        for (const std::string& right : fields.tokens) {
          const auto found = std::find(fields.tokens.begin(), fields.tokens.end(), left + right);
          if (found != fields.tokens.end()) {
            ranks.emplace(left + " " + right, static_cast<std::size_t>(found - fields.tokens.begin()));
          }
        }
      }
      fields.merges.clear();
    } else {
      for (std::size_t i = 0; i < fields.merges.size(); ++i) ranks.emplace(fields.merges[i], i);
    }
    GgufWriter writer = fields.writer();
    writer.add_boolean("tokenizer.ggml.add_space_prefix", false);
    writer.add_u32("tokenizer.ggml.unknown_token_id", 0);  // else unknown characters would be dropped
    const auto tokenizer = Tokenizer::load(file_of(writer)).value();
    for (int word = 0; word < 20; ++word) {
      std::vector<std::string> letters;
      std::string text;
      for (std::size_t length = 1 + random(40); length > 0; --length) {
        constexpr std::string_view kLetters[] = {"a", "b", "é", " ", ">", "–"};
        const std::string letter(kLetters[random(std::size(kLetters))]);
        text += letter;
        letters.push_back(letter == " " ? "▁" : letter);
      }
      Ids expected;
      for (const std::string& symbol : naive(letters, ranks)) {
        expected.push_back(*tokenizer->vocabulary().find(symbol));
      }
      EXPECT_EQ(tokenizer->encode(text, {.add_special = false}).value(), expected) << round << ": " << text;
    }
  }
}

TEST(Bpe, OneLongWordIsNoTrouble) {
  const Loaded loaded(tiny_bpe());
  std::string word;
  while (word.size() < 400'000) word += "here";
  const Ids ids = loaded.encode(word).value();
  EXPECT_EQ(loaded.decode(ids), word);
  EXPECT_LT(ids.size(), word.size());
}

TEST(Bpe, IllFormedBytesFormPiecesOfTheirOwn) {
  const Loaded loaded({.tokens = {"a", "æ", "Ń", "æŃ", "ªa"}, .merges = {"æ Ń"}});  // e6, ad
  EXPECT_EQ(loaded.encode("\xE6\xAD").value(), Ids{3});
  EXPECT_EQ(loaded
                .encode("a\xE6\xAD"
                        "a")
                .value(),
            (Ids{0, 3, 0}));
}

TEST(Bpe, BytesWithoutATokenAreRefusedWithTheirPlace) {
  const Loaded loaded({.tokens = {"a", "b"}, .merges = {"a b"}});
  const auto ids = loaded.encode("ab\xFF");
  ASSERT_FALSE(ids.has_value());
  EXPECT_EQ(ids.error().kind, ErrorKind::usage);
  EXPECT_EQ(ids.error().message,
            "byte 0xff at offset 2 is not part of UTF-8 text and the vocabulary has no token for it; give the text in "
            "UTF-8");
  EXPECT_EQ(loaded.encode("aéb").value(), (Ids{0, 1})) << "a character that no token spells is left out";
}

TEST(Bpe, AWholePieceGoesBeforeTheMergesWhereTheModelSaysSo) {
  const VocabularyFields fields{
      .pre = "llama-bpe", .tokens = {"a", "b", "c", "ab", "bc", "abc"}, .merges = {"b c", "a b"}};
  EXPECT_EQ(Loaded(fields).encode("abc").value(), Ids{5});
  VocabularyFields by_merges = fields;
  by_merges.pre = "chatglm-bpe";
  EXPECT_EQ(Loaded(by_merges).encode("abc").value(), (Ids{0, 4}));
  VocabularyFields control = fields;
  control.types = {1, 1, 1, 1, 1, 3};
  EXPECT_EQ(Loaded(control).encode("abc").value(), (Ids{0, 4})) << "text never becomes a control token";
}

}  // namespace
}  // namespace plm
