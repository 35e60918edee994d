// Reading panels (kernels/cpu/panel.h): one reader per storage type, constructed for one partial sum of 32 inputs and
// one vector of output rows. `quad(q)` fetches what holds inputs 4q ... 4q + 3, and `weight(quad, k)` gives the weights
// of input 4q + k, a vector whose lanes are output rows, bit for bit as the type's `unpack` has them. k must be a
// constant once loops are unrolled. Offsets in bytes follow the order of the fields in panel.cpp. Tested by
// tests/kernels/cpu/test_panel.cpp.
#if defined(PLM_KERNELS_CPU_SIMD_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#undef PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#else
#define PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#endif

#include "kernels/cpu/panel.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

/// Where a reader starts: part number `part` (32 inputs) of a panel, output rows from `lane` on.
struct PanelPlace {
  const std::byte* panel;
  std::size_t part;
  std::size_t lane;
};

// Bytes of one item of all 16 rows.
inline constexpr std::size_t kItem8 = kPanelOutputs;
inline constexpr std::size_t kItem16 = 2 * kPanelOutputs;
inline constexpr std::size_t kItem32 = 4 * kPanelOutputs;

/// Byte k of every word, with the bytes above it.
HWY_INLINE Uint32v from_byte(Uint32v words, std::size_t k) {
  switch (k) {
    case 0: return words;
    case 1: return hn::ShiftRight<8>(words);
    case 2: return hn::ShiftRight<16>(words);
    default: return hn::ShiftRight<24>(words);
  }
}

/// The lowest `bits` bits of byte k of every word.
HWY_INLINE Floatv level_of(Uint32v words, std::size_t k, int bits) {
  const std::uint32_t mask = (1U << bits) - 1;
  return to_float(hn::And(from_byte(words, k), hn::Set(Uint32Tag(), mask)));
}

struct F32Reader {
  const std::byte* numbers;
  F32Reader() = default;
  explicit HWY_INLINE F32Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem32 + 4 * at.lane) {}
  HWY_INLINE const std::byte* quad(std::size_t q) const { return numbers + 4 * q * kItem32; }
  HWY_INLINE Floatv weight(const std::byte* quad, std::size_t k) const { return load_f32(quad + k * kItem32); }
};

struct F16Reader {
  const std::byte* numbers;
  F16Reader() = default;
  explicit HWY_INLINE F16Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem16 + 2 * at.lane) {}
  HWY_INLINE const std::byte* quad(std::size_t q) const { return numbers + 4 * q * kItem16; }
  HWY_INLINE Floatv weight(const std::byte* quad, std::size_t k) const { return load_f16(quad + k * kItem16); }
};

struct Bf16Reader {
  const std::byte* numbers;
  Bf16Reader() = default;
  explicit HWY_INLINE Bf16Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem16 + 2 * at.lane) {}
  HWY_INLINE const std::byte* quad(std::size_t q) const { return numbers + 4 * q * kItem16; }
  HWY_INLINE Floatv weight(const std::byte* quad, std::size_t k) const { return load_bf16(quad + k * kItem16); }
};

/// Word j holds inputs 4j ... 4j + 3 in the lower halves of its bytes and those 16 further on in the upper halves.
struct Q4_0Reader {
  Floatv scale;
  const std::byte* words;
  Q4_0Reader() = default;
  explicit HWY_INLINE Q4_0Reader(const PanelPlace& at) {
    const std::byte* block = at.panel + at.part * (kItem16 + 4 * kItem32);
    scale = load_f16(block + 2 * at.lane);
    words = block + kItem16 + 4 * at.lane;
  }
  HWY_INLINE Uint32v quad(std::size_t q) const {
    return hn::ShiftRightSame(load_u32(words + q % 4 * kItem32), static_cast<int>(q / 4 * 4));
  }
  HWY_INLINE Floatv weight(Uint32v quad, std::size_t k) const {
    return hn::Mul(hn::Sub(level_of(quad, k, 4), hn::Set(FloatTag(), 8.0F)), scale);
  }
};

struct Q4_1Reader {
  Floatv scale;
  Floatv minimum;
  const std::byte* words;
  Q4_1Reader() = default;
  explicit HWY_INLINE Q4_1Reader(const PanelPlace& at) {
    const std::byte* block = at.panel + at.part * (2 * kItem16 + 4 * kItem32);
    scale = load_f16(block + 2 * at.lane);
    minimum = load_f16(block + kItem16 + 2 * at.lane);
    words = block + 2 * kItem16 + 4 * at.lane;
  }
  HWY_INLINE Uint32v quad(std::size_t q) const {
    return hn::ShiftRightSame(load_u32(words + q % 4 * kItem32), static_cast<int>(q / 4 * 4));
  }
  HWY_INLINE Floatv weight(Uint32v quad, std::size_t k) const {
    return hn::Add(hn::Mul(level_of(quad, k, 4), scale), minimum);
  }
};

