#include "model/sequence_head.h"

#include <algorithm>

#include "base/utf8.h"
#include "model/architecture.h"
#include "model/workspace.h"

namespace plm {
namespace {

constexpr std::size_t kMostOutputs = 1U << 16;
constexpr std::size_t kMostTokens = 1U << 30;
constexpr std::string_view kNoCurve = "none";
constexpr std::pair<std::string_view, Curve> kCurves[] = {
    {"tanh", Curve::tanh}, {"gelu", Curve::gelu_erf}, {"relu", Curve::relu}, {"silu", Curve::silu}};

Result<Pooling> read_pooling(const ModelFile& file, std::string_view key, Pooling otherwise) {
  PLM_TRY_ASSIGN(const std::size_t number, file.integer_or(key, static_cast<std::size_t>(otherwise), {0, 4}));
  return static_cast<Pooling>(number);
}

// Rows of a matrix that decides itself how many it has.
Result<std::size_t> read_outputs(const ModelFile& file, std::string_view tensor) {
  const TensorEntry* entry = file.gguf().find_tensor(tensor);
  const std::uint64_t rows = entry != nullptr ? entry->dims[1] : 0;
  if (rows > 0 && rows <= kMostOutputs) return static_cast<std::size_t>(rows);
  return fail(ErrorKind::bad_input, "{}: tensor {}: {} rows, expected between 1 and {}", file.path(), tensor, rows,
              kMostOutputs);
}

}  // namespace

std::string dense_name(std::size_t index) { return fmt::format("dense_{}", index + 2); }

Result<SequenceHead> SequenceHead::load(ModelFile& file, const Architecture& architecture, Device& device) {
  SequenceHead head;
  WeightReader take(file, device);
  PLM_TRY(head.read(take, architecture));
  return head;
}

Result<void> SequenceHead::check(ModelFile& file, const Architecture& architecture) {
  SequenceHead head;
  WeightReader look(file);
  return head.read(look, architecture);
}

Result<void> SequenceHead::read(WeightReader& reader, const Architecture& architecture) {
  const ModelFile& file = reader.file();
  PLM_TRY_ASSIGN(hidden_size_, file.integer("embedding_length", {1, 1U << 20}));
  outputs_ = hidden_size_;
  PLM_TRY_ASSIGN(normalizes_, file.boolean_or(kNormalizeKey, true));
  PLM_TRY_ASSIGN(most_tokens_, file.integer_or(kEmbeddingTokensKey, 0, {1, kMostTokens}));
  PLM_TRY(read_texts(file));
  PLM_TRY_ASSIGN(pooling_, read_pooling(file, kPoolingKey, Pooling::none));
  gives_scores_ = reader.has(kScoreTensor);
  if (gives_scores_) return read_scores(reader, architecture);
  if (pooling_ == Pooling::none || pooling_ == Pooling::rank) {
    pooling_ = architecture.is_encoder ? Pooling::mean : Pooling::last;
  }
  return read_dense(reader);
}

Result<void> SequenceHead::read_scores(WeightReader& reader, const Architecture& architecture) {
  const ModelFile& file = reader.file();
  const Pooling standard = architecture.is_encoder ? Pooling::cls : Pooling::last;
  PLM_TRY_ASSIGN(pooling_, read_pooling(file, kScorePoolingKey, standard));
  if (pooling_ == Pooling::none || pooling_ == Pooling::rank) pooling_ = standard;
  PLM_TRY_ASSIGN(const std::string curve, file.text_or(kScoreCurveKey, architecture.score_curve));
  if (reader.has("cls.weight")) PLM_TRY(add_stage(reader, "cls", hidden_size_, curve));
  if (reader.has("cls.norm.weight")) {
    if (stages_.empty()) return fail(ErrorKind::bad_input, "{}: tensor cls.norm.weight: no cls.weight", file.path());
    PLM_TRY_ASSIGN(stages_.back().norm, LayerNorm::load(reader, "cls.norm", hidden_size_, architecture.score_epsilon));
  }
  PLM_TRY_ASSIGN(const std::size_t outputs, read_outputs(file, kScoreTensor));
  PLM_TRY(add_stage(reader, "cls.output", outputs, kNoCurve));
  if (labels_.size() != outputs) labels_.clear();
  return {};
}

Result<void> SequenceHead::read_dense(WeightReader& reader) {
  const ModelFile& file = reader.file();
  for (std::size_t i = 0; i < kMostDense; ++i) {
    const std::string name = dense_name(i);
    if (!reader.has(name + ".weight")) return {};
    PLM_TRY_ASSIGN(const std::string curve, file.text_or(name + ".activation", kNoCurve));
    PLM_TRY_ASSIGN(const std::size_t outputs, read_outputs(file, name + ".weight"));
    PLM_TRY(add_stage(reader, name, outputs, curve));
  }
  return {};
}

Result<void> SequenceHead::read_texts(const ModelFile& file) {
  PLM_TRY_ASSIGN(labels_, file.texts_or_none(kLabelsKey));
  PLM_TRY_ASSIGN(const auto names, file.texts_or_none(kPromptNamesKey));
  PLM_TRY_ASSIGN(const auto texts, file.texts_or_none(kPromptTextsKey));
  if (names.size() != texts.size()) {
    return file.key_error(kPromptTextsKey, fmt::format("{} texts", texts.size()),
                          fmt::format("one for each of {} names", names.size()));
  }
  for (std::size_t i = 0; i < names.size(); ++i) prompts_.push_back({names[i], texts[i]});
  PLM_TRY_ASSIGN(const std::string standard, file.text_or(kStandardPromptKey, ""));
  if (standard.empty()) return {};
  PLM_TRY_ASSIGN(standard_prompt_, prompt(standard));
  return {};
}

Result<void> SequenceHead::add_stage(WeightReader& reader, const std::string& name, std::size_t outputs,
                                     std::string_view curve) {
  Stage stage;
  const MatrixSize size{.outputs = outputs, .inputs = outputs_};
  PLM_TRY_ASSIGN(stage.linear, Linear::load(reader, name, WeightRole::head, size));
  stage.outputs = outputs;
  if (curve != kNoCurve) {
    const auto* const found = std::ranges::find(kCurves, curve, &std::pair<std::string_view, Curve>::first);
    if (found == std::end(kCurves)) {
      return fail(ErrorKind::bad_input, "{}: activation \"{}\" of {}: expected none, tanh, gelu, relu or silu",
                  reader.file().path(), printable(curve, 40), name);
    }
    stage.curve = found->second;
  }
  stages_.push_back(std::move(stage));
  outputs_ = outputs;
  return {};
}

Result<std::string> SequenceHead::prompt(std::string_view name) const {
  std::string known;
  for (const Prompt& one : prompts_) {
    if (one.name == name) return one.text;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", printable(one.name, 40));
  }
  return fail(ErrorKind::usage, "prompt name \"{}\": this model has {}; give the words themselves as a prefix",
              printable(name, 40), known.empty() ? "none" : known);
}

Result<std::vector<float>> SequenceHead::apply(Device& device, std::span<const float> rows) const {
  if (stages_.empty()) return std::vector<float>(rows.begin(), rows.end());
  PLM_CHECK(rows.size() % hidden_size_ == 0);
  const std::size_t count = rows.size() / hidden_size_;
  std::vector<float> out(count * outputs_);
  if (count == 0) return out;
  Workspace workspace(device);
  PLM_TRY_ASSIGN(View at, workspace.take(count, hidden_size_));
  device.upload(at, std::as_bytes(rows));
  for (const Stage& stage : stages_) {
    PLM_TRY_ASSIGN(const View next, workspace.take(count, stage.outputs));
    stage.linear(device, at, next);
    if (stage.curve.has_value()) device.apply(next, *stage.curve);
    if (stage.norm.has_value()) (*stage.norm)(device, next, next);
    at = next;
  }
  device.download(at, std::as_writable_bytes(std::span(out)));
  PLM_TRY(device.wait());
  return out;
}

}  // namespace plm
