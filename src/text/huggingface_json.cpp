#include "text/huggingface_json.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

using Json = MapJson;
using IdsOfTexts = std::unordered_map<std::string_view, TokenId>;

class Reader {
 public:
  Reader(HuggingfaceTokenizer& out, const Json& root, const HuggingfaceLimits& limits)
      : out_(out), root_(root), limits_(limits) {}

  Result<void> read() {
    const auto model = root_.find("model");
    if (model == root_.end() || !model->is_object()) return bad("model", "missing, expected an object");
    const JsonField field{out_.path, "model", *model};
    PLM_TRY(read_kind(field));
    PLM_TRY(read_vocabulary(field));
    if (out_.kind == HuggingfaceModel::bpe) PLM_TRY(read_merges(field));
    PLM_TRY(read_unknown(field));
    PLM_TRY(read_added());
    for (auto [name, part] : {std::pair{"normalizer", &out_.normalizer},
                              {"pre_tokenizer", &out_.pre_tokenizer},
                              {"post_processor", &out_.post_processor},
                              {"decoder", &out_.decoder}}) {
      const auto found = root_.find(name);
      if (found == root_.end() || found->is_null()) continue;
      if (!found->is_object()) return bad(name, "expected an object or null");
      *part = *found;
    }
    return {};
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> bad(std::string_view field, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: {}: {}", out_.path, field, fmt::format(format, std::forward<Args>(args)...));
  }

  Result<void> read_kind(const JsonField& model) {
    const Json* merges = model.find("merges");
    const Json* vocab = model.find("vocab");
    const std::string implied = merges != nullptr                       ? "BPE"
                                : vocab != nullptr && vocab->is_array() ? "Unigram"
                                                                        : "WordPiece";
    PLM_TRY_ASSIGN(const std::string type, model.text_or("type", implied));
    if (type == "BPE") {
      out_.kind = HuggingfaceModel::bpe;
    } else if (type == "Unigram") {
      out_.kind = HuggingfaceModel::unigram;
    } else if (type == "WordPiece") {
      out_.kind = HuggingfaceModel::word_piece;
    } else {
      return bad("model.type", "'{}', expected BPE, Unigram or WordPiece", printable(type));
    }
    PLM_TRY_ASSIGN(out_.byte_fallback, model.flag_or("byte_fallback", false));
    PLM_TRY_ASSIGN(out_.fuses_unknown, model.flag_or("fuse_unk", false));
    PLM_TRY_ASSIGN(out_.whole_pieces, model.flag_or("ignore_merges", false));
    if (out_.kind == HuggingfaceModel::bpe) {
      for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        PLM_TRY_ASSIGN(const std::string affix, model.text_or(key, ""));
        if (!affix.empty()) return bad(fmt::format("model.{}", key), "'{}' is not implemented", printable(affix));
      }
      return {};
    }
    PLM_TRY_ASSIGN(out_.continuing_prefix, model.text_or("continuing_subword_prefix", "##"));
    if (const Json* limit = model.find("max_input_chars_per_word")) {
      if (!limit->is_number_unsigned()) return bad("model.max_input_chars_per_word", "expected a whole number");
      out_.max_word_characters = limit->get<std::size_t>();
    }
    return {};
  }

  // Puts a text at its id.
  Result<void> place(std::string_view field, const std::string& text, std::int64_t id) {
    if (id < 0 || id >= limits_.ids) {
      return bad(field, "token '{}' has id {}, expected 0 to {}", printable(text, 40), id, limits_.ids - 1);
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= out_.tokens.size()) out_.tokens.resize(index + 1);
    std::string& there = out_.tokens[index].text;
    if (!there.empty() && there != text) {
      return bad(field, "id {} belongs to both '{}' and '{}'", id, printable(there, 40), printable(text, 40));
    }
    there = text;
    return {};
  }