struct Q8_0Reader {
  Floatv scale;
  const std::byte* levels;
  Q8_0Reader() = default;
  explicit HWY_INLINE Q8_0Reader(const PanelPlace& at) {
    const std::byte* block = at.panel + at.part * (kItem16 + 32 * kItem8);
    scale = load_f16(block + 2 * at.lane);
    levels = block + kItem16 + at.lane;
  }
  HWY_INLINE const std::byte* quad(std::size_t q) const { return levels + 4 * q * kItem8; }
  HWY_INLINE Floatv weight(const std::byte* quad, std::size_t k) const {
    return hn::Mul(hn::ConvertTo(FloatTag(), load_i8(quad + k * kItem8)), scale);
  }
};

/// Two units, 12 bytes of scales, then 8 words for each two groups of 32: the even group in the lower halves of the
/// bytes.
struct Q4KReader {
  Floatv scale;
  Floatv offset;
  const std::byte* words;
  int shift;
  Q4KReader() = default;
  explicit HWY_INLINE Q4KReader(const PanelPlace& at) {
    const std::byte* block = at.panel + at.part / 8 * (2 * kItem16 + 12 * kItem8 + 32 * kItem32);
    const std::byte* fields = block + 2 * kItem16 + at.lane;
    const std::size_t group = at.part % 8;
    const auto field = [fields](std::size_t i) HWY_ATTR { return load_u8(fields + i * kItem8); };
    Uint32v scale_bits, offset_bits;  // see quant_q4_k.cpp for the places of the six bits
    if (group < 4) {
      const Uint32v six = hn::Set(Uint32Tag(), 63);
      scale_bits = hn::And(field(group), six);
      offset_bits = hn::And(field(4 + group), six);
    } else {
      const Uint32v lower = field(4 + group);
      const auto upper = [field](std::size_t i) HWY_ATTR { return hn::ShiftLeft<4>(hn::ShiftRight<6>(field(i))); };
      scale_bits = hn::Or(hn::And(lower, hn::Set(Uint32Tag(), 15)), upper(group - 4));
      offset_bits = hn::Or(hn::ShiftRight<4>(lower), upper(group));
    }
    scale = hn::Mul(load_f16(block + 2 * at.lane), to_float(scale_bits));
    offset = hn::Mul(load_f16(block + kItem16 + 2 * at.lane), to_float(offset_bits));
    words = block + 2 * kItem16 + 12 * kItem8 + group / 2 * 8 * kItem32 + 4 * at.lane;
    shift = static_cast<int>(group % 2 * 4);
  }
  HWY_INLINE Uint32v quad(std::size_t q) const { return hn::ShiftRightSame(load_u32(words + q * kItem32), shift); }
  HWY_INLINE Floatv weight(Uint32v quad, std::size_t k) const {
    return hn::Sub(hn::Mul(scale, level_of(quad, k, 4)), offset);
  }
};

/// Unit, 32 words of lower and 16 of upper bits, 16 scales. Of a half block (4 runs of 32), runs 0 and 1 lie in the
/// lower halves of the bytes of lower bits, 2 and 3 in the upper; a byte of upper bits holds two bits of each run.
struct Q6KReader {
  Floatv scales[2];
  const std::byte* lower;
  const std::byte* upper;
  int lower_shift;
  int upper_shift;
  Q6KReader() = default;
  explicit HWY_INLINE Q6KReader(const PanelPlace& at) {
    const std::byte* block = at.panel + at.part / 8 * (kItem16 + 48 * kItem32 + 16 * kItem8);
    const std::byte* words = block + kItem16 + 4 * at.lane;
    const std::size_t half = at.part % 8 / 4;
    const std::size_t run = at.part % 4;
    lower = words + (half * 16 + run % 2 * 8) * kItem32;
    upper = words + (32 + half * 8) * kItem32;
    lower_shift = static_cast<int>(run / 2 * 4);
    upper_shift = static_cast<int>(run * 2);
    const Floatv unit = load_f16(block + 2 * at.lane);
    const std::byte* fields = block + kItem16 + 48 * kItem32 + at.part % 8 * 2 * kItem8 + at.lane;
    for (std::size_t i = 0; i < 2; ++i) {
      scales[i] = hn::Mul(unit, hn::ConvertTo(FloatTag(), load_i8(fields + i * kItem8)));
    }
  }
  struct Quad {
    Uint32v levels;
    Floatv scale;
  };
  HWY_INLINE Quad quad(std::size_t q) const {
    const Uint32v four = hn::ShiftRightSame(load_u32(lower + q * kItem32), lower_shift);
    const Uint32v two = hn::ShiftRightSame(load_u32(upper + q * kItem32), upper_shift);
    const Uint32v six = hn::Or(hn::And(four, hn::Set(Uint32Tag(), 0x0f0f0f0f)),
                               hn::ShiftLeft<4>(hn::And(two, hn::Set(Uint32Tag(), 0x03030303))));
    return {six, q < 4 ? scales[0] : scales[1]};
  }
  HWY_INLINE Floatv weight(const Quad& quad, std::size_t k) const {
    return hn::Mul(quad.scale, hn::Sub(level_of(quad.levels, k, 6), hn::Set(FloatTag(), 32.0F)));
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
