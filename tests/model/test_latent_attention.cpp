// Latent attention against its expanded form: keys and values of every head made from the latents, as the papers write
// them, and attended to in float64. Covers src/model/layers/latent_attention.cpp.
#include "model/layers/latent_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/layers/rope.h"
#include "single_sequence.h"

namespace plm {
namespace {

using Numbers = std::vector<double>;

std::string fixture(const char* name) { return std::string(PLM_GOLDEN) + "/oracle/" + name; }

/// One layer's weights and sizes, read from the file without the engine's help.
class Expanded {
 public:
  explicit Expanded(std::shared_ptr<const GgufFile> gguf) : gguf_(std::move(gguf)) {
    ModelFile file = ModelFile::open(gguf_).value();
    const auto key = [&](const char* name) { return file.integer(name, {0, 1U << 20}).value(); };
    const bool is_new = file.has_key("attention.key_length_mla");
    heads_ = key("attention.head_count");
    rank_ = key("attention.kv_lora_rank");
    rotated_ = key("rope.dimension_count");
    plain_ = key(is_new ? "attention.key_length_mla" : "attention.key_length") - rotated_;
    value_ = key(is_new ? "attention.value_length_mla" : "attention.value_length");
    hidden_ = key("embedding_length");
    const Rope::YarnForm form{.is_stretched = !file.has_key("rope.scaling.yarn_log_multiplier")};
    rope_ = std::make_unique<Rope>(Rope::from_file(file, rotated_, key("context_length"), form).value());
    scale_ = 1 / std::sqrt(static_cast<double>(plain_ + rotated_));
    if (file.has_key("rope.scaling.yarn_log_multiplier")) {
      const double stretch = 1 + file.positive_real("rope.scaling.yarn_log_multiplier", 1).value() *
                                     std::log(file.positive_real("rope.scaling.factor", 100).value());
      scale_ *= stretch * stretch;
    }
  }

  /// [rows, hidden_size] of the branch for residual rows x, positions 0, 1, ...
  [[nodiscard]] Numbers attend(const std::vector<float>& x) const {
    const std::size_t rows = x.size() / hidden_;
    Numbers normed(x.begin(), x.end());
    norm(normed, "attn_norm", hidden_);
    Numbers queries = normed;
    if (has("attn_q_a")) {
      queries = multiply("attn_q_a", normed, hidden_);
      norm(queries, "attn_q_a_norm", queries.size() / rows);
      queries = multiply("attn_q_b", queries, queries.size() / rows);
    } else {
      queries = multiply("attn_q", normed, hidden_);
    }
    Numbers latents = multiply("attn_kv_a_mqa", normed, hidden_), shared(rows * rotated_);
    Numbers inner(rows * rank_);
    for (std::size_t r = 0; r < rows; ++r) {
      std::copy_n(&latents[r * (rank_ + rotated_)], rank_, &inner[r * rank_]);
      std::copy_n(&latents[r * (rank_ + rotated_) + rank_], rotated_, &shared[r * rotated_]);
      turn(&shared[r * rotated_], r);
      for (std::size_t h = 0; h < heads_; ++h) turn(&queries[(r * heads_ + h) * (plain_ + rotated_) + plain_], r);
    }
    norm(inner, "attn_kv_a_norm", rank_);
    Numbers mixed(rows * heads_ * value_);
    for (std::size_t h = 0; h < heads_; ++h) attend_head(h, queries, inner, shared, mixed);
    return multiply("attn_output", mixed, heads_ * value_);
  }

