// Reading panels (kernels/cpu/panel.h): a reader stands at one part of 32 inputs and one vector of output rows.
//
// Quantised types: `quad(q)` gives the stored levels of inputs 4q ... 4q + 3 as the bytes of one word a row (tables
// looked up, so level = byte - bias), `scale(g)` and `offset(g)` what they are scaled by. All types: `fetch(q)` and
// `weight(fetched, k)` give input 4q + k as float32, bit for bit as the type's `unpack` has it. q, k and g must be
// constants once loops are unrolled. Tested by tests/kernels/cpu/test_linear.cpp with every type.
#if defined(PLM_KERNELS_CPU_SIMD_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#undef PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#else
#define PLM_KERNELS_CPU_SIMD_PANELS_INL_H_
#endif

#include <utility>

#include "kernels/cpu/panel_product.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

// Bytes of one item of all 16 rows.
inline constexpr std::size_t kItem8 = kPanelOutputs;
inline constexpr std::size_t kItem16 = 2 * kPanelOutputs;
inline constexpr std::size_t kItem32 = 4 * kPanelOutputs;

HWY_INLINE Uint32v and_words(Uint32v words, std::uint32_t mask) { return hn::And(words, hn::Set(Uint32Tag(), mask)); }

template <int Bits>
HWY_INLINE Uint32v shift_right(Uint32v words) {
  if constexpr (Bits == 0) return words;
  return hn::ShiftRight<Bits>(words);
}

/// Bits of quad Quad in a plane of `Bits` bits a level, as the lowest bits of each byte.
template <int Bits, std::size_t Quad>
HWY_INLINE Uint32v plane_quad(const std::byte* plane) {
  constexpr std::size_t kWords = static_cast<std::size_t>(Bits);  // a plane of b bits has b words
  constexpr std::uint32_t kMask = 0x01010101U * ((1U << Bits) - 1);
  const Uint32v words = load_u32(plane + Quad % kWords * kItem32);
  if constexpr (Bits == 8) return words;
  return and_words(shift_right<static_cast<int>(Quad / kWords) * Bits>(words), kMask);
}

template <const PanelForm& Form>
class QuantReader {
 public:
  QuantReader() = default;
  HWY_INLINE QuantReader(const PanelPlace& panel, std::size_t part, std::size_t lane)
      : units_(panel.units + part / kUnitParts * Form.unit_bytes() + 2 * lane),
        scales_(panel.parts + part * Form.part_bytes() + lane),
        planes_(panel.parts + part * Form.part_bytes() + Form.scale_bytes() + 4 * lane) {}

  template <std::size_t Quad>
  HWY_INLINE Uint32v quad() const {
    constexpr int kHigh = Form.bits == 3 || Form.bits == 5 ? 1 : Form.bits == 6 ? 2 : 0;  // bits of the second plane
    constexpr int kLow = Form.bits - kHigh;
    Uint32v levels = plane_quad<kLow, Quad>(planes_);
    if constexpr (kHigh > 0) {
      const Uint32v high = plane_quad<kHigh, Quad>(planes_ + static_cast<std::size_t>(kLow) * kItem32);
      levels = hn::Or(levels, hn::ShiftLeft<kLow>(high));
    }
    if constexpr (Form.lookup != LevelLookup::none) levels = look_up(levels);
    return levels;
  }

  template <std::size_t Group>
  HWY_INLINE Floatv scale() const {
    const Floatv unit = load_unit(units_);
    if constexpr (Form.scales == ScaleForm::unit || Form.scales == ScaleForm::unit_offset) return unit;
    if constexpr (Form.scales == ScaleForm::half_bytes_offset) {
      return hn::Mul(unit, to_float(and_words(load_u8(scales_ + Group * kItem8), 15)));
    }
    return hn::Mul(unit, hn::ConvertTo(FloatTag(), load_i8(scales_ + Group * kItem8)));
  }

