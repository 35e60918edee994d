// One prompt through every stage of a network that writes: what the last row is after each layer, where its heads look,
// which experts it takes, which tokens the head would give at that point, and how the next token is chosen in the end.
//
// The "last row" is the row that the token is drawn from. The head after each layer is the network's own last norm and
// head on the residual stream there ("logit lens"). Sources: datasheet 1, the stages; 48, entropies name their
// variable. Tested by tests/engine/test_walk.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "kernels/watched_device.h"
#include "sampling/token_trace.h"

namespace plm {

/// What a stage took; of all rows of the pass.
struct WalkCost {
  double ms = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t state_bytes = 0;

  WalkCost& operator+=(const WalkCost& other) {
    ms += other.ms;
    weight_bytes += other.weight_bytes;
    state_bytes += other.state_bytes;
    return *this;
  }
};

/// One query head's softmax weights over the cells that the last row sees (and its sink, where it has one).
struct HeadGaze {
  double entropy = 0;      ///< of the cell looked at, nats
  std::uint32_t cell = 0;  ///< the one with the largest weight
  double weight = 0;
  double sink = 0;  ///< weight of the sink; 0: there is none
};

struct WalkBranch {
  std::string name;  ///< "attn", "ffn", ...
  double norm = 0;   ///< of what it adds, Euclidean, before a norm behind it
};

struct WalkExpert {
  std::uint32_t expert = 0;
  double weight = 0;
};

struct WalkReading {
  RowStatistics statistics;
  struct Likely {
    TokenId token;
    double logit, probability;
  };
  std::vector<Likely> likeliest;
};

struct WalkLayer {
  double norm = 0;  ///< of the residual stream behind it, Euclidean
  std::vector<WalkBranch> branches;
  std::vector<HeadGaze> heads;  ///< empty: the layer has no attention
  std::uint32_t cells_seen = 0;
  std::vector<WalkExpert> experts;  ///< the best first; empty: there are none
  WalkReading reading;              ///< what the head would give here
  WalkCost cost;
};

struct Walk {
  std::size_t rows = 0;  ///< of the last pass; the costs are of all of them
  double embedding_norm = 0;
  WalkCost embedding;
  std::vector<WalkLayer> layers;
  double final_norm = 0;
  WalkCost head;                    ///< the last norm as well
  std::optional<TokenTrace> trace;  ///< nothing for pages
  double choice_ms = 0;             ///< from the last operation to the token
  TokenId token = kNoToken;
};

/// Watches one text's passes and keeps the last. The engine must run on a WatchedDevice that tells this walker, which
/// must outlive it.
class Walker : public DeviceWatcher {
 public:
  static constexpr std::size_t kLikeliest = 3;

  /// One token behind the prompt. The request's listener, traces and number of tokens are the walker's. Errors: the
  /// engine's; interrupted.
  Result<Walk> walk(Engine& engine, GenerationRequest request, const std::function<bool()>& interrupted = {});

  void on_operation(Device& device, const WatchedOperation& operation) override;
  void on_keys(Device& device, const View& keys, const RowTable& table, const KvPlace& place) override;
  void on_queries(Device& device, const View& queries, const RowTable& table, const KvPlace& place,
                  const ScoreRule& rule) override;

 private:
  void on_pass(const PassRows& rows);
  void on_value(std::string_view name, const View& value);
  void on_event(const Event& event);
  WalkLayer& layer(std::size_t index);
  WalkCost take_cost() { return std::exchange(cost_, {}); }
  std::vector<float> read(Device& device, const View& view);
  std::vector<float> read(Device& device, const Weight& vector);
  std::vector<float> last_row(const View& value) { return read(*device_, value.row_range(row_, 1)); }
  Result<void> read_layers(Engine& engine);

  Device* device_ = nullptr;
  Walk walk_;
  std::size_t row_ = 0;                             // of the pass
  WalkCost cost_;                                   // since the last stage
  std::vector<float> hidden_;                       // [layers, hidden_size]
  std::map<std::size_t, std::vector<float>> keys_;  // of every cell, by the layer's offset in a page
  std::vector<HeadGaze> heads_;                     // of the attention that ran last, until its layer is told
  std::uint32_t cells_seen_ = 0;
  Stopwatch since_operation_;
  bool is_watching_ = false;  // until the token is there
  std::optional<Error> failure_;
};

}  // namespace plm