 private:
  [[nodiscard]] bool has(const std::string& name) const {
    return gguf_->find_tensor("blk.0." + name + ".weight") != nullptr;
  }
  [[nodiscard]] std::vector<float> numbers(const std::string& name) const {
    const TensorEntry* tensor = gguf_->find_tensor("blk.0." + name + ".weight");
    const TensorBytes data = gguf_->read(*tensor).value();
    std::vector<float> values(tensor->element_count());
    const StorageType* type = find_storage_type(tensor->type->id);
    type->unpack(data.bytes.data(), values.data(), values.size() / type->block_size);
    return values;
  }
  [[nodiscard]] Numbers multiply(const std::string& name, const Numbers& in, std::size_t inputs) const {
    const std::vector<float> w = numbers(name);
    const std::size_t outputs = w.size() / inputs, rows = in.size() / inputs;
    Numbers out(rows * outputs);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t k = 0; k < inputs; ++k) out[i] += w[i % outputs * inputs + k] * in[i / outputs * inputs + k];
    }
    return out;
  }
  void norm(Numbers& x, const std::string& name, std::size_t n) const {
    const std::vector<float> gain = numbers(name);
    for (std::size_t first = 0; first < x.size(); first += n) {
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i) squares += x[first + i] * x[first + i];
      const double root = std::sqrt(squares / static_cast<double>(n) + 1e-6);
      for (std::size_t i = 0; i < n; ++i) x[first + i] *= gain[i] / root;
    }
  }
  void turn(double* x, std::size_t position) const {
    const std::vector<std::uint32_t> positions{static_cast<std::uint32_t>(position)};
    std::vector<float> angles(rotated_);
    rope_->fill_angles(positions, angles);
    for (std::size_t i = 0; i < rotated_ / 2; ++i) {
      const double a = x[2 * i], b = x[2 * i + 1], cosine = angles[i], sine = angles[rotated_ / 2 + i];
      x[2 * i] = a * cosine - b * sine;
      x[2 * i + 1] = a * sine + b * cosine;
    }
  }
  // Number i of what the head makes of a latent: of its key, or of its value.
  [[nodiscard]] double made(std::size_t head, std::size_t i, bool is_key, const double* latent) const {
    const std::size_t rows = plain_ + value_;
    double sum = 0;
    for (std::size_t k = 0; k < rank_; ++k) {
      const double w = !both_.empty() ? both_[(head * rows + (is_key ? i : plain_ + i)) * rank_ + k]
                       : is_key       ? key_up_[(head * rank_ + k) * plain_ + i]
                                      : value_up_[(head * value_ + i) * rank_ + k];
      sum += w * latent[k];
    }
    return sum;
  }
  void attend_head(std::size_t head, const Numbers& queries, const Numbers& latents, const Numbers& shared,
                   Numbers& mixed) const {
    const std::size_t rows = latents.size() / rank_, width = plain_ + rotated_;
    Numbers keys, values;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < plain_; ++i) keys.push_back(made(head, i, true, &latents[r * rank_]));
      keys.insert(keys.end(), &shared[r * rotated_], &shared[r * rotated_] + rotated_);
      for (std::size_t i = 0; i < value_; ++i) values.push_back(made(head, i, false, &latents[r * rank_]));
    }
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = 0;
      double* out = &mixed[(r * heads_ + head) * value_];
      for (std::size_t cell = 0; cell <= r; ++cell) {
        double score = 0;
        for (std::size_t i = 0; i < width; ++i)
          score += queries[(r * heads_ + head) * width + i] * keys[cell * width + i];
        const double weight = std::exp(score * scale_);
        sum += weight;
        for (std::size_t i = 0; i < value_; ++i) out[i] += weight * values[cell * value_ + i];
      }
      for (std::size_t i = 0; i < value_; ++i) out[i] /= sum;
    }
  }

  std::shared_ptr<const GgufFile> gguf_;
  std::size_t heads_, rank_, rotated_, plain_, value_, hidden_;
  std::unique_ptr<Rope> rope_;
  double scale_ = 1;
  std::vector<float> both_ = has("attn_kv_b") ? numbers("attn_kv_b") : std::vector<float>{};
  std::vector<float> key_up_ = has("attn_k_b") ? numbers("attn_k_b") : std::vector<float>{};
  std::vector<float> value_up_ = has("attn_v_b") ? numbers("attn_v_b") : std::vector<float>{};
};

TEST(LatentAttention, TheAbsorbedFormComputesTheExpandedOne) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 60; ++i) tokens.push_back(5 + 31 * i % 300);
  for (const char* name : {"deepseek_v3-bf16.gguf", "deepseek_v2_old-bf16.gguf"}) {
    SingleSequence sequence(fixture(name));
    sequence.append(tokens);
    const Numbers expected = Expanded(sequence.gguf).attend(sequence.taps.at("embed"));
    const std::vector<float>& found = sequence.taps.at("layer.0.attn");
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << name << ", " << i;
  }
}

TEST(LatentAttention, ACellIsOneLatentAndOneRotatedKeyALayer) {
  const SingleSequence sequence(fixture("deepseek_v3-bf16.gguf"));
  EXPECT_EQ(sequence.model->state_layout(quant_f32).value().cell_bytes(), 2 * (32 + 8) * sizeof(float));
  EXPECT_EQ(sequence.model->state_layout(quant_f16).value().cell_bytes(), 2 * (32 + 8) * sizeof(std::uint16_t));
  const auto expect_refused = [&](const KvTypes& types, std::string_view says) {
    const auto refused = sequence.model->state_layout(types);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_NE(refused.error().message.find(says), std::string::npos) << refused.error().message;
  };
  expect_refused(quant_q8_0, "this model have 40, 32 of them latent; choose from f32, f16, bf16");
  expect_refused({quant_f16, quant_f32}, "give one type for both");
  StateLayout published;  // DeepSeek-V3's
  const KvPlace place{.types = quant_q8_0, .kv_heads = 1, .head_dim = 576, .latent_dim = 512};
  ASSERT_TRUE(published.add_layer(place).has_value());
  EXPECT_EQ(published.cell_bytes(), 576 / 32 * 34U);
  KvPlace coarse = place;
  coarse.types = quant_q4_0;
  EXPECT_FALSE(published.add_layer(coarse).has_value());
}

}  // namespace
}  // namespace plm
