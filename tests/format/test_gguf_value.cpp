#include "format/gguf_value.h"

#include <gtest/gtest.h>

#include <limits>

#include "raw_gguf.h"

namespace plm {
namespace {

// A value over `bytes`, which must outlive it.
MetaValue number(GgufType type, const std::string& bytes) { return MetaValue(type, as_file(bytes)); }

TEST(GgufValue, UnsignedTakesEveryIntegerTypeButNothingElse) {
  const std::string seven = raw_u64(7);  // little-endian: every shorter integer type reads 7 from it as well
  for (const GgufType type : {GgufType::u8, GgufType::i8, GgufType::u16, GgufType::i16, GgufType::u32, GgufType::i32,
                              GgufType::u64, GgufType::i64}) {
    EXPECT_EQ(number(type, seven).as_unsigned(), 7U) << gguf_type_name(type);
    EXPECT_EQ(number(type, seven).as_integer(), 7) << gguf_type_name(type);
    EXPECT_EQ(number(type, seven).as_real(), std::nullopt);
    EXPECT_EQ(number(type, seven).as_boolean(), std::nullopt);
  }
  for (const GgufType type : {GgufType::f32, GgufType::f64, GgufType::boolean, GgufType::string}) {
    EXPECT_EQ(number(type, seven).as_unsigned(), std::nullopt) << gguf_type_name(type);
    EXPECT_EQ(number(type, seven).as_integer(), std::nullopt) << gguf_type_name(type);
  }
}

TEST(GgufValue, SignAndRangeAreKept) {
  const std::string ones(8, '\xff');
  EXPECT_EQ(number(GgufType::i8, ones).as_integer(), -1);
  EXPECT_EQ(number(GgufType::i64, ones).as_integer(), -1);
  EXPECT_EQ(number(GgufType::i32, ones).as_unsigned(), std::nullopt);
  EXPECT_EQ(number(GgufType::u8, ones).as_unsigned(), 255U);
  EXPECT_EQ(number(GgufType::u64, ones).as_unsigned(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(number(GgufType::u64, ones).as_integer(), std::nullopt);
}

TEST(GgufValue, RealsAndBooleans) {
  const std::string eps = raw(1e-5F), base = raw(10000.0), yes = raw(std::uint8_t{1});
  EXPECT_EQ(number(GgufType::f32, eps).as_real(), static_cast<double>(1e-5F));
  EXPECT_EQ(number(GgufType::f64, base).as_real(), 10000.0);
  EXPECT_EQ(number(GgufType::boolean, yes).as_boolean(), true);
  EXPECT_EQ(number(GgufType::boolean, yes).as_real(), std::nullopt);
}

TEST(GgufValue, StringArrayIsAForwardRangeOverTheBytes) {
  static_assert(std::forward_iterator<StringArray::Iterator>);
  const std::string bytes = raw_string("the") + raw_string("") + raw_string(std::string_view("a\0b", 3));
  const auto strings = MetaValue(GgufType::string, 3, as_file(bytes)).as_strings();
  ASSERT_TRUE(strings);
  const std::vector<std::string_view> expected{"the", "", std::string_view("a\0b", 3)};
  EXPECT_EQ(strings->views(), expected);
  EXPECT_EQ(strings->size(), 3U);
  EXPECT_EQ(std::vector<std::string_view>(strings->begin(), strings->end()), expected);
  EXPECT_EQ(strings->views()[0].data(), bytes.data() + 8);  // a view, no copy
}

TEST(GgufValue, ArraysKnowTheirElementType) {
  const std::string floats = raw(0.5F) + raw(-2.0F);
  const MetaValue reals(GgufType::f32, 2, as_file(floats));
  EXPECT_EQ(reals.as_reals(), (std::vector<float>{0.5F, -2.0F}));
  EXPECT_EQ(reals.as_integers(), std::nullopt);
  EXPECT_EQ(reals.as_strings(), std::nullopt);
  EXPECT_EQ(reals.as_unsigned(), std::nullopt);

  const std::string shorts = raw(std::int16_t{-3}) + raw(std::int16_t{400});
  EXPECT_EQ(MetaValue(GgufType::i16, 2, as_file(shorts)).as_integers(), (std::vector<std::int64_t>{-3, 400}));

  const MetaValue no_strings(GgufType::string, 0, {});
  EXPECT_EQ(no_strings.as_integers(), std::nullopt);
  EXPECT_TRUE(no_strings.as_strings()->views().empty());
}

TEST(GgufValue, DescribesItselfOnOneLine) {
  const std::string seven = raw_u32(7), minus = raw(std::int32_t{-2}), half = raw(0.5F), no(1, '\0');
  EXPECT_EQ(number(GgufType::u32, seven).described(), "u32 7");
  EXPECT_EQ(number(GgufType::i32, minus).described(), "i32 -2");
  EXPECT_EQ(number(GgufType::f32, half).described(), "f32 0.5");
  EXPECT_EQ(number(GgufType::boolean, no).described(), "bool false");
  EXPECT_EQ(number(GgufType::string, "a\x1b[2J").described(), "string \"a\\x1b[2J\"");
  EXPECT_EQ(MetaValue(GgufType::string, 2, {}).described(), "array of 2 string");
}

}  // namespace
}  // namespace plm
