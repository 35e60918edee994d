// llama.cpp's random numbers: the words of std::mt19937 (whose sequence the C++ standard fixes) and what its samplers
// make of them. For `--rng mt19937` only; this program's own numbers are base/philox.h.
//
// A stream is addressed by the index of a word, so that a position in it is a plain number that can be stored, forked
// and rolled back. Walking forward costs nothing extra; going back starts over from the seed.
// Tested by tests/sampling/test_mersenne_stream.cpp against llama.cpp's numbers.
#pragma once

#include <cstdint>
#include <random>

namespace plm {

class MersenneStream {
 public:
  /// The word number `index` of the generator seeded with `seed`.
  std::uint32_t word(std::uint32_t seed, std::uint64_t index) {
    if (seed != seed_ || index < next_) {
      engine_.seed(seed);
      seed_ = seed;
      next_ = 0;
    }
    engine_.discard(index - next_);
    next_ = index + 1;
    return static_cast<std::uint32_t>(engine_());
  }

 private:
  std::uint32_t seed_ = std::mt19937::default_seed;
  std::uint64_t next_ = 0;  // index of the word that engine_ gives next
  std::mt19937 engine_;
};

/// The numbers that one sampler takes from its stream, and how many words it has taken.
struct MersenneNumbers {
  MersenneStream& stream;
  double& words;  ///< a whole number; a double because it is stored with the samplers' other numbers
  std::uint32_t seed;

  /// In [0, 1), from two words, the low one first.
  double uniform() const {
    const double low = next();
    const double high = next();
    const double u = (low + high * 0x1p32) * 0x1p-64;
    return u < 1 ? u : 0x1.fffffffffffffp-1;
  }
  /// In [0, 1), in single precision, from one word.
  float uniform_f32() const {
    const float u = static_cast<float>(next()) * 0x1p-32F;
    return u < 1 ? u : 0x1.fffffep-1F;
  }

 private:
  std::uint32_t next() const { return stream.word(seed, static_cast<std::uint64_t>(words++)); }
};

}  // namespace plm
