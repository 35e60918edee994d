#include "text/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/protobuf.h"
#include "base/utf8.h"
#include "text/huggingface_json.h"

namespace plm {
namespace {

// Reads the messages of sentencepiece_model.proto; numbers are those of its fields.
class ModelReader {
 public:
  ModelReader(SentencePieceModel& out, std::string_view path, const SentencePieceLimits& limits)
      : out_(out), path_(path), limits_(limits) {}

  Result<void> read(std::string_view message) {
    PLM_TRY(for_each_field(message, "", [this](const ProtobufField& field) -> Result<void> {
      if (field.number < 1 || field.number > 3) return {};
      const auto bytes = field.as_bytes();
      if (!bytes) return bad("field {}: expected a message", field.number);
      if (field.number == 1) return read_piece(*bytes);
      return field.number == 2 ? read_trainer(*bytes) : read_normalizer(*bytes);
    }));
    if (out_.pieces.empty()) return bad("pieces: there are none; is this a SentencePiece model?");
    return check_ids();
  }

 private:
  template <typename... Args>
  tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename Use>
  Result<void> for_each_field(std::string_view message, std::string_view name, Use use) const {
    ProtobufReader reader(message);
    while (true) {
      auto field = reader.next();
      if (!field) return bad("{}{}{}", name, name.empty() ? "" : ": ", field.error().message);
      if (!*field) return {};
      PLM_TRY(use(**field));
    }
  }

  Result<void> read_piece(std::string_view message) {
    const std::size_t id = out_.pieces.size();
    if (id == limits_.pieces) return bad("pieces: more than {}", limits_.pieces);
    SentencePieceModel::Piece piece;
    std::int64_t type = 1;
    PLM_TRY(for_each_field(message, "pieces", [&](const ProtobufField& field) -> Result<void> {
      bool fits = true;
      if (field.number == 1) fits = assign(field.as_bytes(), piece.text);
      if (field.number == 2) fits = assign(field.as_float(), piece.score);
      if (field.number == 3) fits = assign(field.as_integer(), type);
      if (!fits) return bad("pieces[{}]: field {} is of another type than it should", id, field.number);
      return {};
    }));
    if (piece.text.size() > limits_.piece_bytes) {
      return bad("pieces[{}]: {} bytes, expected at most {}", id, piece.text.size(), limits_.piece_bytes);
    }
    if (std::isnan(piece.score)) return bad("pieces[{}]: the score is not a number", id);
    if (type < 1 || type > 6) return bad("pieces[{}]: type {}, expected 1 to 6", id, type);
    piece.type = static_cast<TokenType>(type);  // both count alike
    out_.pieces.push_back(piece);
    return {};
  }

  Result<void> read_trainer(std::string_view message) {
    return for_each_field(message, "trainer_spec", [this](const ProtobufField& field) -> Result<void> {
      std::int64_t type = 1, suffixes = 0;
      bool fits = true;
      switch (field.number) {
        case 3: fits = assign(field.as_integer(), type) && (type == 1 || type == 2); break;
        case 24: fits = assign(field.as_integer(), suffixes) && suffixes == 0; break;
        case 40: fits = assign(field.as_integer(), out_.unknown); break;
        case 41: fits = assign(field.as_integer(), out_.bos); break;
        case 42: fits = assign(field.as_integer(), out_.eos); break;
        case 43: fits = assign(field.as_integer(), out_.padding); break;
        default: return {};
      }
      if (field.number == 3) out_.is_unigram = type == 1;
      if (fits) return {};
      if (field.number == 3) return bad("trainer_spec.model_type: {}, expected 1 (unigram) or 2 (BPE)", type);
      if (field.number == 24) return bad("trainer_spec.treat_whitespace_as_suffix: not implemented");
      return bad("trainer_spec: field {} is no number", field.number);
    });
  }

