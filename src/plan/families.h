// What families of networks leave unsaid in their files: which layers have a window, which norms and biases there are.
// Whoever reads a GGUF file finds most of it in the tensor table; a config.json alone says little more than sizes.
// Source: the model classes of transformers 5.24 and the converters of llama.cpp (October 2026).
// Tested by tests/plan/test_config_sketch.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace plm {

enum class NormForm : std::uint8_t {
  two,        ///< a gain before each branch
  four,       ///< and behind it
  one,        ///< a gain for both branches, or the layer has one branch
  two_layer,  ///< gain and bias, before or behind each branch
  one_layer   ///< gain and bias for both branches
};

struct Family {
  std::string_view name;           ///< general.architecture of GGUF or model_type of config.json
  std::uint32_t window_every = 0;  ///< where a window is stated: every so-manieth layer has none; 0: all have it
  bool opens_wide = false;         ///< the first layer of every so many has none, not the last
  std::uint32_t window = 0;        ///< where none is stated
  std::uint32_t ropes = 1;         ///< rotations of their own
  bool reads_whole = false;        ///< no row waits for those behind it
  bool fills_masks = false;
  NormForm norms = NormForm::two;
  bool is_tied = false;  ///< where config.json does not say
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  bool has_head_norms = false;
  bool norms_all_heads = false;  ///< one gain over all queries, one over all keys
  bool has_attention_gate = false;
  bool has_sinks = false;
  bool has_expert_bias = false;  ///< and one of the router
  bool has_choice_bias = false;  ///< a number for each expert beside the router
  bool is_plain = false;         ///< feed-forward networks without a gate
  bool has_ffn_bias = false;
  bool shares_like_experts = false;  ///< an expert for all rows, as large as the others, which no setting tells of
  bool has_untold_weights = false;   ///< more weights than sizes tell
};

/// Of the family of that name; one that is not known is as most are.
[[nodiscard]] const Family& find_family(std::string_view name);

}  // namespace plm
