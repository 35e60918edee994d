// What this program allocates for a model file, byte for byte: weights as its device packs them, pages of keys and
// values, recurrent blocks, activations of a pass. From the header alone.
//
// Differs from plan/sequence_memory.h, which counts what a sequence needs at least: here pages are whole (256 cells),
// windowed layers keep every cell, and recurrent layers keep checkpoints.
// Tested by tests/plan/test_engine_memory.cpp against a device that counts what it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/gguf.h"
#include "plan/model_sketch.h"
#include "tensor/kv_types.h"

namespace plm {

/// Weights, by where they are.
struct WeightBytes {
  std::uint64_t packed = 0;   ///< matrices, laid out anew for the kernels
  std::uint64_t vectors = 0;  ///< norms, biases and convolutions, as float32
  std::uint64_t made = 0;     ///< what a folder does not hold as it is needed, beside the packed ones
  std::uint64_t in_file = 0;  ///< read where they are: pages of the file, which the system may take back
  std::uint64_t head = 0;     ///< of the packed ones, the head over the vocabulary
  [[nodiscard]] std::uint64_t allocated() const { return packed + vectors + made; }
};

struct RunSizes {
  std::uint64_t context = 0;    ///< cells of a sequence
  std::uint64_t sequences = 1;  ///< at a time
  std::uint64_t batch_rows = 256;
  std::uint64_t head_rows = 1;  ///< rows of a pass whose logits are asked for
  KvTypes kv_types = {};
};

/// What a sequence is given.
struct PageBytes {
  std::uint64_t page = 0;    ///< of 256 cells of all layers
  std::uint64_t pages = 0;   ///< for one whole context
  std::uint64_t block = 0;   ///< of what recurrent layers remember
  std::uint64_t blocks = 0;  ///< that one sequence takes at most, its checkpoints among them
  [[nodiscard]] std::uint64_t of_sequence() const { return page * pages + block * blocks; }
};

/// Activations of the largest pass.
struct ScratchBytes {
  std::uint64_t activations = 0;
  std::uint64_t logits = 0;
  std::uint64_t rounded = 0;  ///< copies that meet quantised weights
  [[nodiscard]] std::uint64_t total() const { return activations + logits + rounded; }
};

struct EngineMemory {
  WeightBytes weights;
  PageBytes pages;
  ScratchBytes scratch;
  std::uint64_t sequences = 1;
  [[nodiscard]] std::uint64_t sequence_bytes() const { return sequences * pages.of_sequence(); }
  /// All that is allocated once every sequence is as long as it may be.
  [[nodiscard]] std::uint64_t peak() const { return weights.allocated() + sequence_bytes() + scratch.total(); }
};

[[nodiscard]] WeightBytes weight_bytes(const GgufFile& file);
/// Error (usage): heads do not fill whole blocks of a type.
[[nodiscard]] Result<PageBytes> page_bytes(const ModelSketch& sketch, const RunSizes& sizes);
/// What activations depend on besides the sizes of layers.
struct ScratchHints {
  std::uint64_t dense_size = 0;      ///< of a feed-forward network that buffers are made for, though no layer has one
  std::uint64_t angle_numbers = 0;   ///< of all rotations of a row
  std::uint64_t rounded_inputs = 0;  ///< the widest input of a quantised weight; 0: none is quantised
};
[[nodiscard]] ScratchHints scratch_hints(const GgufFile& file, const ModelSketch& sketch);
/// From sizes alone: one rotation, and quantised weights unless `is_plain`.
[[nodiscard]] ScratchHints scratch_hints(const ModelSketch& sketch, bool is_plain);
[[nodiscard]] ScratchBytes scratch_bytes(const ModelSketch& sketch, const ScratchHints& hints, const RunSizes& sizes);

/// All of it. Errors (usage): as page_bytes.
[[nodiscard]] Result<EngineMemory> engine_memory(const GgufFile& file, const ModelSketch& sketch,
                                                 const RunSizes& sizes);

/// The rows of logits that are computed side by side at most.
inline constexpr std::uint64_t kMostHeadRows = 32;

}  // namespace plm
