// The pre-tokenisers that files in GGUF name (tokenizer.ggml.pre). Tested by tests/text/test_pre_tokenizer.cpp.
#include <algorithm>

#include "base/settings.h"
#include "text/pre_tokenizer.h"

namespace plm {
namespace {

// The expressions are those of the models' published tokenizer.json.

// GPT-2 (2019): contractions, then words, numbers and punctuation with one space in front, then other spaces.
constexpr std::string_view kGpt2Words =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kGpt2[] = {kGpt2Words};
constexpr std::string_view kSingleDigits[] = {R"re(\p{N})re", kGpt2Words};
constexpr std::string_view kFalcon[] = {R"re([\p{P}$+<=>^~|`]+)re", kGpt2Words, R"re([0-9][0-9][0-9])re"};
constexpr std::string_view kDefault[] = {R"re([\p{P}$+<=>^~|]+)re", kGpt2Words, R"re(\p{N}+)re",
                                         R"re([0-9][0-9][0-9])re"};

// GPT-4 (cl100k) and its relatives: a word takes one character that is neither letter nor digit with it.
constexpr std::string_view kLlama3[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)re"
    R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kQwen2[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)re"
    R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kQwen35[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)re"
    R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};

// Gemma 4's tokens never join a line break to anything else.
constexpr std::string_view kLines[] = {R"re([^\n]+|[\n]+)re"};
constexpr std::string_view kLaguna[] = {kLines[0], kQwen2[0]};

// Relatives of GPT-4's: spaces in runs of powers of two; numbers cut first; no contractions.
constexpr std::string_view kJais2[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)re"
    R"re(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S))re"
    R"re(|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})re"};
constexpr std::string_view kMinicpm5[] = {
    R"re(\p{N}{1,3})re", R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)re"
                         R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kUfakzeka[] = {R"re([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)re"
                                          R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};

// DeepSeek. The first class is what its makers list as cased letters, which is less than Unicode's \p{L&}.
constexpr std::string_view kDeepseekEastAsian = R"re([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)re";
constexpr std::string_view kDeepseekLlm[] = {
    R"re([\r\n])re",
    R"re(\s?[A-Za-z\xB5\xC0-\xD6\xD8-\xF6\xF8-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373})re"
    R"re(\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})re"
    R"re(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})re"
    R"re(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})re"
    R"re(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})re"
    R"re(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})re"
    R"re(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})re"
    R"re(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134})re"
    R"re(\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})re"
    R"re(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787})re"
    R"re(\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})re"
    R"re(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})re"
    R"re(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)re",
    R"re(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)re",
    R"re(\s+$)re",
    kDeepseekEastAsian,
    R"re(\p{N}+)re"};
constexpr std::string_view kDeepseekCoder[] = {R"re([\r\n])re", R"re(\s?\p{L}+)re", R"re(\s?\p{P}+)re",
                                               kDeepseekEastAsian, R"re(\p{N})re"};

// GPT-4o (o200k) and relatives: words are cut before a capital. Tekken is Mistral's.
#define PLM_O200K_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define PLM_O200K_WORDS(contraction)                                                                \
  R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)re" contraction \
  R"re(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)re" contraction
