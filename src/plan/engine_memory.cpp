#include "plan/engine_memory.h"

#include <algorithm>

#include "kernels/profile.h"
#include "plan/families.h"
#include "plan/gguf_sketch.h"
#include "tensor/page.h"

namespace plm {
namespace {

constexpr std::uint64_t kFloat = 4;
constexpr std::uint64_t kSmallestWorkspace = 1U << 16;  // as model/workspace.h has it

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

bool is_table(std::string_view name) {
  return name == "token_embd.weight" || name == "position_embd.weight" || name == "token_types.weight";
}

// Matrices of one output, which are stored as vectors.
bool is_one_row(std::string_view name) {
  return ends_with(name, ".ffn_gate_inp_shexp.weight") || name == "cls.weight" || name == "cls.output.weight";
}

// Norms, biases, and what belongs to a head or a channel: kept as float32 whatever the file has.
bool is_vector(const TensorEntry& tensor) {
  const std::string_view name = tensor.name;
  if (is_one_row(name)) return false;
  if (tensor.rank == 1 || ends_with(name, ".bias") || name.find("norm") != std::string_view::npos) return true;
  return ends_with(name, ".ssm_a") || ends_with(name, ".ssm_d") || name.find("conv") != std::string_view::npos;
}

class WeightCounter {
 public:
  explicit WeightCounter(const GgufFile& file) : file_(file), keys_(file) {}

  WeightBytes count() {
    for (const TensorEntry& tensor : file_.tensors()) add(tensor);
    return bytes_;
  }

 private:
  void add(const TensorEntry& tensor) {
    if (tensor.name.starts_with("rope_f")) return;  // factors of rotations, which are computed on the host
    if (is_table(tensor.name)) {
      // Rows are looked up where they lie.
      (tensor.make != nullptr ? bytes_.made : bytes_.in_file) += tensor.byte_count();
      if (tensor.name == "token_embd.weight" && is_head_too()) {
        const std::uint64_t before = bytes_.packed;
        pack(tensor, tensor.dims[1], 1);
        bytes_.head = bytes_.packed - before;
      }
      return;
    }
    if (is_vector(tensor)) {
      bytes_.vectors += tensor.element_count() * kFloat;
      return;
    }
    if (ends_with(tensor.name, "attn_kv_b.weight")) return add_latent(tensor);
    // Delta rules scale queries and keys by constants, which no file holds.
    if (ends_with(tensor.name, ".ssm_ba.weight")) bytes_.vectors += 2 * keys_.number("ssm.state_size") * kFloat;
    const std::uint64_t before = bytes_.packed;
    for (const std::uint64_t rows : parts(tensor)) pack(tensor, rows, tensor.dims[2]);
    if (tensor.name == "output.weight") bytes_.head = bytes_.packed - before;
  }

  // Whether the table of the vocabulary is the head as well.
  [[nodiscard]] bool is_head_too() const {
    if (file_.find_tensor("output.weight") != nullptr || file_.find_tensor("cls.output.weight") != nullptr)
      return false;
    return !find_family(keys_.family()).reads_whole || find_family(keys_.family()).fills_masks ||
           file_.find_tensor("output_transform.weight") != nullptr;
  }

  // A matrix that several weights take their rows from is packed in parts.
  [[nodiscard]] std::vector<std::uint64_t> parts(const TensorEntry& tensor) const {
    const std::uint64_t rows = tensor.dims[1];
    const std::string name(tensor.name);
    if (ends_with(name, "ffn_gate_up_exps.weight")) return {rows / 2, rows / 2};
    if (ends_with(name, ".ffn_up.weight")) {
      const std::string prefix = name.substr(0, name.size() - std::string_view("ffn_up.weight").size());
      const TensorEntry* down = file_.find_tensor(prefix + "ffn_down.weight");
      if (down != nullptr && rows == 2 * down->dims[0]) return {rows / 2, rows / 2};
    }
    if (ends_with(name, ".attn_qkv.weight") &&
        file_.find_tensor(name.substr(0, name.size() - 15) + "attn_output.weight") != nullptr) {
      const std::uint64_t heads = std::max<std::uint64_t>(keys_.number("attention.head_count"), 1);
      const std::uint64_t head = keys_.number("attention.key_length", keys_.number("embedding_length") / heads);
      const std::uint64_t queries = heads * head;
      if (queries < rows) return {queries, (rows - queries) / 2, (rows - queries) / 2};
    }
    return {rows};
  }

