// DiffusionGemma against transformers' class: a tiny file whose numbers follow the rule of tools/make_canvas_golden.py,
// a prompt read causally, a canvas refined twice, read, and the next one. Covers
// src/model/arch/arch_diffusion_gemma.cpp.
#include "model/layers/canvas_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/json.h"
#include "format/gguf_writer.h"
#include "single_sequence.h"

namespace plm {
namespace {

Json golden() {
  std::ifstream file(PLM_GOLDEN "/diffusion_gemma.json");
  Json json;
  file >> json;
  return json;
}

std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

// The file, tensor by tensor.
class TinyCanvas {
 public:
  explicit TinyCanvas(const Json& sizes) : sizes_(sizes) {
    const std::size_t hidden = size("hidden"), ffn = size("ffn"), vocabulary = size("vocabulary");
    keys();
    add("token_embd.weight", {hidden, vocabulary});
    add("output_norm.weight", {hidden});
    add("self_cond_pre_norm.weight", {hidden});
    add("self_cond_gate.weight", {hidden, ffn});
    add("self_cond_up.weight", {hidden, ffn});
    add("self_cond_down.weight", {ffn, hidden});
    std::vector<float> divisors(size("wide") / 2, 1e30F);  // a quarter of the dimensions is turned
    std::fill_n(divisors.begin(), divisors.size() / 4, 1.0F);
    add("rope_freqs.weight", {divisors.size()}, divisors);
    for (std::size_t i = 0; i < size("layers"); ++i) layer(i);
  }

  [[nodiscard]] std::shared_ptr<const GgufFile> file() {
    bytes_ = std::make_shared<std::vector<std::byte>>(writer_.bytes());
    return GgufFile::parse(*bytes_, "tiny-canvas").value();
  }

 private:
  [[nodiscard]] std::size_t size(const char* name) const { return sizes_.at(name).get<std::size_t>(); }
  [[nodiscard]] std::uint32_t number(const char* name) const { return sizes_.at(name).get<std::uint32_t>(); }

  void keys() {
    const std::string prefix = "diffusion-gemma.";
    writer_.add_string("general.architecture", "diffusion-gemma");
    const std::pair<const char*, std::uint32_t> numbers[] = {{"block_count", number("layers")},
                                                             {"context_length", 64},
                                                             {"embedding_length", number("hidden")},
                                                             {"feed_forward_length", number("ffn")},
                                                             {"attention.head_count", number("heads")},
                                                             {"attention.key_length", number("wide")},
                                                             {"attention.value_length", number("wide")},
                                                             {"attention.key_length_swa", number("narrow")},
                                                             {"attention.value_length_swa", number("narrow")},
                                                             {"attention.sliding_window", number("window")},
                                                             {"attention.shared_kv_layers", 0},
                                                             {"embedding_length_per_layer_input", 0},
                                                             {"rope.dimension_count", number("wide")},
                                                             {"rope.dimension_count_swa", number("narrow")},
                                                             {"expert_count", number("experts")},
                                                             {"expert_used_count", number("used")},
                                                             {"expert_feed_forward_length", number("expert_ffn")},
                                                             {"diffusion.canvas_length", 5}};
    for (const auto& [key, value] : numbers) writer_.add_u32(prefix + key, value);
    writer_.add_f32(prefix + "attention.layer_norm_rms_epsilon", 1e-6F);
    writer_.add_f32(prefix + "rope.freq_base", 1e6F);
    writer_.add_f32(prefix + "rope.freq_base_swa", 1e4F);
    writer_.add_f32(prefix + "final_logit_softcapping", 30.0F);
    writer_.add_boolean(prefix + "attention.causal", false);
    writer_.add_booleans(prefix + "attention.sliding_window_pattern", sizes_.at("windows").get<std::vector<bool>>());
    writer_.add_i32s(prefix + "attention.head_count_kv", sizes_.at("kv_heads").get<std::vector<std::int32_t>>());
  }

  void layer(std::size_t index) {
    const bool has_window = sizes_.at("windows")[index].get<bool>();
    const std::size_t hidden = size("hidden"), ffn = size("ffn"), experts = size("experts"), small = size("expert_ffn");
    const std::size_t head = size(has_window ? "narrow" : "wide");
    const std::size_t q = size("heads") * head, kv = sizes_.at("kv_heads")[index].get<std::size_t>() * head;
    const auto add_part = [&](const char* name, std::vector<std::uint64_t> dims) {
      add(fmt::format("blk.{}.{}", index, name), std::move(dims));
    };
    for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm_1", "pre_ffw_norm_2",
                             "post_ffw_norm_2", "post_ffw_norm"}) {
      add_part(fmt::format("{}.weight", norm).c_str(), {hidden});
    }
    add_part("attn_q_norm.weight", {head});
    add_part("attn_k_norm.weight", {head});
    add_part("attn_q.weight", {hidden, q});
    add_part("attn_k.weight", {hidden, kv});
    if (has_window) add_part("attn_v.weight", {hidden, kv});
    add_part("attn_output.weight", {q, hidden});
    add_part("ffn_gate.weight", {hidden, ffn});
    add_part("ffn_up.weight", {hidden, ffn});
    add_part("ffn_down.weight", {ffn, hidden});
    add_part("ffn_gate_inp.weight", {hidden, experts});
    add_part("ffn_gate_inp.scale", {hidden});
    add_part("ffn_gate_up_exps.weight", {hidden, 2 * small, experts});
    add_part("ffn_down_exps.weight", {small, hidden, experts});
    add_part("ffn_down_exps.scale", {experts});
    add_part("layer_output_scale.weight", {1});
    add_part("enc_layer_output_scale.weight", {1});
  }

