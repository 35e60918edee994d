#include "text/merge_list.h"

#include <span>
#include <string_view>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::size_t kBlockLines = 1024;  // looked up at once, small enough to stay in the cache

// Where the left token of a merge ends; a token may itself begin with a space. npos: it is no merge.
std::size_t separator(std::string_view line) { return line.find(' ', 1); }

// Ids of the left token, the right token and the product of each line, one after another.
std::vector<TokenId> resolve(std::span<const std::string_view> lines, const Vocabulary& vocabulary) {
  std::size_t bytes = 0;
  for (const std::string_view line : lines) bytes += line.size();
  std::string products;
  products.reserve(bytes);  // the views into it stay valid
  std::vector<std::string_view> parts;
  parts.reserve(3 * lines.size());
  for (const std::string_view line : lines) {
    const std::string_view left = line.substr(0, separator(line)), right = line.substr(left.size() + 1);
    const std::size_t begin = products.size();
    products.append(left).append(right);
    parts.insert(parts.end(), {left, right, std::string_view(products).substr(begin)});
  }
  return vocabulary.find_all(parts);
}

}  // namespace

Result<MergeTable> load_merges(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  PLM_TRY_ASSIGN(const StringArray texts, vocabulary.file().string_array(kMergesKey));
  const auto is_control = [&](TokenId id) { return id != kNoToken && vocabulary.type(id) == TokenType::control; };

  std::vector<MergeEntry> entries;
  entries.reserve(texts.size());
  std::vector<std::string_view> lines;
  std::string_view first_useless;
  std::uint32_t rank = 0, useless = 0;
  for (auto text = texts.begin(); text != texts.end();) {
    lines.clear();
    for (; text != texts.end() && lines.size() < kBlockLines; ++text) {
      if (separator(*text) == std::string_view::npos) {
        return fail(ErrorKind::bad_input, "{}: {}: merge {} is '{}', expected two tokens with a space between",
                    vocabulary.file().path(), kMergesKey, rank + lines.size(), printable(*text));
      }
      lines.push_back(*text);
    }
    const std::vector<TokenId> ids = resolve(lines, vocabulary);
    for (std::size_t i = 0; i < lines.size(); ++i, ++rank) {
      const TokenId left = ids[3 * i], right = ids[3 * i + 1], product = ids[3 * i + 2];
      if (left != kNoToken && right != kNoToken && product != kNoToken && !is_control(product)) {
        entries.push_back({left, right, {.rank = rank, .product = product}});
      } else if (!is_control(left)) {
        // Vocabularies of bytes alone carry one merge of control tokens, because other engines refuse an empty list.
        if (useless++ == 0) first_useless = lines[i];
      }
    }
  }
  if (useless > 0) {
    warnings.push_back(fmt::format("{}: {}: {} of {} merges join or make what is no token, the first is '{}'",
                                   vocabulary.file().path(), kMergesKey, useless, texts.size(),
                                   printable(first_useless)));
  }
  return MergeTable(entries);
}

}  // namespace plm