#define PLM_O200K_REST R"re(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"
constexpr std::string_view kTekken[] = {PLM_O200K_WORDS("") R"re(|\p{N})re" PLM_O200K_REST};
constexpr std::string_view kGpt4o[] = {PLM_O200K_WORDS(PLM_O200K_CONTRACTION) R"re(|\p{N}{1,3})re" PLM_O200K_REST};
constexpr std::string_view kTinyAya[] = {R"re(\d{1,3}(?=(?:\d{3})*\b))re", kGpt4o[0]};
// Kimi K2: the same, with ideographs apart.
#define PLM_NO_HAN(characters) R"re((?:(?!\p{Han})[)re" characters R"re(]))re"
#define PLM_UPPER R"re(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})re"
#define PLM_LOWER R"re(\p{Ll}\p{Lm}\p{Lo}\p{M})re"
constexpr std::string_view kKimiK2[] = {R"re(\p{Han}+|[^\r\n\p{L}\p{N}]?)re" PLM_NO_HAN(PLM_UPPER) "*" PLM_NO_HAN(
    PLM_LOWER) "+" PLM_O200K_CONTRACTION
               R"re(|[^\r\n\p{L}\p{N}]?)re" PLM_NO_HAN(PLM_UPPER) "+" PLM_NO_HAN(
                   PLM_LOWER) "*" PLM_O200K_CONTRACTION
                              R"re(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
// Granite's embeddings: marks belong to words, and of letters only a to z and A to Z have a case.
#define PLM_NOT(letters) "(?:(?![" letters R"re(])[\p{L}\p{M}]))re"
constexpr std::string_view kGraniteEmbedding[] = {R"re([^\r\n\p{L}\p{N}]?)re" PLM_NOT("a-z") "*" PLM_NOT(
    "A-Z") "+" PLM_O200K_CONTRACTION
           R"re(|[^\r\n\p{L}\p{N}]?)re" PLM_NOT("a-z") "+" PLM_NOT("A-Z") "*" PLM_O200K_CONTRACTION
                                                                          R"re(|\p{N}{1,3})re" PLM_O200K_REST};
constexpr std::string_view kYoutu[] = {
    R"re([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[!\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}:;,)re"
    R"re(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F})re"
    R"re(\x{30A0}-\x{30FF}]+)re",
    PLM_O200K_WORDS(PLM_O200K_CONTRACTION) R"re(|\p{N})re" PLM_O200K_REST};

// DeepSeek V3 and others: ideographs and kana apart, a sign goes with the Latin letters that follow it.
constexpr std::string_view kDeepseekV3[] = {
    R"re(\p{N}{1,3})re", R"re([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)re",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};

// Numbers in threes from the right: what is over comes first. Scripts without spaces between words are cut out whole.
constexpr std::string_view kAfmoe[] = {
    R"re((?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})++(?!\p{N}))|\p{N}{3}|\p{N}{1,2})re",
    R"re([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})re"
    R"re(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF})re"
    R"re(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)re",
    kDeepseekV3[2]};
constexpr std::string_view kSpark[] = {
    kDeepseekV3[0], kDeepseekV3[1],
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)re"};

// BLOOM cuts at spaces and some punctuation only.
constexpr std::string_view kBloomWords = R"re( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)re";
constexpr std::string_view kBloom[] = {kBloomWords};
constexpr std::string_view kViking[] = {kBloomWords, R"re(\p{N})re"};

constexpr std::string_view kSuperBpe[] = {R"re(\p{N}+)re", R"re((?=(\d{3})+(?!\d)))re"};
constexpr std::string_view kBailing[] = {
    R"re('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)re"};
constexpr std::string_view kSeedCoder[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)re"
    R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re"};
constexpr std::string_view kExaoneMoe[] = {
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})re"
    R"re(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)re"};
constexpr std::string_view kChameleon[] = {R"re(<sentinel:[0-9]+>)re",    R"re((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)re",
                                           R"re(([\t\n]|    |  ))re",     R"re(\p{N})re",
                                           R"re([\p{P}!-/:-@\[-`{-~])re", kGpt2Words};