  void add(const std::string& name, std::vector<std::uint64_t> dims, std::vector<float> values = {}) {
    std::size_t count = 1;
    for (const std::uint64_t dim : dims) count *= dim;
    const bool multiplies =
        name.find("norm") != name.npos || name.ends_with("scale") || name.find("output_scale") != name.npos;
    for (std::uint64_t i = values.size(); i < count; ++i) {
      const std::uint64_t mixed = (i * 2654435761U + crc32(name)) % (std::uint64_t{1} << 32);
      const float value = static_cast<float>((mixed >> 13) % 257) / 512 - 0.25F;
      values.push_back(value + (multiplies ? 1.0F : 0.0F));
    }
    writer_.add_tensor(name, *find_ggml_type("F32"), dims, std::as_bytes(std::span(values)));
  }

  const Json& sizes_;
  GgufWriter writer_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

std::vector<float> softmax(const std::vector<float>& logits, double temperature) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit / temperature);
  std::vector<float> shares;
  for (const float logit : logits) shares.push_back(static_cast<float>(std::exp(logit / temperature) / sum));
  return shares;
}

using Rows = std::vector<std::vector<float>>;

// A pass over a canvas behind what the sequence has read; nothing is remembered.
Rows refine(SingleSequence& sequence, const std::vector<std::int32_t>& canvas, const Rows& soft) {
  std::vector<PageCopy> copies;
  EXPECT_TRUE(sequence.state->reserve(canvas.size(), copies).has_value());
  for (const PageCopy& copy : copies) sequence.device->copy(*copy.to, *copy.from);
  const auto base = static_cast<std::uint32_t>(sequence.state->length());
  const auto count = static_cast<std::uint32_t>(canvas.size());
  std::vector<std::uint32_t> positions;
  std::vector<RowSight> sights;
  std::vector<Yield> yields;
  for (std::uint32_t row = 0; row < count; ++row) {
    positions.push_back(base + row);
    sights.push_back({.slot = base + row, .end = base + count});
    yields.push_back({row, YieldKind::logits, 0});
  }
  const std::vector<std::span<Storage* const>> pages{sequence.state->storages()};
  const std::vector<std::int32_t> types(count, 1);
  const std::vector<std::span<const float>> soft_tokens(soft.begin(), soft.end());
  std::vector<RowStatistics> statistics(count);
  std::vector<YieldResult> results(count);
  const PassRows rows{.tokens = canvas,
                      .positions = positions,
                      .table = {sights, pages, {}},
                      .types = types,
                      .soft_tokens = soft_tokens,
                      .yields = yields,
                      .statistics = statistics,
                      .results = results};
  EXPECT_TRUE(sequence.model->enqueue(rows, sequence.layout, {}).has_value());
  EXPECT_TRUE(sequence.device->wait().has_value());
  Rows logits;
  for (YieldResult& result : results) logits.push_back(std::move(result.values));
  return logits;
}

void expect_near(const Rows& found, const Json& wanted) {
  std::size_t i = 0;
  double largest = 0;
  for (const std::vector<float>& row : found) {
    for (const float logit : row) largest = std::max(largest, std::abs(double{logit} - wanted[i++].get<double>()));
  }
  EXPECT_EQ(i, wanted.size());
  EXPECT_LT(largest, 1e-4);
}

TEST(CanvasModel, ReadsCausallyAndRefinesACanvasAsTransformersDoes) {
  const Json json = golden();
  TinyCanvas tiny(json.at("sizes"));
  SingleSequence sequence(tiny.file(), {.threads = 1});
  auto read = json.at("prompt").get<std::vector<std::int32_t>>();
  std::size_t pass = 0;
  for (const Json& each : json.at("canvases")) {
    SCOPED_TRACE(pass);
    (void)sequence.append(read);
    const auto canvas = each.get<std::vector<std::int32_t>>();
    const Rows first = refine(sequence, canvas, {});
    expect_near(first, json.at("logits")[pass++]);
    Rows soft;
    for (const auto& row : first) soft.push_back(softmax(row, json.at("temperature").get<double>()));
    expect_near(refine(sequence, canvas, soft), json.at("logits")[pass++]);
    read = canvas;
  }
}

TEST(CanvasModel, RefinesNoiseAndHasNoMaskToken) {
  const Json json = golden();
  TinyCanvas tiny(json.at("sizes"));
  const auto file = tiny.file();
  const ModelFile model = ModelFile::open(file).value();
  const auto traits = read_diffusion_traits(*file, find_architecture(model).value()->diffusion).value();
  EXPECT_EQ(traits->noise, DiffusionNoise::uniform);
  EXPECT_EQ(traits->attention, DiffusionAttention::causal_context);
  EXPECT_EQ(traits->block_length, 5U) << "the canvas's length";
}

}  // namespace
}  // namespace plm
