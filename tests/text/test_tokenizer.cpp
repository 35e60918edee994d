#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "text/detokenizer.h"
#include "text/vocabulary_file.h"

namespace plm {
namespace {

namespace fs = std::filesystem;

using Shared = std::shared_ptr<const Tokenizer>;

Shared load(const GgufWriter& writer) { return Tokenizer::load(file_of(writer)).value(); }

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};
constexpr EncodeOptions kSpecial{.add_special = false, .parse_special = true};

// a, b, <s> (bos), </s> (eos), <|x|>, <tool> (user-defined), <tool>>
GgufWriter small_writer() {
  GgufWriter writer = VocabularyFields{
      .tokens = {"a", "b", "<s>", "<e>", "<|x|>", "<tool>", "<tool>>", "<", ">", "s"},
      .types = {1, 1, 3, 3, 3, 4, 4, 1, 1, 1},
      .merges = {"a b"}}.writer();
  writer.add_u32("tokenizer.ggml.bos_token_id", 2);
  writer.add_u32("tokenizer.ggml.eos_token_id", 3);
  return writer;
}

TEST(Tokenizer, ControlTokensAreParsedOnlyWhenAskedFor) {
  const Shared tokenizer = load(small_writer());
  EXPECT_EQ(tokenizer->encode("a<s>b", kSpecial).value(), (Ids{0, 2, 1}));
  EXPECT_EQ(tokenizer->encode("a<s>b", kPlain).value(), (Ids{0, 7, 9, 8, 1}));
}

TEST(Tokenizer, OnlyWhatATemplateWroteBecomesAControlToken) {
  const Shared tokenizer = load(small_writer());
  const auto ids = [&](std::initializer_list<std::pair<std::string_view, jinja::Origin>> pieces,
                       bool anywhere = false) {
    jinja::MarkedText text;
    for (const auto& [piece, origin] : pieces) text.append(piece, origin);
    return tokenizer->encode(text, {.add_special = false, .parse_special = anywhere}).value();
  };
  using enum jinja::Origin;
  EXPECT_EQ(ids({{"<s>a", template_text}, {"<s>", input}, {"b<s>", template_text}}), (Ids{2, 0, 7, 9, 8, 1, 2}));
  EXPECT_EQ(ids({{"<s", template_text}, {">a", input}}), (Ids{7, 9, 8, 0})) << "not when a message completes it";
  EXPECT_EQ(ids({{"a<s>b", input}}, true), (Ids{0, 2, 1}));
  EXPECT_EQ(ids({{"a", template_text}, {"b", input}}), tokenizer->encode("ab", kPlain).value())
      << "ordinary text is merged across the border";
  EXPECT_EQ(ids({{"<to", template_text}, {"ol><s>", input}, {"<s>", template_text}}), (Ids{5, 7, 9, 8, 2}))
      << "a user-defined token is whole wherever it stands";
  EXPECT_EQ(ids({}), Ids{});
}

TEST(Tokenizer, UserDefinedTokensAreAlwaysKeptWhole) {
  const Shared tokenizer = load(small_writer());
  EXPECT_EQ(tokenizer->encode("a<tool>b", kPlain).value(), (Ids{0, 5, 1}));
  EXPECT_EQ(tokenizer->encode("<tool>>", kPlain).value(), Ids{6}) << "the longest";
  EXPECT_EQ(tokenizer->encode("<tool><|x|>", kSpecial).value(), (Ids{5, 4}));
}

TEST(Tokenizer, PutsAroundATextWhatTheModelExpects) {
  GgufWriter writer = small_writer();
  EXPECT_EQ(load(writer)->encode("a").value(), Ids{0});
  writer.add_boolean("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(load(writer)->encode("a").value(), (Ids{2, 0}));
  EXPECT_EQ(load(writer)->encode("").value(), Ids{2});
  EXPECT_EQ(load(writer)->encode("a", kPlain).value(), Ids{0});
  writer.add_boolean("tokenizer.ggml.add_eos_token", true);
  writer.add_boolean("tokenizer.ggml.add_sep_token", true);
  writer.add_u32("tokenizer.ggml.seperator_token_id", 4);
  EXPECT_EQ(load(writer)->encode("a").value(), (Ids{2, 0, 3})) << "a separator stands between two texts";
}

// Public report TOK-09 of the conformance cases.
TEST(Tokenizer, ABeginningThatTheTextBringsIsNotAddedAgain) {
  GgufWriter writer = small_writer();
  writer.add_boolean("tokenizer.ggml.add_bos_token", true);
  const Shared tokenizer = load(writer);
  EXPECT_EQ(tokenizer->encode("<s>a", {.parse_special = true}).value(), (Ids{2, 0}));
  EXPECT_EQ(tokenizer->encode("<s><s>a", {.parse_special = true}).value(), (Ids{2, 2, 0}));
  EXPECT_EQ(tokenizer->encode("a<s>", {.parse_special = true}).value(), (Ids{2, 0, 2}));
  EXPECT_EQ(tokenizer->encode("<s>a").value(), (Ids{2, 7, 9, 8, 0})) << "written by a user it is text";
}

TEST(Tokenizer, AKindWithoutAnEncoderLoadsForUseByIds) {
  for (const std::string model : {"rwkv", "plamo2"}) {
    const Shared tokenizer = load(VocabularyFields{.model = model, .tokens = {"▁a", "b"}}.writer());
    EXPECT_EQ(tokenizer->vocabulary().size(), 2U);
    const auto ids = tokenizer->encode("a");
    ASSERT_FALSE(ids.has_value());
    EXPECT_EQ(ids.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(ids.error().message.starts_with("m.gguf: tokenizer.ggml.model is '" + model + "': encoding with a "))
        << ids.error().message;
  }
}

TEST(Tokenizer, ErrorsNameThePlaceInTheWholeText) {
  const Shared tokenizer = load(small_writer());
  EXPECT_NE(tokenizer->encode("<tool>a\xFF").error().message.find("0xff at offset 7"), std::string::npos);
}

TEST(Tokenizer, WarningsAreThoseOfVocabularyAndMerges) {
  const Shared tokenizer = load(VocabularyFields{.pre = "", .tokens = {"a", "b"}, .merges = {"a b"}}.writer());
  EXPECT_EQ(tokenizer->warnings().size(), 2U);
}

TEST(Tokenizer, TheTwinSpeaksBytes) {
  const Shared tokenizer = Tokenizer::load(open_vocabulary(fs::path(PLM_MODELS) / "twin-ar.gguf")).value();
  EXPECT_TRUE(tokenizer->warnings().empty());
  EXPECT_EQ(tokenizer->encode("A3+7=").value(), (Ids{256, 'A', '3', '+', '7', '='}));
  EXPECT_EQ(tokenizer->encode(" é").value(), (Ids{256, ' ', 0xC3, 0xA9}));
  EXPECT_EQ(tokenizer->encode("\xFF").value(), (Ids{256, 255}));
  EXPECT_EQ(tokenizer->encode("<eos>", kSpecial).value(), Ids{257});
  EXPECT_TRUE(tokenizer->vocabulary().ends_generation(257));
  for (TokenId id = 0; id < 256; ++id) {
    std::string bytes;
    tokenizer->vocabulary().append_bytes(id, bytes);
    EXPECT_EQ(bytes, std::string(1, static_cast<char>(id)));
  }
}

// ---- equality with what llama.cpp and Hugging Face tokenizers make of 269 awkward strings

struct OracleString {
  std::string text;
  bool well_formed;
};

const std::vector<OracleString>& oracle_strings() {
  static const std::vector<OracleString> strings = [] {
    std::vector<OracleString> read;
    for (const Json& row : read_json(fs::path(PLM_GOLDEN) / "text/strings.json")) {
      read.push_back({from_hex(row.at("hex").get<std::string>()), !row.at("text").is_null()});
    }
    return read;
  }();
  return strings;
}

// Where the reference tokenisers disagree the makers' own (hf_special) is right; but it was read from the file of a
// newer model, whose special tokens this vocabulary does not have, at `foreign`.
Ids expected_ids(const Json& golden, const std::string& mode, std::size_t index, const Ids& foreign) {
  const auto differs = golden.value("differs_from_hf_at", Ids());
  const auto number = static_cast<TokenId>(index);
  const bool makers = std::find(differs.begin(), differs.end(), number) != differs.end() &&
                      std::find(foreign.begin(), foreign.end(), number) == foreign.end();
  return golden.at(makers ? "hf_special" : mode).at(index).get<Ids>();
}

// Whether no text is normalised, so that ids give back the text.
bool keeps_text(const Tokenizer& tokenizer) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  switch (vocabulary.kind().kind) {
    case TokenizerKind::byte_bpe: return !find_pre_tokenizer(vocabulary.pre_tokenizer_name())->nfc;
    case TokenizerKind::sentencepiece_bpe: return true;
    default: return false;
  }
}

void expect_oracle(const Tokenizer& tokenizer, const Json& golden, const Ids& foreign = {}) {
  const auto& strings = oracle_strings();
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::string& text = strings[i].text;
    for (const EncodeOptions& options : {kPlain, kSpecial}) {
      const auto ids = tokenizer.encode(text, options);
      if (!strings[i].well_formed) continue;  // it must only not crash
      ASSERT_TRUE(ids.has_value()) << ids.error().message;
      EXPECT_EQ(*ids, expected_ids(golden, options.parse_special ? "special" : "plain", i, foreign))
          << i << ": " << text;
      if (keeps_text(tokenizer) && !ids->empty() && !options.parse_special &&
          text.find(kSpaceMark) == std::string::npos) {
        EXPECT_EQ(detokenize(tokenizer.vocabulary(), *ids, {.show_special = true, .whole_text = true}), text);
      }
    }
  }
  EXPECT_EQ(tokenizer.encode("Hello world").value(), golden.at("with_bos_eos").get<Ids>());
  if (!golden.contains("repo_test")) return;
  const Json& more = golden.at("repo_test");
  for (std::size_t i = 0; i < more.at("texts_hex").size(); ++i) {
    const std::string text = from_hex(more.at("texts_hex")[i].get<std::string>());
    EXPECT_EQ(tokenizer.encode(text, kPlain).value(), more.at("ids")[i].get<Ids>()) << text;
  }
}

// Files that `plm fetch` leaves in its cache, found by the beginning of their names or their folder's.
fs::path fetched(std::string_view begin, std::string_view extension) {
  const char* cache = std::getenv("PLM_CACHE");
  const char* home = std::getenv("HOME");
  const fs::path folder = cache != nullptr ? fs::path(cache) : fs::path(home == nullptr ? "" : home) / ".cache/plm";
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(begin) && entry.path().extension() == extension) return entry;
  }
  return {};
}

