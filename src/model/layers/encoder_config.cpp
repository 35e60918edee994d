#include "model/layers/encoder_config.h"

namespace plm {
namespace {

constexpr std::size_t kMostTypes = 256;  // one-digit numbers in use

// A table of token types is as long as its tensor says; files that state a number must agree.
Result<std::size_t> read_type_count(const ModelFile& file) {
  const TensorEntry* table = file.gguf().find_tensor("token_types.weight");
  if (table == nullptr) return 0;
  const std::uint64_t rows = table->dims[1];
  if (rows > 0 && rows <= kMostTypes) return static_cast<std::size_t>(rows);
  return fail(ErrorKind::bad_input, "{}: tensor token_types.weight: {} rows, expected at most {}", file.path(), rows,
              kMostTypes);
}

}  // namespace

Result<EncoderConfig> read_encoder_config(ModelFile& file) {
  DenseConfig common;
  PLM_TRY(read_shape(file, common));
  PLM_TRY(read_attention(file, common));
  EncoderConfig config;
  config.shape = std::move(common.shape);
  config.attention = common.attention;
  config.scores = common.scores;
  config.ffn_size = common.ffn_size;
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  PLM_TRY_ASSIGN(const bool is_causal, file.boolean_or("attention.causal", false));
  if (is_causal) return file.key_error("attention.causal", "true", "false; this network reads a text as a whole");
  config.shape.is_causal = false;
  PLM_TRY_ASSIGN(config.type_count, read_type_count(file));
  config.layers.resize(config.shape.layer_count);
  return config;
}

}  // namespace plm
