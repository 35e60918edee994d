#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/bad_inputs.h"
#include "text/tokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

Result<Vocabulary> load(const VocabularyFields& fields) { return Vocabulary::load(file_of(fields.writer())); }

std::string refusal(const VocabularyFields& fields) {
  const auto vocabulary = load(fields);
  if (vocabulary) return "accepted";
  EXPECT_EQ(vocabulary.error().kind, ErrorKind::bad_input);
  return vocabulary.error().message;
}

std::string only_warning(const Vocabulary& vocabulary) {
  const auto warnings = vocabulary.warnings();
  return warnings.size() == 1 ? warnings[0] : fmt::format("{} warnings", warnings.size());
}

std::string bytes_of(const Vocabulary& vocabulary, TokenId id) {
  std::string bytes;
  vocabulary.append_bytes(id, bytes);
  return bytes;
}

TEST(Vocabulary, HoldsWhatTheFileSays) {
  const Vocabulary vocabulary = load({.model = "llama",
                                      .pre = "default",
                                      .tokens = {"<unk>", "<s>", "<0x0A>", "▁the", "x"},
                                      .types = {2, 3, 6, 1, 5},
                                      .scores = {0, 0, 0, -1.5, 0}})
                                    .value();
  EXPECT_EQ(vocabulary.size(), 5U);
  EXPECT_EQ(vocabulary.text(3), "▁the");
  EXPECT_EQ(vocabulary.type(2), TokenType::byte);
  EXPECT_EQ(vocabulary.score(3), -1.5F);
  EXPECT_EQ(vocabulary.find("▁the"), 3);
  EXPECT_EQ(vocabulary.find("the"), std::nullopt);
  EXPECT_TRUE(vocabulary.contains(4));
  EXPECT_FALSE(vocabulary.contains(5) || vocabulary.contains(kNoToken));
  EXPECT_EQ(vocabulary.kind().title, "SentencePiece BPE");
}

TEST(Vocabulary, TokensAddBytesAsTheirTypeSays) {
  const Vocabulary marks =
      load({.model = "llama", .tokens = {"<unk>", "</s>", "▁a", "▁a", "▁b", "<0xE2>"}, .types = {2, 3, 1, 4, 5, 6}})
          .value();
  const std::vector<std::string> expected = {"", "", " a", "▁a", "", "\xE2"};
  for (TokenId id = 0; marks.contains(id); ++id) EXPECT_EQ(bytes_of(marks, id), expected[static_cast<std::size_t>(id)]);
  const Vocabulary bytes = load({.tokens = {"Ġa", "Ġ", "<|x|>"}, .types = {1, 4, 3}}).value();
  EXPECT_EQ(bytes_of(bytes, 0), " a");
  EXPECT_EQ(bytes_of(bytes, 1), "Ġ") << "user-defined tokens are written as they are";
  EXPECT_EQ(bytes_of(bytes, 2), "");
}

TEST(Vocabulary, WhereTheFileIsSilentTheKindDecides) {
  const auto adds_bos = [](const VocabularyFields& fields) {
    GgufWriter writer = fields.writer();
    writer.add_u32("tokenizer.ggml.bos_token_id", 0);
    return Vocabulary::load(file_of(writer)).value().adds_bos();
  };
  EXPECT_FALSE(adds_bos({.pre = "gpt-2", .tokens = {"a"}}));
  EXPECT_TRUE(adds_bos({.pre = "llama-bpe", .tokens = {"a"}}));
  EXPECT_TRUE(adds_bos({.model = "llama", .tokens = {"a"}}));
  EXPECT_TRUE(load({.model = "llama", .tokens = {"a"}}).value().adds_space_prefix());
  EXPECT_FALSE(load({.tokens = {"a"}}).value().adds_space_prefix());

  GgufWriter writer = VocabularyFields{.model = "llama", .tokens = {"a"}}.writer();
  writer.add_u32("tokenizer.ggml.bos_token_id", 0);
  writer.add_u32("tokenizer.ggml.eos_token_id", 0);
  writer.add_boolean("tokenizer.ggml.add_bos_token", false);
  writer.add_boolean("tokenizer.ggml.add_eos_token", true);
  writer.add_boolean("tokenizer.ggml.add_space_prefix", false);
  const Vocabulary told = Vocabulary::load(file_of(writer)).value();
  EXPECT_FALSE(told.adds_bos() || told.adds_space_prefix());
  EXPECT_TRUE(told.adds_eos());
}

TEST(Vocabulary, AddsNoTokenThatIsNotThere) {
  const Vocabulary vocabulary = load({.model = "llama", .tokens = {"a"}}).value();
  EXPECT_FALSE(vocabulary.adds_bos());
  EXPECT_EQ(only_warning(vocabulary),
            "m.gguf: tokenizer.ggml.add_bos_token: true, but the file names no bos token; none is added");
}