  Result<void> read_vocabulary(const JsonField& model) {
    const Json* vocab = model.find("vocab");
    if (vocab == nullptr) return bad("model.vocab", "missing");
    if (out_.kind == HuggingfaceModel::unigram) return read_pieces(*vocab);
    if (!vocab->is_object()) return bad("model.vocab", "expected an object of tokens and their ids");
    if (vocab->empty()) return bad("model.vocab", "empty; a vocabulary has at least one token");
    // The ids are those of a list, so a hole of more than all tokens is damage and no reason to take the memory.
    const auto most = static_cast<std::int64_t>(2 * vocab->size() + 65536);
    for (const auto& [text, id] : vocab->items()) {
      if (!id.is_number_integer() || id.get<std::int64_t>() >= most) {
        return bad("model.vocab", "token '{}' has id {}, expected one below {}", printable(text, 40),
                   printable(id.dump(-1, ' ', false, Json::error_handler_t::replace), 40), most);
      }
      PLM_TRY(place("model.vocab", text, id.get<std::int64_t>()));
    }
    return {};
  }

  Result<void> read_pieces(const Json& vocab) {
    if (!vocab.is_array() || vocab.empty()) return bad("model.vocab", "expected a list of [token, score]");
    for (std::size_t i = 0; i < vocab.size(); ++i) {
      const Json& entry = vocab[i];
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number() ||
          !std::isfinite(entry[1].get<double>())) {
        return bad("model.vocab", "entry {}: expected [token, score]", i);
      }
      PLM_TRY(place("model.vocab", entry[0].get<std::string>(), static_cast<std::int64_t>(i)));
      if (i < out_.tokens.size()) out_.tokens[i].score = entry[1].get<double>();
    }
    return {};
  }

  Result<void> read_merges(const JsonField& model) {
    PLM_TRY_ASSIGN(const Json* merges, model.array("merges"));
    IdsOfTexts ids;
    ids.reserve(out_.tokens.size());
    for (std::size_t id = 0; id < out_.tokens.size(); ++id) ids.emplace(out_.tokens[id].text, static_cast<TokenId>(id));
    out_.merges.reserve(merges->size());
    for (std::size_t i = 0; i < merges->size(); ++i) {
      const Json& entry = (*merges)[i];
      std::string left, right;
      if (entry.is_string()) {
        const auto& line = entry.get_ref<const std::string&>();
        const std::size_t space = line.find(' ');
        if (space != std::string::npos) left = line.substr(0, space), right = line.substr(space + 1);
      } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
        left = entry[0].get<std::string>();
        right = entry[1].get<std::string>();
      }
      if (left.empty() || right.empty()) return bad("model.merges", "merge {}: expected two tokens", i);
      if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos) {
        return bad("model.merges", "merge {}: tokens with a space inside are not implemented", i);
      }
      for (const std::string& text : {left, right, left + right}) {
        if (ids.contains(text)) continue;
        return bad("model.merges", "merge {} is '{} {}', but '{}' is no token", i, printable(left, 40),
                   printable(right, 40), printable(text, 80));
      }
      out_.merges.emplace_back(std::move(left), std::move(right));
    }
    return {};
  }

  Result<void> read_unknown(const JsonField& model) {
    if (out_.kind == HuggingfaceModel::unigram) {
      const Json* id = model.find("unk_id");
      if (id == nullptr) return {};
      if (!id->is_number_integer() || id->get<std::int64_t>() < 0 ||
          id->get<std::int64_t>() >= static_cast<std::int64_t>(out_.tokens.size())) {
        return bad("model.unk_id", "outside the vocabulary of {} tokens", out_.tokens.size());
      }
      out_.unknown = static_cast<TokenId>(id->get<std::int64_t>());
      return {};
    }
    PLM_TRY_ASSIGN(const std::string text, model.text_or("unk_token", ""));
    if (text.empty()) return {};
    out_.unknown = out_.find(text);
    if (!out_.unknown && out_.kind == HuggingfaceModel::word_piece) {
      return bad("model.unk_token", "'{}' is no token", printable(text));
    }
    return {};
  }

  Result<void> read_added() {
    const auto list = root_.find("added_tokens");
    if (list == root_.end() || list->is_null()) return {};
    if (!list->is_array()) return bad("added_tokens", "expected a list");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Json& entry = (*list)[i];
      const JsonField field{out_.path, fmt::format("added_tokens[{}]", i), entry};
      if (!entry.is_object()) return field.bad("expected an object");
      AddedToken token;
      PLM_TRY_ASSIGN(token.text, field.text("content"));
      const Json* id = field.find("id");
      if (id == nullptr || !id->is_number_integer()) return field.bad("id is missing, expected a whole number");
      if (token.text.empty()) return field.bad("content is empty");
      if (id->get<std::int64_t>() > static_cast<std::int64_t>(2 * out_.tokens.size() + 65536)) {
        return field.bad("id {} is far outside the vocabulary of {} tokens", id->get<std::int64_t>(),
                         out_.tokens.size());
      }
      PLM_TRY(place(field.field, token.text, id->get<std::int64_t>()));
      token.id = static_cast<TokenId>(id->get<std::int64_t>());
      PLM_TRY_ASSIGN(token.is_control, field.flag_or("special", false));
      PLM_TRY_ASSIGN(token.strips_left, field.flag_or("lstrip", false));
      PLM_TRY_ASSIGN(token.strips_right, field.flag_or("rstrip", false));
      PLM_TRY_ASSIGN(token.single_word, field.flag_or("single_word", false));
      PLM_TRY_ASSIGN(token.is_normalized, field.flag_or("normalized", !token.is_control));
      out_.added.push_back(std::move(token));
    }
    return {};
  }

  HuggingfaceTokenizer& out_;
  const Json& root_;
  const HuggingfaceLimits& limits_;
};

}  // namespace