  Result<void> read_normalizer(std::string_view message) {
    return for_each_field(message, "normalizer_spec", [this](const ProtobufField& field) -> Result<void> {
      std::int64_t flag = 1;
      bool fits = true;
      if (field.number == 2) fits = assign(field.as_bytes(), out_.charsmap);
      if (field.number >= 3 && field.number <= 5) fits = assign(field.as_integer(), flag);
      if (!fits) return bad("normalizer_spec: field {} is of another type than it should", field.number);
      if (field.number == 3) out_.prepends_space = flag != 0;
      if (field.number == 4) out_.merges_spaces = flag != 0;
      if (field.number == 5 && flag == 0) return bad("normalizer_spec.escape_whitespaces: false is not implemented");
      return {};
    });
  }

  template <typename T>
  static bool assign(std::optional<T> found, T& to) {
    if (found) to = *found;
    return found.has_value();
  }

  [[nodiscard]] Result<void> check_ids() const {
    for (const auto& [name, id] :
         {std::pair{"unk_id", out_.unknown}, {"bos_id", out_.bos}, {"eos_id", out_.eos}, {"pad_id", out_.padding}}) {
      if (id >= static_cast<std::int64_t>(out_.pieces.size())) {
        return bad("trainer_spec.{}: {} is outside the vocabulary of {} pieces", name, id, out_.pieces.size());
      }
    }
    return {};
  }

  SentencePieceModel& out_;
  std::string_view path_;
  const SentencePieceLimits& limits_;
};

bool is_xlm_roberta(const FolderSettings& settings) {
  return settings.text("tokenizer_class").starts_with("XLMRoberta");
}

// XLM-RoBERTa's classes number the pieces as the library fairseq does: four tokens of its own come first, in place of
// the model's three, and the mask comes last.
void order_as_fairseq(SentencePieceModel& model) {
  if (model.pieces.size() < 3 || model.unknown != 0 || model.bos != 1 || model.eos != 2) return;
  const SentencePieceModel::Piece first[] = {{"<s>", 0, TokenType::control},
                                             {"<pad>", 0, TokenType::control},
                                             {"</s>", 0, TokenType::control},
                                             {"<unk>", 0, TokenType::unknown}};
  model.pieces.erase(model.pieces.begin(), model.pieces.begin() + 3);
  model.pieces.insert(model.pieces.begin(), std::begin(first), std::end(first));
  model.pieces.push_back({"<mask>", 0, TokenType::control});
  model.bos = 0, model.padding = 1, model.eos = 2, model.unknown = 3;
}

// Puts together what the files of a folder say.
class SentencePieceWriter {
 public:
  SentencePieceWriter(const SentencePieceModel& model, GgufWriter& out) : model_(model), out_(out) {
    for (const SentencePieceModel::Piece& piece : model.pieces) {
      texts_.emplace_back(piece.text);
      types_.push_back(static_cast<std::int32_t>(piece.type));
      scores_.push_back(piece.score);
    }
    for (std::size_t id = 0; id < texts_.size(); ++id) ids_.emplace(texts_[id], id);
  }

  Result<void> write(const FolderSettings& settings, std::size_t row_count) {
    PLM_TRY(place_added_tokens(settings));
    fill_up_to(row_count);
    write_tokens();
    write_special_tokens(settings);
    out_.add_boolean("tokenizer.ggml.add_space_prefix", model_.prepends_space);
    out_.add_boolean("tokenizer.ggml.remove_extra_whitespaces", model_.merges_spaces);
    if (!model_.charsmap.empty()) add_charsmap(model_.charsmap, out_);
    if (const std::string text = settings.chat_template(); !text.empty()) {
      out_.add_string("tokenizer.chat_template", text);
    }
    return {};
  }

 private:
  void append(std::string text, TokenType type) {
    ids_.emplace(text, texts_.size());
    texts_.push_back(std::move(text));
    types_.push_back(static_cast<std::int32_t>(type));
    scores_.push_back(kAddedScore);
  }

  void fill_up_to(std::size_t count) {
    while (texts_.size() < count) append(fmt::format("[PAD{}]", texts_.size()), TokenType::unused);
  }

