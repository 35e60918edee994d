// A network as far as its cost goes: the sizes of every layer, and no weights. What a planner works with, whatever it
// was read from: the header of a GGUF file (plan/gguf_sketch.h), config.json of a Hugging Face folder
// (plan/config_sketch.h), or a description of nothing but sizes (plan/sketch_json.h).
//
// Layers are kinds, named once, and a list of which layer is of which kind. All sizes are within SketchLimits, so that
// no product of a count or of a memory overflows 64 bits.
// Tested by tests/plan/test_parameter_counting.cpp and tests/plan/test_sequence_memory.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plm {

/// The largest sizes that a sketch may have.
struct SketchLimits {
  static constexpr std::uint64_t kLayers = 1U << 10;
  static constexpr std::uint64_t kHidden = 1U << 17;
  static constexpr std::uint64_t kFeedForward = 1U << 18;
  static constexpr std::uint64_t kExperts = 1U << 12;
  static constexpr std::uint64_t kVocabulary = 1U << 24;
  static constexpr std::uint64_t kHeads = 1U << 11;
  static constexpr std::uint64_t kHeadSize = 1U << 12;
  static constexpr std::uint64_t kColumns = 1U << 20;       ///< of all heads together
  static constexpr std::uint64_t kTokens = 1U << 28;        ///< of one sequence
  static constexpr std::uint64_t kSequences = 1U << 12;     ///< at a time
  static constexpr std::uint64_t kExtraNumbers = 1U << 30;  ///< of a count that is stated as such
};

/// Attention whose keys and values are kept: MHA, GQA or MQA by its heads.
struct AttentionMixer {
  std::uint64_t q_heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_size = 0;
  std::uint64_t value_size = 0;  ///< of one value; 0: as head_size
  std::uint64_t window = 0;      ///< keys that a row sees, its own among them; 0: all
  bool has_gate = false;         ///< on its output, as wide as the queries
  bool values_are_keys = false;  ///< one projection makes both; both are kept
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  bool has_head_norms = false;  ///< a gain for queries and one for keys, one head wide
  bool has_sinks = false;       ///< a number for each head
  bool borrows_kv = false;      ///< reads what an earlier layer keeps, keeps nothing of its own
  friend bool operator==(const AttentionMixer&, const AttentionMixer&) = default;
};

/// Latent attention (DeepSeek, arXiv 2405.04434): one vector for all heads is kept in place of keys and values.
struct LatentMixer {
  std::uint64_t q_heads = 0;
  std::uint64_t q_rank = 0;  ///< 0: queries are not factorised
  std::uint64_t kv_rank = 0;
  std::uint64_t rope_size = 0;   ///< rotated numbers, kept beside the latent vector
  std::uint64_t plain_size = 0;  ///< of a head's query and key that are not rotated
  std::uint64_t value_size = 0;
  friend bool operator==(const LatentMixer&, const LatentMixer&) = default;
};

/// State-space mixer (Mamba-2, arXiv 2405.21060).
struct StateSpaceMixer {
  std::uint64_t inner_size = 0;
  std::uint64_t groups = 0;
  std::uint64_t state_size = 0;
  std::uint64_t heads = 0;
  std::uint64_t taps = 0;
  bool has_conv_bias = true;
  bool has_gated_norm = true;
  friend bool operator==(const StateSpaceMixer&, const StateSpaceMixer&) = default;
};

/// Gated delta rule (arXiv 2412.06464).
struct DeltaMixer {
  std::uint64_t key_heads = 0;
  std::uint64_t key_size = 0;
  std::uint64_t value_heads = 0;
  std::uint64_t value_size = 0;
  std::uint64_t taps = 0;
  friend bool operator==(const DeltaMixer&, const DeltaMixer&) = default;
};

/// Delta rule with a gate for each channel (Kimi Linear, arXiv 2510.26692).
struct ChannelDeltaMixer {
  std::uint64_t heads = 0;
  std::uint64_t head_size = 0;
  std::uint64_t taps = 0;
  friend bool operator==(const ChannelDeltaMixer&, const ChannelDeltaMixer&) = default;
};

/// Short gated convolution (LFM2).
struct ShortConvMixer {
  std::uint64_t taps = 0;
  std::uint64_t width = 0;
  friend bool operator==(const ShortConvMixer&, const ShortConvMixer&) = default;
};

using Mixer = std::variant<AttentionMixer, LatentMixer, StateSpaceMixer, DeltaMixer, ChannelDeltaMixer, ShortConvMixer>;

struct FeedForwardSketch {
  std::uint64_t size = 0;  ///< of the network, or of one expert
  bool is_gated = true;
  bool has_bias = false;
  std::uint64_t experts = 0;  ///< 0: there is one network, which every row meets
  std::uint64_t used = 0;     ///< experts that a row meets
  std::uint64_t router_extra = 0;
  std::uint64_t shared_size = 0;  ///< of the expert that every row meets; 0: none
  bool has_shared_gate = false;
  std::uint64_t dense_size = 0;  ///< of a gated network beside the experts; 0: none
  friend bool operator==(const FeedForwardSketch&, const FeedForwardSketch&) = default;
};

struct LayerSketch {
  std::vector<Mixer> mixers;  ///< several: side by side; none: the layer is a feed-forward network
  std::optional<FeedForwardSketch> feed_forward;
  std::uint64_t norm = 0;   ///< numbers of all norms of the layer
  std::uint64_t extra = 0;  ///< others
};

/// Counts that somebody states, for networks whose layers a sketch does not tell in full.
struct StatedCounts {
  std::uint64_t total = 0;
  std::uint64_t of_experts = 0;  ///< of all experts of all layers; 0: unknown
  std::uint64_t experts = 0;     ///< of a layer
  std::uint64_t used = 0;
};

struct ModelSketch {
  std::string name;
  std::string family;  ///< as the source calls it
  std::uint64_t vocabulary = 0;
  std::uint64_t hidden = 0;
  bool is_tied = false;               ///< the embedding is the head as well
  bool has_head = true;               ///< over the vocabulary
  std::uint64_t embedding_extra = 0;  ///< numbers beside the table: positions, token types, their norm
  std::uint64_t looked_up_extra = 0;  ///< those of them, and of layers, whose rows are looked up
  std::uint64_t final = 0;            ///< numbers behind the last layer, without the head
  bool is_causal = true;              ///< false: a text goes in whole, and nothing is kept of it
  bool is_encoder = false;            ///< gives hidden states, layer after layer in the same memory
  std::uint64_t block = 0;            ///< positions that are refined together; 0: one token after another
  bool fills_masks = false;           ///< made to fill masked positions
  std::vector<LayerSketch> kinds;
  std::vector<std::uint32_t> layers;  ///< the kind of every layer
  bool has_untold_weights = false;    ///< more than the sizes of its layers tell
  std::optional<StatedCounts> stated;

  [[nodiscard]] const LayerSketch& layer(std::size_t index) const { return kinds[layers[index]]; }
};

}  // namespace plm