  // In old files one matrix holds what makes keys of latent vectors, which is turned, and what makes values.
  void add_latent(const TensorEntry& tensor) {
    const std::uint64_t heads = std::max<std::uint64_t>(keys_.number("attention.head_count"), 1);
    const std::uint64_t rank = tensor.dims[0], rows = tensor.dims[1] / heads;
    const std::uint64_t values =
        std::min(rows, keys_.number("attention.value_length_mla", keys_.number("attention.value_length")));
    bytes_.packed += packed_weight_bytes(quant_f32, rank, rows - values, heads);
    pack(tensor, values, heads);
  }

  void pack(const TensorEntry& tensor, std::uint64_t rows, std::uint64_t count) {
    const StorageType* type = find_storage_type(tensor.type->id);
    const std::uint64_t packed = type != nullptr ? packed_weight_bytes(*type, rows, tensor.dims[0], count) : 0;
    bytes_.packed += packed;
    if (packed == 0) (tensor.make != nullptr ? bytes_.made : bytes_.in_file) += tensor.byte_count();
  }

  const GgufFile& file_;
  SizeKeys keys_;
  WeightBytes bytes_;
};

// Numbers of activations that one row takes in all buffers of a pass. Each kind of mixer has its buffers once, however
// many layers there are.
class RowNumbers {
 public:
  RowNumbers(const ModelSketch& sketch, const ScratchHints& hints) : sketch_(sketch), hints_(hints) {}

  std::uint64_t count() {
    for (const LayerSketch& kind : sketch_.kinds) {
      for (const Mixer& mixer : kind.mixers) std::visit(*this, mixer);
      if (kind.feed_forward.has_value()) add_feed_forward(*kind.feed_forward);
    }
    // A network with experts has the buffers of the dense one as well, if its file states the size.
    const std::uint64_t dense = has_recurrent_ && experts_ > 0 ? 0 : dense_size();
    return 3 * sketch_.hidden + attention_ + recurrent_ + dense + experts_ + hints_.angle_numbers;
  }

  void operator()(const AttentionMixer& m) {
    const std::uint64_t queries = m.q_heads * m.head_size, keys = m.kv_heads * m.head_size;
    attention_ = std::max(attention_, 2 * queries + 2 * keys + (m.has_gate ? 2 * queries : 0));
  }
  void operator()(const LatentMixer& m) {
    const std::uint64_t key = m.kv_rank + m.rope_size;
    attention_ = std::max(attention_, m.q_rank + m.q_heads * (m.plain_size + m.rope_size) + key + m.q_heads * key +
                                          m.q_heads * m.kv_rank + m.q_heads * m.value_size);
  }
  void operator()(const StateSpaceMixer& m) {
    has_recurrent_ = true;
    const std::uint64_t conv = m.inner_size + 2 * m.groups * m.state_size;
    recurrent_ = std::max(recurrent_, m.inner_size + conv + m.heads + conv + m.inner_size);
  }
  void operator()(const DeltaMixer& m) {
    has_recurrent_ = true;
    const std::uint64_t keys = m.key_heads * m.key_size, values = m.value_heads * m.value_size;
    recurrent_ = std::max(recurrent_, (2 * keys + values) + 2 * keys + values + values + 2 * m.value_heads + values);
  }
  void operator()(const ChannelDeltaMixer&) {}
  void operator()(const ShortConvMixer&) {}