  template <std::size_t Group>
  HWY_INLINE Floatv offset() const {
    const Floatv unit = load_unit(units_ + kItem16);
    if constexpr (Form.scales == ScaleForm::unit_offset) return unit;
    if constexpr (Form.scales == ScaleForm::half_bytes_offset) {
      return hn::Mul(unit, hn::Neg(to_float(hn::ShiftRight<4>(load_u8(scales_ + Group * kItem8)))));
    }
    return hn::Mul(unit, hn::ConvertTo(FloatTag(), load_i8(scales_ + (kGroups + Group) * kItem8)));
  }

  // ---- As float32
  struct Fetched {
    Uint32v levels;
    Floatv scale, offset;
  };
  template <std::size_t Quad>
  HWY_INLINE Fetched fetch() const {
    constexpr std::size_t kGroup = Quad * kGroups / kPartQuads;
    if constexpr (Form.has_offsets()) return {quad<Quad>(), scale<kGroup>(), offset<kGroup>()};
    return {quad<Quad>(), scale<kGroup>(), hn::Zero(FloatTag())};
  }
  template <std::size_t K>
  static HWY_INLINE Floatv weight(const Fetched& fetched) {
    Floatv level = to_float(and_words(shift_right<8 * static_cast<int>(K)>(fetched.levels), 255));
    if constexpr (Form.bias != 0) level = hn::Sub(level, hn::Set(FloatTag(), static_cast<float>(Form.bias)));
    const Floatv scaled = hn::Mul(level, fetched.scale);
    if constexpr (Form.has_offsets()) return hn::Add(scaled, fetched.offset);
    return scaled;
  }

 private:
  static constexpr auto kGroups = static_cast<std::size_t>(Form.groups);
  static constexpr auto kUnitParts = static_cast<std::size_t>(Form.unit_parts);

  static HWY_INLINE Floatv load_unit(const std::byte* from) {
    if constexpr (Form.wide_units) return load_bf16(from);
    return load_f16(from);
  }
  static HWY_INLINE Uint32v look_up(Uint32v indices) {
    const hn::Repartition<std::uint8_t, FloatTag> bytes;
    const auto table = hn::LoadDup128(bytes, level_table(Form.lookup).data());
    return hn::BitCast(Uint32Tag(), hn::TableLookupBytes(table, hn::BitCast(bytes, indices)));
  }

  const std::byte* units_;
  const std::byte* scales_;
  const std::byte* planes_;
};

template <const PanelForm& Form>
class PlainReader {
 public:
  PlainReader() = default;
  HWY_INLINE PlainReader(const PanelPlace& panel, std::size_t part, std::size_t lane)
      : numbers_(panel.parts + part * Form.part_bytes() + lane * kBytes) {}
  template <std::size_t Quad>
  HWY_INLINE const std::byte* fetch() const {
    return numbers_ + 4 * Quad * kBytes * kPanelOutputs;
  }
  template <std::size_t K>
  static HWY_INLINE Floatv weight(const std::byte* fetched) {
    const std::byte* from = fetched + K * kBytes * kPanelOutputs;
    if constexpr (Form.bits == 32) return load_f32(from);
    if constexpr (Form.bits == 16 && Form.wide_units) return load_bf16(from);
    if constexpr (Form.bits == 16 && !Form.wide_units) return load_f16(from);
  }

 private:
  static constexpr auto kBytes = static_cast<std::size_t>(Form.bits / 8);
  const std::byte* numbers_;
};

/// Calls body.operator()<0>() ... <Count - 1>().
template <std::size_t Count, class Body>
HWY_INLINE void for_each_constant(Body body) {
  [&]<std::size_t... I>(std::index_sequence<I...>) HWY_ATTR __attribute__((always_inline)) {
    (body.template operator()<I>(), ...);
  }
  (std::make_index_sequence<Count>());
}

template <const PanelForm& Form>
using Reader = std::conditional_t<Form.is_plain(), PlainReader<Form>, QuantReader<Form>>;

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
