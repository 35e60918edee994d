#include "kernels/device.h"

namespace plm {

SplitAxis split_axis(WeightRole role) {
  switch (role) {
    case WeightRole::head:
    case WeightRole::attention_query:
    case WeightRole::attention_key:
    case WeightRole::attention_value:
    case WeightRole::ffn_gate:
    case WeightRole::ffn_up:
    case WeightRole::recurrent_input: return SplitAxis::outputs;
    case WeightRole::attention_output:
    case WeightRole::recurrent_output:
    case WeightRole::ffn_down: return SplitAxis::inputs;
    case WeightRole::embedding:
    case WeightRole::norm:
    case WeightRole::bias:
    case WeightRole::convolution:
    case WeightRole::router:
    case WeightRole::attention_latent: return SplitAxis::none;
  }
  return SplitAxis::none;
}

}  // namespace plm
