// Sizes of a recurrent mixer, as GGUF's keys ssm.* state them for state-space layers and delta rules alike, and places
// inside a sequence's recurrent block, handed out one after another while a model is loaded.
// Tested by tests/model/test_refused_models.cpp.
#pragma once

#include "kernels/device.h"
#include "model/model_file.h"

namespace plm {

struct RecurrentSize {
  std::size_t hidden_size = 0;
  std::size_t inner_size = 0;  ///< of the values of all heads
  std::size_t heads = 0;       ///< divides inner_size
  std::size_t groups = 0;      ///< of heads that share keys and queries; divides heads
  std::size_t key_size = 0;    ///< of one key or query
  std::size_t taps = 0;        ///< of the convolution

  [[nodiscard]] std::size_t value_size() const { return inner_size / heads; }
  [[nodiscard]] std::size_t key_columns() const { return groups * key_size; }
  /// Values, keys and queries, which go through the convolution.
  [[nodiscard]] std::size_t conv_columns() const { return inner_size + 2 * key_columns(); }

  /// Reads ssm.*. Errors name the key.
  static Result<RecurrentSize> from_file(const ModelFile& file, std::size_t hidden_size);
};

class RecurrentBlocks {
 public:
  [[nodiscard]] ConvPlace conv(std::size_t channels, std::size_t taps) {
    const ConvPlace place{bytes_, channels, taps};
    take(place.bytes());
    return place;
  }
  [[nodiscard]] ScanPlace scan(const RecurrentSize& size) {
    const ScanPlace place{bytes_, size.heads, size.key_size, size.value_size()};
    take(place.bytes());
    return place;
  }
  /// Of a whole block.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void clear() { bytes_ = 0; }

 private:
  static constexpr std::size_t kAlignment = 64;
  void take(std::size_t bytes) { bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  std::size_t bytes_ = 0;
};

}  // namespace plm
