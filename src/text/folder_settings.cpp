#include "text/folder_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>

#include "base/utf8.h"

namespace plm {
namespace {

Result<MapJson> parse_object(std::string_view text, const std::string& path) {
  if (text.empty()) return MapJson::object();
  PLM_TRY_ASSIGN(MapJson config, parse_map_json(text, path));
  if (!config.is_object()) return fail(ErrorKind::bad_input, "{}: expected an object", path);
  return config;
}

// "x", or "x" of a token that is given as {"content": "x"}.
std::string text_of(const MapJson& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  const auto content = found->is_object() ? found->find("content") : found->end();
  return found->is_object() && content != found->end() && content->is_string() ? content->get<std::string>()
                                                                               : std::string();
}

}  // namespace

Result<FolderSettings> FolderSettings::parse(std::string_view config_json, std::string_view special_tokens_map_json,
                                             std::string_view name) {
  FolderSettings settings;
  settings.path_ = fmt::format("{}: tokenizer_config.json", name);
  PLM_TRY_ASSIGN(settings.config_, parse_object(config_json, settings.path_));
  PLM_TRY_ASSIGN(settings.special_tokens_map_,
                 parse_object(special_tokens_map_json, fmt::format("{}: special_tokens_map.json", name)));
  return settings;
}

Result<FolderSettings> FolderSettings::parse(const GgufFile& file) {
  PLM_TRY_ASSIGN(const auto config, file.optional_string(kHuggingfaceConfigKey));
  PLM_TRY_ASSIGN(const auto map, file.optional_string(kHuggingfaceSpecialTokensKey));
  return parse(config.value_or(""), map.value_or(""), file.path());
}

std::string FolderSettings::text(const char* key) const {
  const std::string text = text_of(config_, key);
  return text.empty() ? text_of(special_tokens_map_, key) : text;
}

std::optional<bool> FolderSettings::flag(const char* key) const {
  const auto found = config_.find(key);
  return found != config_.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
}

std::string FolderSettings::chat_template() const {
  const auto found = config_.find("chat_template");
  if (found == config_.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  for (const MapJson& entry : found->is_array() ? *found : MapJson::array()) {
    if (entry.is_object() && entry.value("name", MapJson()) == "default" && entry.contains("template") &&
        entry["template"].is_string()) {
      return entry["template"].get<std::string>();
    }
  }
  return {};
}

Result<std::vector<AddedToken>> FolderSettings::added_tokens() const {
  constexpr std::string_view kField = "added_tokens_decoder";
  constexpr TokenId kMostIds = 1 << 24;
  std::vector<AddedToken> tokens;
  const auto found = config_.find(kField);
  if (found == config_.end() || found->is_null()) return tokens;
  if (!found->is_object()) return fail(ErrorKind::bad_input, "{}: {}: expected an object", path_, kField);
  for (const auto& [key, entry] : found->items()) {
    const JsonField field{path_, fmt::format("{}.{}", kField, printable(key, 20)), entry};
    AddedToken token;
    const auto end = key.data() + key.size();
    const auto number = std::from_chars(key.data(), end, token.id);
    if (number.ec != std::errc() || number.ptr != end || token.id < 0 || token.id >= kMostIds) {
      return field.bad("expected an id from 0 to {}", kMostIds - 1);
    }
    PLM_TRY_ASSIGN(token.text, field.text("content"));
    PLM_TRY_ASSIGN(token.is_control, field.flag_or("special", false));
    if (token.text.empty()) return field.bad("content is empty");
    tokens.push_back(std::move(token));
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return tokens;
}

Result<std::size_t> embedding_rows(const GgufFile& file) {
  PLM_TRY_ASSIGN(const auto architecture, file.optional_string("general.architecture"));
  if (!architecture) return std::size_t{0};
  PLM_TRY_ASSIGN(const auto rows, file.optional_unsigned(fmt::format("{}.vocab_size", *architecture)));
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;
  return static_cast<std::size_t>(std::min(rows.value_or(0), kMostRows));
}

void keep_given_values(const GgufFile& file, GgufWriter& out) {
  constexpr std::string_view kVocabulary[] = {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type",
                                              "tokenizer.ggml.scores", "tokenizer.ggml.merges", "tokenizer.ggml.model"};
  for (const MetaEntry& entry : file.metadata()) {
    const bool is_ours = entry.key.starts_with("tokenizer.ggml.") &&
                         std::find(std::begin(kVocabulary), std::end(kVocabulary), entry.key) == std::end(kVocabulary);
    if (is_ours || entry.key == "tokenizer.chat_template") out.add(entry.key, entry.value);
  }
}

void add_charsmap(std::string_view bytes, GgufWriter& out) {
  const auto raw = std::as_bytes(std::span(bytes));
  out.add("tokenizer.ggml.precompiled_charsmap", MetaValue(GgufType::u8, raw.size(), raw));
}

}  // namespace plm
