// The Device: about sixteen coarse operations over views, the only way anything touches device memory.
//
// Contract
//  1. Operations are enqueued and run in order, at the latest inside `wait`. Results exist on the host after `wait`.
//  2. No host pointer to device memory leaves the device. What the host hands in by span (ids, row tables) is read
//     until the next `wait` returns and must stay valid until then; `upload` alone copies at once.
//  3. Every output number is reduced in one fixed tree that depends on its own absolute place only (DESIGN section 4),
//     so a row's bits depend neither on the other rows nor on the number of threads. The trees are written down at each
//     operation; the reference kernels are their plain form, and the fast ones give equal bits where the machine has
//     fused multiply-add.
//  4. A weight's role says along which axis it may be split over several devices; `all_reduce` sums partial results in
//     rank order and does nothing on one device. Models call it after the roles that are split along their input.
// "lanes16(v)" below is: sixteen running sums, number i goes to sum i mod 16, in order; then sums j and j+8, j+4, j+2,
// j+1 are added pairwise.
// Tested by tests/kernels/cpu/test_cpu_device.cpp; the independence of host memory by
// tests/kernels/test_fake_device.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tensor/kv_types.h"
#include "tensor/page.h"
#include "tensor/storage.h"

namespace plm {

enum class WeightRole {
  embedding,
  head,
  norm,
  bias,
  attention_query,
  attention_key,
  attention_value,
  attention_output,
  ffn_gate,
  ffn_up,
  ffn_down,
  recurrent_input,
  recurrent_output,
  convolution,
  router,
  attention_latent,  ///< what all heads read: DeepSeek's low-rank queries and keys
};

/// Axis along which a weight [outputs, inputs] may be cut over devices.
enum class SplitAxis { none, outputs, inputs };
[[nodiscard]] SplitAxis split_axis(WeightRole role);

/// A matrix [outputs, inputs] (or a vector: outputs = 1), or several of one shape, in whatever shape the device wants
/// it.
class Weight {
 public:
  virtual ~Weight() = default;
  WeightRole role = WeightRole::norm;
  const StorageType* type = nullptr;  ///< as in the file
  std::size_t outputs = 0;
  std::size_t inputs = 0;
  std::size_t count = 1;  ///< of matrices: one for each expert or head
  std::size_t denormals =
      0;  ///< numbers of a plain type too small for a normal float32; many processors are slow on them
};

/// What a file says about a weight. `bytes` are rows of `inputs` numbers, one matrix behind the other, and must outlive
/// the Weight, which keeps `owner` for that where it is not null.
struct WeightSource {
  std::string_view name;  ///< for errors
  WeightRole role;
  const StorageType* type;
  std::size_t outputs;
  std::size_t inputs;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner = nullptr;
  std::size_t count = 1;
};

/// Where a layer's keys and values lie inside each page of a sequence; in what order there is the device's affair. The
/// types are f32, f16, bf16, and q8_0 and q4_0 with their blocks along head_dim, which must be a multiple of 32.
struct KvPlace {
  std::size_t offset = 0;  ///< bytes from the start of the page
  KvTypes types = {};      ///< that of the values says nothing where there are none
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;  ///< numbers of a key
  /// Not 0: no values are stored; the value of a cell is the first so many numbers of its key (latent attention).
  std::size_t latent_dim = 0;