  // Tokens that the folder adds behind the model's, or gives another type.
  Result<void> place_added_tokens(const FolderSettings& settings) {
    PLM_TRY_ASSIGN(const auto added, settings.added_tokens());
    // Their ids go on from those of the model, so a hole of more than all tokens is damage.
    const std::size_t most = 2 * texts_.size() + 65536;
    for (const AddedToken& token : added) {
      const auto id = static_cast<std::size_t>(token.id);
      if (id >= most) {
        return fail(ErrorKind::bad_input, "{}: added_tokens_decoder: token '{}' has id {}, expected one below {}",
                    settings.path(), printable(token.text, 40), id, most);
      }
      const TokenType type = token.is_control ? TokenType::control : TokenType::user_defined;
      fill_up_to(id);
      if (id == texts_.size()) {
        append(token.text, type);
      } else if (types_[id] == static_cast<std::int32_t>(TokenType::normal) ||
                 types_[id] == static_cast<std::int32_t>(TokenType::unused) || texts_[id] != token.text) {
        texts_[id] = token.text;
        types_[id] = static_cast<std::int32_t>(type);
        ids_.emplace(token.text, id);
      }
    }
    return {};
  }

  void write_tokens() {
    out_.add_string("tokenizer.ggml.model", model_.is_unigram ? "t5" : "llama");
    out_.add_string("tokenizer.ggml.pre", "default");
    const std::vector<std::string_view> views(texts_.begin(), texts_.end());
    out_.add_strings("tokenizer.ggml.tokens", views);
    out_.add_i32s("tokenizer.ggml.token_type", types_);
    out_.add_f32s("tokenizer.ggml.scores", scores_);
  }

  void write_special_tokens(const FolderSettings& settings) {
    std::array<std::pair<std::string_view, std::int64_t>, 4> known = {
        {{"bos", model_.bos}, {"eos", model_.eos}, {"unknown", model_.unknown}, {"padding", model_.padding}}};
    for (const auto& [key, name] : kFolderSpecialTokens) {
      const auto found = ids_.find(settings.text(key));
      std::int64_t id = found == ids_.end() ? -1 : static_cast<std::int64_t>(found->second);
      for (const auto& [ours, from_model] : known) {
        if (id < 0 && ours == name) id = from_model;
      }
      if (id >= 0) out_.add_u32(fmt::format("tokenizer.ggml.{}_token_id", name), static_cast<std::uint32_t>(id));
    }
    // The library itself adds neither; the classes of Hugging Face that read such files do, each in its way.
    const bool adds_bos = !model_.is_unigram || is_xlm_roberta(settings);
    out_.add_boolean("tokenizer.ggml.add_bos_token", settings.flag("add_bos_token").value_or(adds_bos));
    out_.add_boolean("tokenizer.ggml.add_eos_token", settings.flag("add_eos_token").value_or(model_.is_unigram));
  }

  static constexpr float kAddedScore = -1000.0F;

  const SentencePieceModel& model_;
  GgufWriter& out_;
  std::vector<std::string> texts_;
  std::vector<std::int32_t> types_;
  std::vector<float> scores_;
  std::unordered_map<std::string, std::size_t> ids_;
};

}  // namespace

Result<SentencePieceModel> SentencePieceModel::parse(std::string_view bytes, std::string_view path,
                                                     const SentencePieceLimits& limits) {
  if (bytes.size() > limits.bytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes, expected at most {}", path, bytes.size(), limits.bytes);
  }
  SentencePieceModel model;
  PLM_TRY(ModelReader(model, path, limits).read(bytes));
  return model;
}

bool has_sentencepiece_tokenizer(const GgufFile& file) {
  return !has_huggingface_tokenizer(file) && file.find(kSentencePieceKey) != nullptr;
}

Result<void> add_sentencepiece_vocabulary(const GgufFile& file, GgufWriter& out) {
  PLM_TRY_ASSIGN(const std::string_view bytes, file.string_value(kSentencePieceKey));
  const std::string path = fmt::format("{}: tokenizer.model", file.path());
  PLM_TRY_ASSIGN(SentencePieceModel model, SentencePieceModel::parse(bytes, path));
  PLM_TRY_ASSIGN(const FolderSettings settings, FolderSettings::parse(file));
  if (is_xlm_roberta(settings)) order_as_fairseq(model);
  PLM_TRY_ASSIGN(const std::size_t row_count, embedding_rows(file));
  PLM_TRY(SentencePieceWriter(model, out).write(settings, row_count));
  keep_given_values(file, out);
  return {};
}

}  // namespace plm