fs::path oracle_folder() { return fs::path(PLM_SHARED) / "conformance/oracle/tokenizer"; }

Shared shared_vocabulary(const std::string& name) {
  const fs::path path = oracle_folder() / "vocab" / ("ggml-vocab-" + name + ".gguf");
  return fs::exists(path) ? Tokenizer::load(open_vocabulary(path)).value() : nullptr;
}

TEST(TokenizerOracle, SmolLm2) {
  const char* given = std::getenv("PLM_TEST_SMOLLM2");
  const fs::path path = given != nullptr ? fs::path(given) : fetched("smollm2-135m", ".gguf");
  if (path.empty()) GTEST_SKIP() << "smollm2-135m is not fetched";
  const Shared tokenizer = Tokenizer::load(open_vocabulary(path)).value();
  expect_oracle(*tokenizer, read_json(fs::path(PLM_GOLDEN) / "text/smollm2.json"));
  EXPECT_TRUE(tokenizer->warnings().empty());
  EXPECT_TRUE(tokenizer->vocabulary().ends_generation(2));
}

TEST(TokenizerOracle, Gemma3) {
  const fs::path path = fetched("gemma-3-270m", ".gguf"), golden = oracle_folder() / "gemma3.json";
  if (path.empty() || !fs::exists(golden)) GTEST_SKIP() << "gemma-3-270m is not fetched";
  expect_oracle(*Tokenizer::load(open_vocabulary(path)).value(), read_json(golden));
}