  [[nodiscard]] std::size_t value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
  /// Bytes of the keys, the values, and all of one layer in one page.
  [[nodiscard]] std::size_t key_bytes() const { return kv_heads * kPageCells * types.keys->row_bytes(head_dim); }
  [[nodiscard]] std::size_t value_bytes() const {
    return latent_dim > 0 ? 0 : kv_heads * kPageCells * types.values->row_bytes(head_dim);
  }
  [[nodiscard]] std::size_t bytes() const { return key_bytes() + value_bytes(); }
};

// ---- What recurrent layers keep of a sequence: one block of float32 numbers, which every row changes.

/// Where the last inputs of a causal convolution lie inside the block.
struct ConvPlace {
  std::size_t offset = 0;  ///< bytes from the start of the block
  std::size_t channels = 0;
  std::size_t taps = 0;  ///< inputs that an output sees, its own among them
  [[nodiscard]] std::size_t bytes() const { return (taps - 1) * channels * sizeof(float); }
};

/// Where the matrices [key_size, value_size] of a scan lie inside the block, one for each head; in what order the
/// numbers are there is the device's affair.
struct ScanPlace {
  std::size_t offset = 0;  ///< bytes from the start of the block
  std::size_t heads = 0;
  std::size_t key_size = 0;
  std::size_t value_size = 0;
  [[nodiscard]] std::size_t bytes() const { return heads * key_size * value_size * sizeof(float); }
};

/// A block that gets what the sequence's own holds after a row.
struct RecurrentSave {
  std::uint32_t row = 0;  ///< of the pass
  Storage* to = nullptr;
};

/// The rows of one sequence in a pass, each the next of the one before it.
struct RecurrentRun {
  std::uint32_t first_row = 0;
  std::uint32_t row_count = 0;
  std::uint32_t first_save = 0;  ///< in RowTable::saves, ascending by row
  std::uint32_t save_count = 0;
  bool begins = false;       ///< the sequence has no row before: the block counts as zeros, whatever it holds
  Storage* block = nullptr;  ///< of the rows before; then of these as well
};

/// What one row of a pass may see: the slots [begin, end) of its sequence, and of the slots from `own_begin` on those
/// whose bit is set in its row of `RowTable::own_bits` (visibility among the rows of the pass itself).
struct RowSight {
  std::uint32_t sequence = 0;  ///< index into RowTable::pages
  std::uint32_t slot = 0;      ///< where this row's own key and value are stored
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t own_begin = 0;
  std::uint32_t own_count = 0;      ///< number of slots the bits speak about; 0: no bits
  std::uint32_t own_bits_word = 0;  ///< first 64-bit word of the row's bits
};

/// The rows of one pass as attention sees them; shared by all layers.
struct RowTable {
  std::span<const RowSight> rows;
  std::span<const std::span<Storage* const>> pages;  ///< per sequence, in order of the cells they hold
  std::span<const std::uint64_t> own_bits;
  std::span<const RecurrentRun> runs = {};    ///< all rows, in order; empty where no layer is recurrent
  std::span<const RecurrentSave> saves = {};  ///< of all runs
};

enum class RopeLayout { interleaved, half_split };  ///< pairs (2i, 2i+1) or (i, i + n/2)

/// What a gate goes through. The two forms of GELU: x Phi(x), and its approximation by tanh. clamped_swiglu multiplies
/// g / (1 + e^(-1.702 g)) by up + 1, the gate g at most 7 and up between -7 and 7 (gpt-oss).
enum class Activation { silu, gelu_tanh, gelu_erf, clamped_swiglu, sigmoid };

/// What a number goes through by itself.
enum class Curve { silu, gelu_tanh, gelu_erf, relu, tanh };

/// How a product query . key becomes a score.
struct ScoreRule {
  float scale;                    ///< a factor
  float soft_cap = 0;             ///< then cap * tanh(score / cap), where it is not 0
  const Weight* sinks = nullptr;  ///< [q_heads] one more score for each head, of a cell that has no value; or null

  ScoreRule(float factor, float cap = 0) : scale(factor), soft_cap(cap) {}  // NOLINT(google-explicit-constructor)
};

/// A depthwise convolution: one filter for each channel.
struct ConvWeights {
  const Weight& taps;            ///< [channels, taps], role `convolution`; the last tap is of the row itself
  const Weight* bias = nullptr;  ///< [channels]
};

/// What a state-space layer (Mamba-2, arXiv 2405.21060) reads; head h shares `keys` and `queries` with the other heads
/// of its group.
struct StateSpaceInputs {
  View values;         ///< [rows, heads * value_size], "x"
  View keys, queries;  ///< [rows, groups * key_size], "B" and "C"
  View steps;          ///< [rows, heads], "dt"
  const Weight& step_bias;
  const Weight& rates;  ///< [heads], "A", below 0
  const Weight& skips;  ///< [heads], "D"
};

/// What a gated delta rule (arXiv 2412.06464) reads. Head h reads key head h / (heads / key_heads).
struct DeltaRuleInputs {
  View queries, keys;  ///< [rows, key_heads * key_size], normalised
  View values;         ///< [rows, heads * value_size]
  View writes, steps;  ///< [rows * key_heads, heads / key_heads], "b" and "a"
  const Weight& step_bias;
  const Weight& rates;  ///< [heads], below 0
};

// ---- Mixtures of experts

/// How the router's scores choose the experts of a row and weigh them. Where scores are equal, the lower number wins.
struct RouterRule {
  enum class Scores : std::uint8_t {
    softmax,            ///< over all experts, then the best are chosen
    softmax_of_chosen,  ///< the best are chosen, then over those
    sigmoid,            ///< of each expert by itself
  };
  static constexpr std::size_t kMostExperts = 1024;

