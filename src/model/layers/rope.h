// Rotary position embedding (Su et al., arXiv 2104.09864) and its long-context variants.
//
// What differs between variants is the list of frequencies and one factor on cosine and sine:
//   linear  theta_i / factor                                   (position interpolation, arXiv 2306.15595)
//   llama3  theta_i / divisor_i, the divisors stored in the file as rope_freqs.weight
//   yarn    a ramp between theta_i and theta_i / factor         (arXiv 2309.00071)
//   longrope theta_i / divisor_i, short divisors up to the original context, long ones beyond it (arXiv 2402.13753)
//   dynamic a base that grows with the context                  (dynamic NTK)
// The last two depend on the context that the engine is configured for, never on how long a text has become: what is
// rotated and stored once stays right.
// Frequencies are rounded to float32 and multiplied by the position in float32, as the models were trained; sine and
// cosine of that angle are exact to float32. Tested by tests/model/test_rope.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

class ModelFile;

class Rope {
 public:
  /// Plain frequencies base^(-2i/dimensions).
  Rope(std::size_t dimensions, double base);

  /// How a family has YaRN, where files do not say it.
  struct YarnForm {
    bool truncates = true;     ///< the ramp begins and ends at whole pairs
    bool is_stretched = true;  ///< cosine and sine are multiplied by 0.1 ln(factor) + 1
  };

  /// Reads rope.* keys, rope_freqs.weight and rope_factors_{long,short}.weight; `head_dim` bounds the rotated
  /// dimensions. Errors name the key or tensor.
  static Result<Rope> from_file(ModelFile& file, std::size_t head_dim, std::size_t trained_context,
                                YarnForm form = {true, true});
  /// For layers with a window where these have a base of their own: `base_key`, or `base`, without any scaling.
  static Result<Rope> unscaled_from_file(const ModelFile& file, std::size_t head_dim, std::string_view base_key,
                                         double base);

  struct Yarn {
    double factor = 1;
    double original_context = 0;  ///< tokens
    double beta_fast = 32;
    double beta_slow = 1;
    double attention_factor = 1;  ///< on top of 0.1 ln(factor) + 1
    double extrapolation = 1;     ///< share of the ramp; 0: all frequencies are divided, and magnitudes stay
    YarnForm form = {true, true};
  };
  void scale_linear(double factor);
  void scale_by_divisors(std::span<const float> divisors);
  void scale_yarn(const Yarn& yarn);

  /// Numbers per head that are rotated; even, at most head_dim.
  [[nodiscard]] std::size_t dimensions() const { return frequencies_.size() * 2; }
  [[nodiscard]] std::span<const float> frequencies() const { return frequencies_; }

  /// angles[r] = cosines, then sines of row r: what Device::rope wants. angles: [positions.size(), dimensions].
  void fill_angles(std::span<const std::uint32_t> positions, std::span<float> angles) const;

 private:
  Result<void> divide_by(ModelFile& file, const std::string& tensor);
  Result<void> read_yarn(const ModelFile& file, std::size_t original_context, YarnForm form);
  Result<void> read_longrope(ModelFile& file, std::size_t trained_context, std::size_t original_context);
  [[nodiscard]] Result<void> check_sane(const ModelFile& file) const;

  double base_;
  std::vector<float> frequencies_;  // radians per position
  float magnitude_ = 1.0F;          // factor on cosine and sine
};

}  // namespace plm