// And public report TOK-06 of the conformance cases.
TEST(TokenizerOracle, MiniLm) {
  const fs::path folder = fetched("sentence_bert_config", ".json").parent_path(),
                 golden = oracle_folder() / "minilm.json";
  if (folder.empty() || !fs::exists(golden)) GTEST_SKIP() << "minilm is not fetched";
  const Shared tokenizer = Tokenizer::load_huggingface(read_file(folder / "tokenizer.json"),
                                                       read_file(folder / "tokenizer_config.json"), "minilm")
                               .value();
  const Json ids = read_json(golden);
  for (std::size_t i = 0; i < oracle_strings().size(); ++i) {
    const auto& [text, well_formed] = oracle_strings()[i];
    if (!well_formed) continue;
    EXPECT_EQ(tokenizer->encode(text, kSpecial).value(), ids.at("special")[i].get<Ids>()) << i << ": " << text;
  }
  EXPECT_EQ(tokenizer->encode("Hello world").value(), ids.at("with_bos_eos").get<Ids>());
  EXPECT_EQ(tokenizer->encode("Hokkaidō").value(), (Ids{101, 20826, 102}));
}

class TokenizerOracleVocabulary : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerOracleVocabulary, IdsAreEqual) {
  const std::string name = GetParam();
  const Shared tokenizer = shared_vocabulary(name);
  if (!tokenizer) GTEST_SKIP() << "the shared vocabularies are not here";
  const Ids foreign = name == "qwen2" ? Ids{117, 214, 235, 236, 246} : Ids{};
  expect_oracle(*tokenizer, read_json(oracle_folder() / (name + ".json")), foreign);
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerOracleVocabulary,
                         testing::Values("aquila", "baichuan", "bert-bge", "command-r", "deepseek-coder",
                                         "deepseek-llm", "falcon", "gemma-4", "gpt-2", "gpt-neox", "llama-bpe",
                                         "llama-spm", "mpt", "nomic-bert-moe", "phi-3", "qwen2", "qwen35", "refact",
                                         "starcoder"),
                         [](const auto& vocabulary) {
                           std::string name = vocabulary.param;
                           std::erase(name, '-');
                           return name;
                         });