  Scores scores = Scores::softmax;
  std::size_t used = 1;         ///< experts of a row, k
  std::size_t groups = 1;       ///< equal runs of experts, of which only `used_groups` may be chosen from
  std::size_t used_groups = 1;  ///< those with the largest sums of their `group_best` largest scores
  std::size_t group_best = 1;
  bool is_normalised = false;  ///< weights are divided by their sum + 1e-20
  float scale = 1;             ///< of the weights, at the end
};

/// The matrices of a layer's experts, one expert behind the other, and their biases [experts, outputs], or null.
struct ExpertWeights {
  const Weight* gate;  ///< [experts, ffn_size, hidden_size]
  const Weight* up;    ///< the same
  const Weight* down;  ///< [experts, hidden_size, ffn_size]
  const Weight* gate_bias = nullptr;
  const Weight* up_bias = nullptr;
  const Weight* down_bias = nullptr;
  Activation activation = Activation::silu;
};

/// Memory for the rows of all experts: each row of a pass k times, sorted by expert.
struct ExpertScratch {
  View rows;  ///< [rows * k, hidden_size]
  View gate;  ///< [rows * k, ffn_size]
  View up;    ///< the same
};

/// What is known of a row of logits without looking at all of them. entropy in nats.
struct RowStatistics {
  float max = 0;
  float second = 0;  ///< second largest value, equal to max on a tie; -inf with one candidate
  float log_sum_exp = 0;
  float entropy = 0;
  std::int32_t argmax = 0;  ///< smallest id among equals
  std::int32_t bad = 0;     ///< 1 when a logit is NaN or +inf; then nothing else is said
};

struct TokenScore {
  std::int32_t id;
  float logit;
};

class Device : public Memory {
 public:
  [[nodiscard]] virtual std::string describe() const = 0;  ///< for recipes: device and SIMD target

  /// Takes a weight in. Vectors (roles norm and bias) are unpacked to float32 at once, whatever their type in the file.
  /// Errors: bad_input (a scale is NaN or infinite; names the weight), no_room.
  virtual Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) = 0;

  // ---- moving numbers
  virtual void upload(const View& to, std::span<const std::byte> from) = 0;
  virtual void download(const View& from, std::span<std::byte> to) = 0;
  /// Copies a whole storage onto another of the same size.
  virtual void copy(Storage& to, const Storage& from) = 0;
  /// Copies the numbers of a view into another of the same shape and type.
  virtual void copy(const View& to, const View& from) = 0;
  /// out[i] = in[indices[i]]; indices < in.rows.
  virtual void gather_rows(const View& in, std::span<const std::uint32_t> indices, const View& out) = 0;

  // ---- layers; all activations are float32
  /// out[i] = row ids[i] of the table, unpacked, times factor. ids in [0, table.outputs).
  virtual void embed(const Weight& table, std::span<const std::int32_t> ids, const View& out, float factor = 1) = 0;
  /// out[r][o] = sum over inputs of in[r][k] * w[o][k], then `+ bias[o]` if there is one; each in order of k:
  ///  - plain weights, or activations kept float32: partial sums of 32 consecutive k by fused multiply-add, added up.
  ///  - quantised weights and activations rounded by the part of 32 inputs (kernels/cpu/rounded_rows.h; chosen when the
  ///    device is made): for each group of inputs that share a scale, the product of whole numbers, exact, converted to
  ///    float32; then fused sum + product * (scale * input scale), sum + offset * (sum of levels * input scale).
  virtual void linear(const Weight& weight, const View& in, const View& out, const Weight* bias = nullptr) = 0;
  /// A row as `weight.count` heads of equal width: the first `outputs` numbers of each head of out = the head's own
  /// matrix times the first `inputs` numbers of that head of in; as `linear` with activations kept float32.
  virtual void head_linear(const Weight& weight, const View& in, const View& out) = 0;
  /// out = in / sqrt(lanes16(in^2)/n + epsilon) * gain, row by row. In place is allowed.
  virtual void rms_norm(const View& in, const Weight& gain, float epsilon, const View& out) = 0;
  /// Rotates the first 2 * angles.columns/2 numbers of every head in place; the last head may end behind them.
  /// angles[r] = cosines, then sines.
  virtual void rope(const View& x, std::size_t head_dim, const View& angles, RopeLayout layout) = 0;
  /// In every run of `block` columns, a power of two: x = H x, H the Hadamard matrix in Sylvester's order, made
  /// orthonormal, and so its own inverse. Sums and differences of numbers 1, 2, 4, ... apart, then times 1 /
  /// sqrt(block).
  virtual void hadamard(const View& x, std::size_t block) = 0;
  /// Writes keys and values of every row to its slot, rounded to the place's types by their plain rule (StorageType's
  /// pack). `values` has no rows where the place stores none.
  virtual void store_kv(const View& keys, const View& values, const RowTable& table, const KvPlace& place) = 0;
  /// Softmax attention of every query head over what its row sees; query head h reads KV head h / (q_heads / kv_heads).
  /// Per page: scores q.k (fused, dimensions in order) by the rule, e^(score - page max), lanes16 over the cells of the
  /// page, values summed cell by cell (fused), pages combined in order. Numbers of q8_0 and q4_0 are the
  /// products level * scale. Values that are part of their keys: for each dimension, lanes16 (fused) over the visible
  /// cells of the page. A sink joins behind the pages. A row that sees nothing gets zeros. `out` must not lie on
  /// `queries`.
  virtual void attention(const View& queries, const RowTable& table, const KvPlace& place, ScoreRule rule,
                         const View& out) = 0;
  /// out = activation(gate) * up.
  virtual void gate_multiply(const View& gate, const View& up, Activation activation, const View& out) = 0;
  /// x = cap * tanh(x / cap); cap above 0.
  virtual void soft_cap(const View& x, float cap) = 0;
  /// x += y.
  virtual void add(const View& x, const View& y) = 0;
  /// x *= factor.
  virtual void scale(const View& x, float factor) = 0;

