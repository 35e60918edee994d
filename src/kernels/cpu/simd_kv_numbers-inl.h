// Stored keys and values as vectors of floats, one struct for each type, and as rows: what the vectorised attention
// walks. Numbers with scales come without them; the rows multiply, level * scale as in reference_attention.cpp. Tested
// by tests/kernels/cpu/test_attention.cpp.
#if defined(PLM_KERNELS_CPU_SIMD_KV_NUMBERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLM_KERNELS_CPU_SIMD_KV_NUMBERS_INL_H_
#undef PLM_KERNELS_CPU_SIMD_KV_NUMBERS_INL_H_
#else
#define PLM_KERNELS_CPU_SIMD_KV_NUMBERS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/highway.h>
#include "base/half.h"
#include "kernels/cpu/kv_page.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

// The types of stored numbers. `load_vector` reads kLanes of them from the byte that holds dimension `dim`, side by
// side over cells or over dimensions; `bytes_before` as in kv_page.h.

template <std::size_t Bytes>
struct PlainNumbers {
  static constexpr std::size_t kBytes = Bytes;  ///< of what is stored at a time
  static constexpr bool kScaled = false;
  static constexpr std::size_t bytes_before(std::size_t dim) { return dim * Bytes; }
};

struct F32Numbers : PlainNumbers<4> {
  static HWY_INLINE Floatv load_vector(const std::byte* from, std::size_t) { return load_f32(from); }
  static void store_one(float value, std::byte* to) { std::memcpy(to, &value, kBytes); }
};

struct F16Numbers : PlainNumbers<2> {
  static HWY_INLINE Floatv load_vector(const std::byte* from, std::size_t) { return load_f16(from); }
  static void store_one(float value, std::byte* to) {
    const std::uint16_t bits = f16_from_float(value);
    std::memcpy(to, &bits, kBytes);
  }
};

struct Bf16Numbers : PlainNumbers<2> {
  static HWY_INLINE Floatv load_vector(const std::byte* from, std::size_t) { return load_bf16(from); }
  static void store_one(float value, std::byte* to) {
    const std::uint16_t bits = bf16_from_float(value);
    std::memcpy(to, &bits, kBytes);
  }
};

/// The levels of q8_0; their scales lie apart.
struct Q8Numbers {
  static constexpr std::size_t kBytes = 1;
  static constexpr bool kScaled = true;
  static constexpr std::size_t kBlockBytes = kScaleBytes + kScaledDims;
  static constexpr std::size_t bytes_before(std::size_t dim) { return dim; }
  static HWY_INLINE Floatv load_vector(const std::byte* from, std::size_t) {
    return hn::ConvertTo(FloatTag(), load_i8(from));
  }
};

/// Those of q4_0. Vectors never reach across halves of 16 dimensions.
struct Q4Numbers {
  static constexpr std::size_t kBytes = 1;
  static constexpr bool kScaled = true;
  static constexpr std::size_t kBlockBytes = kScaleBytes + kScaledDims / 2;
  static constexpr std::size_t bytes_before(std::size_t dim) {
    return dim / kScaledDims * (kScaledDims / 2) + dim % (kScaledDims / 2);
  }
  static HWY_INLINE Floatv load_vector(const std::byte* from, std::size_t dim) {
    const int shift = static_cast<int>(dim / (kScaledDims / 2) % 2 * 4);
    const Uint32v level = hn::And(hn::ShiftRightSame(load_u8(from), shift), hn::Set(Uint32Tag(), 15));
    return hn::ConvertTo(FloatTag(), hn::Sub(hn::BitCast(Int32Tag(), level), hn::Set(Int32Tag(), 8)));
  }
};

/// Keys: a row is a dimension, a column a cell.
template <class Numbers>
struct KeyRows {
  const std::byte* first;
  const float* scales;  ///< [kPageCells]
  static constexpr std::size_t kVectorBytes = kLanes * Numbers::kBytes;

  HWY_INLINE const std::byte* row(std::size_t dim) const { return first + Numbers::bytes_before(dim) * kPageCells; }
  HWY_INLINE Floatv load_at(std::size_t dim, std::size_t cell) const {
    const Floatv numbers = Numbers::load_vector(row(dim) + cell * Numbers::kBytes, dim);
    if constexpr (Numbers::kScaled) return hn::Mul(numbers, hn::Load(FloatTag(), scales + cell));
    return numbers;
  }
};

/// Values: a row is a cell, a column a dimension.
template <class Numbers>
struct ValueRows {
  const std::byte* first;
  std::size_t row_bytes;
  const float (*scales)[kPageCells];  ///< [dim / kScaledDims]
  static constexpr std::size_t kVectorBytes = Numbers::bytes_before(kScaledDims) * kLanes / kScaledDims;

  HWY_INLINE const std::byte* row(std::size_t cell) const { return first + cell * row_bytes; }
  HWY_INLINE Floatv load_at(std::size_t cell, std::size_t dim) const {
    const Floatv numbers = Numbers::load_vector(row(cell) + Numbers::bytes_before(dim), dim);
    if constexpr (Numbers::kScaled) return hn::Mul(numbers, hn::Set(FloatTag(), scales[dim / kScaledDims][cell]));
    return numbers;
  }
};

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