// The public reports about tokenisers among the conformance cases.
TEST(TokenizerOracle, Cases) {
  const fs::path path = fs::path(PLM_SHARED) / "conformance/cases/cases.jsonl";
  if (!fs::exists(path)) GTEST_SKIP() << "the shared cases are not here";
  std::ifstream lines(path);
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json row = parse_json(line, "case").value();
    const Json &input = row.at("input"), &right = row.at("right");
    const auto kind = row.at("kind").get<std::string>();
    if (kind != "tokenizer" && kind != "detokenizer" && kind != "injection") continue;
    if (!input.contains("vocab")) continue;
    const Shared tokenizer = shared_vocabulary(input.at("vocab").get<std::string>());
    ++seen;
    if (kind == "detokenizer") {
      Detokenizer detokenizer(tokenizer->vocabulary());
      for (std::size_t i = 0; i < input.at("ids").size(); ++i) {
        EXPECT_EQ(detokenizer.push(input.at("ids")[i].get<TokenId>()), right.at("deltas")[i].get<std::string>());
      }
      continue;
    }
    std::string text = input.contains("bytes_hex") ? from_hex(input.at("bytes_hex").get<std::string>())
                                                   : input.value("text", std::string());
    if (kind == "injection") text = input.at("messages")[0].at("content").get<std::string>();
    const Ids ids = tokenizer
                        ->encode(text, {.add_special = kind != "injection" && input.value("add_bos", true),
                                        .parse_special = input.value("parse_special", false)})
                        .value();
    for (const char* key : {"ids", "content_ids"}) EXPECT_EQ(ids, right.value(key, ids)) << line;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 128000), right.value("count_of_128000", 0)) << line;
  }
  EXPECT_GE(seen, 7);
}

}  // namespace
}  // namespace plm