 private:
  void add_feed_forward(const FeedForwardSketch& network) {
    if (network.experts == 0) {
      dense_ = std::max(dense_, (network.is_gated ? 2 : 1) * network.size);
      return;
    }
    std::uint64_t numbers = network.experts + 2 * network.used + network.used * (sketch_.hidden + 2 * network.size);
    if (network.shared_size > 0) numbers += 2 * network.shared_size + sketch_.hidden + 1;
    experts_ = std::max(experts_, numbers);
  }
  [[nodiscard]] std::uint64_t dense_size() const {
    return experts_ > 0 ? std::max(dense_, 2 * hints_.dense_size) : dense_;
  }

  const ModelSketch& sketch_;
  const ScratchHints& hints_;
  std::uint64_t attention_ = 0, recurrent_ = 0, dense_ = 0, experts_ = 0;
  bool has_recurrent_ = false;
};

struct CellBytes {
  const KvTypes& types;

  [[nodiscard]] Result<std::uint64_t> row(const StorageType& type, std::uint64_t heads, std::uint64_t size) const {
    if (size % type.block_size == 0) return heads * type.row_bytes(size);
    return fail(ErrorKind::usage, "kv_dtype: {} stores blocks of {} numbers, but the heads of this model have {}",
                type.name(), type.block_size, size);
  }
  Result<std::uint64_t> operator()(const AttentionMixer& m) const {
    if (m.borrows_kv) return std::uint64_t{0};
    PLM_TRY_ASSIGN(const std::uint64_t keys, row(*types.keys, m.kv_heads, m.head_size));
    PLM_TRY_ASSIGN(const std::uint64_t values,
                   row(*types.values, m.kv_heads, m.value_size > 0 ? m.value_size : m.head_size));
    return keys + values;
  }
  Result<std::uint64_t> operator()(const LatentMixer& m) const { return row(*types.keys, 1, m.kv_rank + m.rope_size); }
  template <typename Other>
  Result<std::uint64_t> operator()(const Other&) const {
    return std::uint64_t{0};
  }
};

// What a recurrent layer has in its block; every part begins at a multiple of 64 bytes.
struct BlockBytes {
  static std::uint64_t part(std::uint64_t numbers) { return (numbers * kFloat + 63) / 64 * 64; }