TEST(Vocabulary, RefusesWhatItCannotTrust) {
  EXPECT_EQ(refusal({.model = "", .tokens = {"a"}}), "m.gguf: tokenizer.ggml.model is missing");
  EXPECT_EQ(
      refusal({.model = "runes", .tokens = {"a"}}),
      "m.gguf: tokenizer.ggml.model is 'runes', an unknown tokeniser; known are gpt2, llama, gemma4, t5, bert, rwkv, "
      "plamo2");
  EXPECT_EQ(refusal({}), "m.gguf: tokenizer.ggml.tokens is missing");
  EXPECT_EQ(refusal({.tokens = {"a", "b"}, .types = {1}}),
            "m.gguf: tokenizer.ggml.token_type has 1 types for 2 tokens; the file is damaged");
  EXPECT_EQ(refusal({.tokens = {"a", "b"}, .scores = {0, 1, 2}}),
            "m.gguf: tokenizer.ggml.scores has 3 scores for 2 tokens; the file is damaged");
  EXPECT_EQ(refusal({.tokens = {"a", "b"}, .scores = {0, std::numeric_limits<float>::quiet_NaN()}}),
            "m.gguf: tokenizer.ggml.scores: the score of token 1 is not a number; convert the model again");
  EXPECT_EQ(refusal({.tokens = {"a", std::string(4097, 'x')}}),
            "m.gguf: tokenizer.ggml.tokens: token 1 has 4097 bytes, expected at most 4096; the file is damaged");
  for (const std::string model : {"llama", "plamo2"}) {  // public report TOK-17 of the conformance cases
    EXPECT_EQ(refusal({.model = model, .tokens = {"a", "<0x-1>"}, .types = {1, 6}}),
              "m.gguf: tokenizer.ggml.tokens: token 1 is a byte but reads '<0x-1>', expected <0xNN> with two "
              "hexadecimal digits");
  }
}

TEST(Vocabulary, WarnsOfWhatIsOdd) {
  EXPECT_EQ(load({.tokens = {"a", "", ""}}).value().warnings().size(), 2U) << "the second empty text repeats the first";
  EXPECT_EQ(only_warning(load({.tokens = {"a", ""}}).value()), "m.gguf: tokenizer.ggml.tokens: token 1: empty text");
  EXPECT_EQ(only_warning(load({.tokens = {"\xFF", "b", "\xFE"}}).value()),
            "m.gguf: tokenizer.ggml.tokens: token 0 and 1 more: text is not UTF-8");
  // Between two texts stands the size of the second, which must not end a character of the first.
  EXPECT_EQ(only_warning(load({.tokens = {"\xE2\x82", std::string(0x80, 'a')}}).value()),
            "m.gguf: tokenizer.ggml.tokens: token 0: text is not UTF-8");
  VocabularyFields many;
  for (int i = 0; i < 1000; ++i) many.tokens.push_back("\xE2\x96\x81" + std::to_string(i));
  EXPECT_TRUE(load(many).value().warnings().empty());
  many.tokens[256] += "\xC3";
  many.tokens[999] += "\xED\xA0\x80";
  EXPECT_EQ(only_warning(load(many).value()), "m.gguf: tokenizer.ggml.tokens: token 256 and 1 more: text is not UTF-8");
  EXPECT_EQ(only_warning(load({.tokens = {"a"}, .types = {99}}).value()),
            "m.gguf: tokenizer.ggml.token_type: token 0: unknown type 99, taken as normal");
  const Vocabulary repeated = load({.tokens = {"b", "a", "a"}}).value();
  EXPECT_EQ(only_warning(repeated),
            "m.gguf: tokenizer.ggml.tokens: token 2: same text as a token before, whose lower id stands for it");
  EXPECT_EQ(repeated.find("a"), 1);
  EXPECT_EQ(load({.pre = "", .tokens = {"a"}}).value().pre_tokenizer_name(), "default");
  EXPECT_EQ(load({.pre = "", .tokens = {"a"}}).value().warnings().size(), 1U);
}

TEST(Vocabulary, HasTheChatTemplate) {
  GgufWriter writer = VocabularyFields{.tokens = {"a"}}.writer();
  writer.add_string("tokenizer.chat_template", "{{ messages }}");
  EXPECT_EQ(Vocabulary::load(file_of(writer)).value().chat_template(), "{{ messages }}");
  writer.add_string("tokenizer.chat_template", "");
  EXPECT_EQ(only_warning(Vocabulary::load(file_of(writer)).value()),
            "m.gguf: tokenizer.chat_template: empty, as if there were none");
  writer.add_u32("tokenizer.chat_template", 1);
  EXPECT_NE(Vocabulary::load(file_of(writer)).error().message.find("tokenizer.chat_template"), std::string::npos);
}

// The corpus of broken files. The two whose token count disagrees with the embedding are the engine's to refuse.
TEST(Vocabulary, TheBadInputsAreRefusedOrWarnedOf) {
  const auto inputs = bad_inputs();
  if (!inputs) GTEST_SKIP() << inputs.error().message;
  int seen = 0;
  for (const BadInput& input : *inputs) {
    if (input.group != "tokenizer" && input.group != "template" && input.group != "control") continue;
    if (input.name == "tokens_short" || input.name == "tokens_long") continue;
    const auto file = GgufFile::open(input.path);
    ASSERT_TRUE(file.has_value()) << input.path;
    const auto tokenizer = Tokenizer::load(*file);
    ++seen;
    if (tokenizer) {
      EXPECT_NE(input.want, "reject") << input.name;
      const bool named = !tokenizer.value()->warnings().empty();
      EXPECT_TRUE(named || input.want == "accept" || input.group == "template")
          << input.name << " is accepted silently";
      continue;
    }
    EXPECT_TRUE(input.want == "reject" || input.want == "reject-or-warn") << input.name << tokenizer.error().message;
    EXPECT_NE(tokenizer.error().message.find(input.field), std::string::npos) << tokenizer.error().message;
    EXPECT_NE(tokenizer.error().message.find(input.path), std::string::npos) << tokenizer.error().message;
  }
  EXPECT_GE(seen, 40);
}

}  // namespace
}  // namespace plm