const MapJson* JsonField::find(const char* key) const {
  const auto found = value.is_object() ? value.find(key) : value.end();
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> JsonField::text(const char* key) const {
  const MapJson* found = find(key);
  if (found == nullptr || !found->is_string()) return bad("{} is missing or no string", key);
  return found->get<std::string>();
}

Result<std::string> JsonField::text_or(const char* key, std::string_view otherwise) const {
  return find(key) == nullptr ? Result<std::string>(otherwise) : text(key);
}

Result<bool> JsonField::flag_or(const char* key, bool otherwise) const {
  const MapJson* found = find(key);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) return bad("{} is no boolean", key);
  return found->get<bool>();
}

Result<const MapJson*> JsonField::array(const char* key) const {
  const MapJson* found = find(key);
  if (found == nullptr || !found->is_array()) return bad("{} is missing or no list", key);
  return found;
}

Result<MapJson> parse_map_json(std::string_view text, std::string_view path, const HuggingfaceLimits& limits) {
  if (text.size() > limits.bytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes, expected at most {}", path, text.size(), limits.bytes);
  }
  if (const std::size_t depth = json_depth(text); depth > limits.depth) {
    return fail(ErrorKind::bad_input, "{}: nested {} deep, expected at most {}", path, depth, limits.depth);
  }
  try {
    return MapJson::parse(text);
  } catch (const MapJson::exception& error) {
    return fail(ErrorKind::bad_input, "{}: not JSON: {}; download it again", path, printable(error.what()));
  }
}

std::optional<TokenId> HuggingfaceTokenizer::find(std::string_view text) const {
  const auto found =
      std::find_if(tokens.begin(), tokens.end(), [text](const Token& token) { return token.text == text; });
  if (text.empty() || found == tokens.end()) return std::nullopt;
  return static_cast<TokenId>(found - tokens.begin());
}

Result<HuggingfaceTokenizer> HuggingfaceTokenizer::parse(std::string_view json, std::string_view name,
                                                         const HuggingfaceLimits& limits) {
  HuggingfaceTokenizer tokenizer;
  tokenizer.path = fmt::format("{}: tokenizer.json", name);
  PLM_TRY_ASSIGN(const MapJson root, parse_map_json(json, tokenizer.path, limits));
  if (!root.is_object()) return fail(ErrorKind::bad_input, "{}: expected an object", tokenizer.path);
  PLM_TRY(Reader(tokenizer, root, limits).read());
  return tokenizer;
}

}  // namespace plm