  std::uint64_t operator()(const StateSpaceMixer& m) const {
    return part((m.taps - 1) * (m.inner_size + 2 * m.groups * m.state_size)) + part(m.inner_size * m.state_size);
  }
  std::uint64_t operator()(const DeltaMixer& m) const {
    const std::uint64_t keys = m.key_heads * m.key_size, values = m.value_heads * m.value_size;
    return 2 * part((m.taps - 1) * keys) + part((m.taps - 1) * values) + part(values * m.key_size);
  }
  template <typename Other>
  std::uint64_t operator()(const Other&) const {
    return 0;
  }
};

// Numbers of a head that a rotation turns; 0: no layer knows positions by one.
std::uint64_t widest_rotation(const ModelSketch& sketch) {
  std::uint64_t widest = 0;
  for (const LayerSketch& kind : sketch.kinds) {
    for (const Mixer& mixer : kind.mixers) {
      if (const auto* m = std::get_if<AttentionMixer>(&mixer)) widest = std::max(widest, m->head_size);
      if (const auto* m = std::get_if<LatentMixer>(&mixer)) widest = std::max(widest, m->rope_size);
    }
  }
  return widest;
}

// The widest input of a matrix that is quantised; 0: none is.
std::uint64_t widest_rounded(const GgufFile& file) {
  std::uint64_t widest = 0;
  for (const TensorEntry& tensor : file.tensors()) {
    const StorageType* type = find_storage_type(tensor.type->id);
    const bool is_rounded = type != nullptr && type->group_size != 0 && (!is_table(tensor.name) || tensor.dims[1] > 1);
    if (is_rounded) widest = std::max(widest, tensor.dims[0]);
  }
  return widest;
}

}  // namespace

WeightBytes weight_bytes(const GgufFile& file) { return WeightCounter(file).count(); }

Result<PageBytes> page_bytes(const ModelSketch& sketch, const RunSizes& sizes) {
  constexpr std::uint64_t kBlocks = 6;  // RecurrentMemory::kMostBlocks: its own, one for rows thrown away, checkpoints
  std::uint64_t cell = 0;
  PageBytes bytes{.pages = (sizes.context + kPageCells - 1) / kPageCells};
  for (const std::uint32_t kind : sketch.layers) {
    for (const Mixer& mixer : sketch.kinds[kind].mixers) {
      PLM_TRY_ASSIGN(const std::uint64_t of_layer, std::visit(CellBytes{sizes.kv_types}, mixer));
      // An encoder computes layer after layer, and one place serves them all.
      cell = sketch.is_encoder ? std::max(cell, of_layer) : cell + of_layer;
      bytes.block += std::visit(BlockBytes{}, mixer);
    }
  }
  bytes.page = cell * kPageCells;
  bytes.blocks = bytes.block > 0 ? kBlocks : 0;
  return bytes;
}

ScratchHints scratch_hints(const GgufFile& file, const ModelSketch& sketch) {
  const SizeKeys keys(file);
  const auto at_most = [](std::uint64_t size, std::uint64_t most) { return std::min(size, most); };
  ScratchHints hints{.dense_size = at_most(keys.number("feed_forward_length"), SketchLimits::kFeedForward),
                     .rounded_inputs = widest_rounded(file)};
  const MetaValue* rotates = keys.find("rope.scaling.finetuned");
  if (rotates != nullptr && !rotates->as_boolean().value_or(true)) return hints;
  const std::uint64_t size = widest_rotation(sketch);
  if (size > 0)
    hints.angle_numbers =
        find_family(keys.family()).ropes * at_most(keys.number("rope.dimension_count", size), SketchLimits::kHeadSize);
  return hints;
}

ScratchHints scratch_hints(const ModelSketch& sketch, bool is_plain) {
  std::uint64_t widest = sketch.hidden;
  for (const LayerSketch& kind : sketch.kinds) {
    if (kind.feed_forward.has_value()) widest = std::max(widest, kind.feed_forward->size);
  }
  return {.dense_size = 0, .angle_numbers = widest_rotation(sketch), .rounded_inputs = is_plain ? 0 : widest};
}

ScratchBytes scratch_bytes(const ModelSketch& sketch, const ScratchHints& hints, const RunSizes& sizes) {
  // A text that goes in whole is one pass.
  const std::uint64_t rows = sketch.is_causal ? std::min(sizes.batch_rows, sizes.context * sizes.sequences)
                                              : std::max(sizes.batch_rows, sizes.context);
  const std::uint64_t head_rows = sketch.has_head ? std::min({sizes.head_rows, rows, kMostHeadRows}) : 0;
  ScratchBytes bytes{.activations = rows * RowNumbers(sketch, hints).count() * kFloat,
                     .logits = head_rows * (sketch.hidden + sketch.vocabulary) * kFloat,
                     .rounded = rounded_bytes(rows, hints.rounded_inputs)};
  bytes.activations = std::max(bytes.activations, kSmallestWorkspace - std::min(kSmallestWorkspace, bytes.logits));
  return bytes;
}

Result<EngineMemory> engine_memory(const GgufFile& file, const ModelSketch& sketch, const RunSizes& sizes) {
  PLM_TRY_ASSIGN(const PageBytes pages, page_bytes(sketch, sizes));
  return EngineMemory{.weights = weight_bytes(file),
                      .pages = pages,
                      .scratch = scratch_bytes(sketch, scratch_hints(file, sketch), sizes),
                      .sequences = sizes.sequences};
}

}  // namespace plm
