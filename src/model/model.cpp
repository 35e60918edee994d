#include "model/model.h"

#include <numeric>

namespace plm {

Result<void> StateLayout::add_layer(KvPlace place) {
  const bool is_latent = place.latent_dim > 0;
  // Blocks must divide both, where both are there.
  const std::size_t divided = std::gcd(place.head_dim, place.latent_dim);
  for (const StorageType* type : {place.types.keys, place.types.values}) {
    if (divided % type->block_size == 0) continue;
    return fail(ErrorKind::usage,
                "kv_dtype: {} stores blocks of {} numbers, but the heads of this model have {}; choose from {}",
                type->name(), type->block_size,
                is_latent ? fmt::format("{}, {} of them latent", place.head_dim, place.latent_dim)
                          : fmt::format("{}", place.head_dim),
                kv_type_names(divided));
  }
  if (is_latent && place.types.keys != place.types.values) {
    return fail(ErrorKind::usage,
                "kv_dtype: {}: this model stores keys and values as one latent vector; give one type for both",
                place.types.name());
  }
  if (is_latent && kv_rotation(*place.types.keys, place.head_dim) > 0) {
    return fail(ErrorKind::usage,
                "kv_dtype: {} is too coarse for the latent vectors of this model, which serve all heads as keys and "
                "values; choose f32, f16, bf16 or q8_0",
                place.types.name());
  }
  place.offset = page_bytes;
  page_bytes += place.bytes();
  layers.push_back(place);
  return {};
}

}  // namespace plm