constexpr PreTokenizerRow kRows[] = {
    {.names = "default", .expressions = kDefault},
    {.names = "gpt-2, phi-2, mpt, olmo, jais, trillion, granite-docling, exaone4, modern-bert, gigachat, a.x-4.0, "
              "mellum, jina-es, jina-de, jina-v2-es, jina-v2-de",
     .expressions = kGpt2,
     .scanner = scan_gpt2},
    {.names = "smollm, starcoder, refact, command-r, codeshell, exaone, minerva-7b, mellum2",
     .expressions = kSingleDigits,
     .scanner = scan_gpt2_single_digits},
    {.names = "falcon", .expressions = kFalcon},
    {.names = "llama-bpe, llama3, llama-v3, falcon3, falcon-h1, pixtral, midm-2.0, lfm2, jina-v5-nano",
     .expressions = kLlama3,
     .scanner = scan_llama3,
     .whole_pieces = true,
     .add_bos = true},
    {.names = "dbrx, smaug-bpe, chatglm-bpe", .expressions = kLlama3, .scanner = scan_llama3},
    {.names = "glm4, glm5", .expressions = kLlama3, .scanner = scan_llama3, .whole_pieces = true},
    {.names = "qwen2, deepseek-r1-qwen, kormo, f2llmv2, megrez",
     .expressions = kQwen2,
     .scanner = scan_qwen2,
     .nfc = true},
    {.names = "stablelm2, hunyuan, solar-open, grok-2", .expressions = kQwen2, .scanner = scan_qwen2},
    {.names = "qwen35", .expressions = kQwen35, .scanner = scan_qwen35},
    {.names = "tekken", .expressions = kTekken, .whole_pieces = true, .add_bos = true},
    {.names = "gpt-4o, llama4, kanana2, minimax-m2, talkie", .expressions = kGpt4o},
    {.names = "tiny_aya, cohere2moe", .expressions = kTinyAya},
    {.names = "youtu", .expressions = kYoutu, .whole_pieces = true},
    {.names = "deepseek-v3, hunyuan-dense, joyai-llm, deepseek-v4, hy_v4", .expressions = kDeepseekV3},
    {.names = "kimi-k2", .expressions = kKimiK2},
    {.names = "granite-embed-multi-97m", .expressions = kGraniteEmbedding, .whole_pieces = true},
    {.names = "afmoe", .expressions = kAfmoe},
    {.names = "spark2_5", .expressions = kSpark},
    {.names = "laguna", .expressions = kLaguna},
    {.names = "jais-2", .expressions = kJais2},
    {.names = "minicpm5", .expressions = kMinicpm5, .whole_pieces = true},
    {.names = "ufakzeka", .expressions = kUfakzeka},
    {.names = "bloom, gpt3-finnish, poro-chat", .expressions = kBloom},
    {.names = "viking", .expressions = kViking},
    {.names = "superbpe", .expressions = kSuperBpe},
    {.names = "bailingmoe, bailingmoe2, llada-moe", .expressions = kBailing},
    {.names = "seed-coder", .expressions = kSeedCoder},
    {.names = "exaone-moe", .expressions = kExaoneMoe},
    {.names = "chameleon", .expressions = kChameleon, .add_bos = true},
    {.names = "roberta-bpe, jina-v1-en, jina-v2-code", .expressions = kGpt2, .scanner = scan_gpt2},
    {.names = "gemma4", .expressions = kLines, .scanner = scan_lines},
    {.names = "deepseek-llm", .expressions = kDeepseekLlm},
    {.names = "deepseek-coder", .expressions = kDeepseekCoder},
};

// The first row with these expressions.
const PreTokenizerRow* find_row(std::span<const std::string_view> expressions) {
  for (const PreTokenizerRow& row : kRows) {
    if (std::equal(expressions.begin(), expressions.end(), row.expressions.begin(), row.expressions.end())) return &row;
  }
  return nullptr;
}

}  // namespace

const PreTokenizerRow* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizerRow& row : kRows) {
    const auto names = split_list(row.names);
    if (std::find(names.begin(), names.end(), name) != names.end()) return &row;
  }
  return nullptr;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const PreTokenizerRow& row : kRows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.names);
  return names;
}

WordScanner find_word_scanner(std::span<const std::string_view> expressions) {
  const PreTokenizerRow* row = find_row(expressions);
  return row == nullptr ? nullptr : row->scanner;
}

std::string_view find_pre_tokenizer_name(std::span<const std::string_view> expressions) {
  const PreTokenizerRow* row = find_row(expressions);
  return row == nullptr ? std::string_view() : row->names.substr(0, row->names.find(','));
}

}  // namespace plm
