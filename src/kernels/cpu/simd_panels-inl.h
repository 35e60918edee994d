// Reading panels (kernels/cpu/panel.h): one reader per storage type, constructed for one partial sum of 32 inputs and
// one vector of output rows. quad(q, w) gives the weights of inputs 4q ... 4q + 3, each a vector whose lanes are output
// rows, bit for bit as the type's `unpack` has them. Offsets in bytes follow the order of the fields in panel.cpp.
// Tested by tests/kernels/cpu/test_panel.cpp.
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

// The four levels of four bits in the lower halves of the bytes of `word`.
HWY_INLINE void nibbles(Uint32v word, Floatv (&levels)[4]) {
  const Uint32v mask = hn::Set(Uint32Tag(), 15);
  levels[0] = to_float(hn::And(word, mask));
  levels[1] = to_float(hn::And(hn::ShiftRight<8>(word), mask));
  levels[2] = to_float(hn::And(hn::ShiftRight<16>(word), mask));
  levels[3] = to_float(hn::And(hn::ShiftRight<24>(word), mask));
}

struct F32Reader {
  const std::byte* numbers;
  F32Reader() = default;
  explicit HWY_INLINE F32Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem32 + 4 * at.lane) {}
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    PLM_UNROLL
    for (std::size_t b = 0; b < 4; ++b) w[b] = load_f32(numbers + (4 * q + b) * kItem32);
  }
};

struct F16Reader {
  const std::byte* numbers;
  F16Reader() = default;
  explicit HWY_INLINE F16Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem16 + 2 * at.lane) {}
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    PLM_UNROLL
    for (std::size_t b = 0; b < 4; ++b) w[b] = load_f16(numbers + (4 * q + b) * kItem16);
  }
};

struct Bf16Reader {
  const std::byte* numbers;
  Bf16Reader() = default;
  explicit HWY_INLINE Bf16Reader(const PanelPlace& at) : numbers(at.panel + at.part * 32 * kItem16 + 2 * at.lane) {}
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    PLM_UNROLL
    for (std::size_t b = 0; b < 4; ++b) w[b] = load_bf16(numbers + (4 * q + b) * kItem16);
  }
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
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    const Uint32v word = load_u32(words + q % 4 * kItem32);
    nibbles(hn::ShiftRightSame(word, static_cast<int>(q / 4 * 4)), w);
    PLM_UNROLL
    for (Floatv& x : w) x = hn::Mul(hn::Sub(x, hn::Set(FloatTag(), 8.0F)), scale);
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
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    const Uint32v word = load_u32(words + q % 4 * kItem32);
    nibbles(hn::ShiftRightSame(word, static_cast<int>(q / 4 * 4)), w);
    PLM_UNROLL
    for (Floatv& x : w) x = hn::Add(hn::Mul(x, scale), minimum);
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
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    PLM_UNROLL
    for (std::size_t b = 0; b < 4; ++b) {
      w[b] = hn::Mul(hn::ConvertTo(FloatTag(), load_i8(levels + (4 * q + b) * kItem8)), scale);
    }
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
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    nibbles(hn::ShiftRightSame(load_u32(words + q * kItem32), shift), w);
    PLM_UNROLL
    for (Floatv& x : w) x = hn::Sub(hn::Mul(scale, x), offset);
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
  HWY_INLINE void quad(std::size_t q, Floatv (&w)[4]) const {
    const Uint32Tag d;
    const Uint32v four =
        hn::And(hn::ShiftRightSame(load_u32(lower + q * kItem32), lower_shift), hn::Set(d, 0x0f0f0f0f));
    const Uint32v two = hn::And(hn::ShiftRightSame(load_u32(upper + q * kItem32), upper_shift), hn::Set(d, 0x03030303));
    const Uint32v six = hn::Or(four, hn::ShiftLeft<4>(two));
    const Uint32v mask = hn::Set(d, 63);
    w[0] = to_float(hn::And(six, mask));
    w[1] = to_float(hn::And(hn::ShiftRight<8>(six), mask));
    w[2] = to_float(hn::And(hn::ShiftRight<16>(six), mask));
    w[3] = to_float(hn::ShiftRight<24>(six));
    PLM_UNROLL
    for (Floatv& x : w) x = hn::Mul(scales[q / 4], hn::Sub(x, hn::Set(FloatTag(), 32.0F)));
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
