// A network whose weights sit on a device: it turns rows of tokens into logits, and nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/pass.h"

namespace plm {

/// The sizes everybody outside the network needs to know.
struct ModelShape {
  std::string architecture;  ///< as in the file: "llama"
  std::size_t vocab_size = 0;
  std::size_t hidden_size = 0;
  std::size_t layer_count = 0;
  std::size_t trained_context = 0;  ///< tokens
  std::size_t parameter_count = 0;
  bool is_causal = true;           ///< false: rows see all of their sequence, which goes in whole
  std::size_t most_positions = 0;  ///< rows of a table of learned positions; 0: there is none, and no such limit
};

/// What a sequence stores: one place per layer with attention inside each page, and a block for recurrent layers, where
/// these have their places (model/layers/).
struct StateLayout {
  std::vector<KvPlace> layers;
  std::size_t page_bytes = 0;
  std::size_t block_bytes = 0;  ///< 0: no layer is recurrent
  [[nodiscard]] std::size_t cell_bytes() const { return page_bytes / kPageCells; }

  /// Gives the next layer its place; `place.offset` is set here. Error (usage): a type holds whole blocks, and a head
  /// is no multiple of one; values that are part of their keys cannot have a type of their own, nor be rotated.
  Result<void> add_layer(KvPlace place);
};

class Model {
 public:
  virtual ~Model() = default;
  [[nodiscard]] virtual const ModelShape& shape() const = 0;
  /// The layout of stored state with keys and values in `types`. Error (usage): heads do not fit a type.
  [[nodiscard]] virtual Result<StateLayout> state_layout(const KvTypes& types) const = 0;
  /// Enqueues one pass on the device that holds the weights. Results are there after the device's wait.
  /// Error no_room when the activations do not fit.
  virtual Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe = {}) = 0;
  /// Enqueues what follows the last layer, for hidden states [rows, hidden_size] in its place: the norm, the head, and
  /// the readings that `rows` asks for; of `rows` nothing else counts. Error (usage): a network without a head.
  virtual Result<void> enqueue_head(const View& hidden, const PassRows& rows) = 0;
};

}  // namespace plm