  // ---- recurrent layers: rows change the block of their sequence one after another, in one pass as in many
  /// out[r][c] = silu(bias[c] + taps[c][0] * in[r - taps + 1][c] + ... + taps[c][last] * in[r][c]), fused, in this
  /// order; without a bias it begins with 0. `out` must not lie on `in`.
  virtual void causal_conv(const View& in, const RowTable& table, const ConvPlace& place, const ConvWeights& weights,
                           const View& out) = 0;
  /// For every head, m being its matrix, t = softplus(step + step_bias): m[k][v] = fused(m[k][v] * e^(t * rate) +
  /// (t * value[v]) * key[k]); out[v] = fused(skip * value[v] + sum over k, in order, fused, of m[k][v] * query[k]).
  virtual void state_space_scan(const StateSpaceInputs& in, const RowTable& table, const ScanPlace& place,
                                const View& out) = 0;
  /// For every head: m[k][v] *= e^(softplus(step + step_bias) * rate); d[v] = sigmoid(write) * (value[v] - sum over k
  /// of m[k][v] * key[k]); m[k][v] += key[k] * d[v]; out[v] = sum over k of m[k][v] * query[k]. Sums are in order and
  /// fused, as is the change of m.
  virtual void delta_rule_scan(const DeltaRuleInputs& in, const RowTable& table, const ScanPlace& place,
                               const View& out) = 0;

  // ---- mixtures of experts
  /// routing[r] = the numbers of the k experts of row r, the best first, then their weights. softmax: e^(score - max)
  /// divided by lanes16 of all; over the chosen: in the order of their choice. sigmoid: 1 / (1 + e^-score). With a
  /// bias [experts], score + bias chooses, and the score alone weighs. Sums of groups and of weights: best first.
  virtual void route(const View& scores, const RouterRule& rule, const Weight* bias, const View& routing) = 0;
  /// out[r] = sum over the experts of the row, as `routing` has them, of weight * expert(in[r]), fused, the first
  /// first; expert(x) = down(activation(gate(x)) * up(x)), each as `linear`. Each expert's weights are read once for
  /// all of its rows. `out` must not lie on `in`.
  virtual void experts(const ExpertWeights& weights, const View& in, const View& routing, const ExpertScratch& scratch,
                       const View& out) = 0;
  /// x[r] += y[r] / (1 + e^-gates[r][0]): a branch that every row weighs for itself.
  virtual void add_gated(const View& x, const View& y, const View& gates) = 0;
  // ---- encoders and heads
  /// out = (in - m) / sqrt(lanes16((in - m)^2)/n + epsilon) * gain (+ bias, if there is one), m = lanes16(in)/n, row by
  /// row. In place is allowed.
  virtual void layer_norm(const View& in, const Weight& gain, const Weight* bias, float epsilon, const View& out) = 0;
  /// x = curve(x).
  virtual void apply(const View& x, Curve curve) = 0;

  /// Sums x over all devices in rank order.
  virtual void all_reduce(const View& x) = 0;

  // ---- reading logits
  /// statistics[r] of logits[r]; sums are lanes16 over runs of 256, added in float64.
  virtual void statistics(const View& logits, std::span<RowStatistics> statistics) = 0;
  /// top[r * n ...]: the n largest logits of row r, by (logit descending, id ascending).
  virtual void top_n(const View& logits, std::size_t n, std::span<TokenScore> top) = 0;

  /// Runs everything enqueued and makes the results readable. Errors of the device itself (none on a CPU).
  virtual Result<void> wait() = 0;
};

}  // namespace plm
