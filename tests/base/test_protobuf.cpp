#include "base/protobuf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plm {
namespace {

Result<std::vector<ProtobufField>> read(std::string_view message) {
  ProtobufReader reader(message);
  std::vector<ProtobufField> fields;
  while (true) {
    PLM_TRY_ASSIGN(const auto field, reader.next());
    if (!field) return fields;
    fields.push_back(*field);
  }
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text.push_back(static_cast<char>(value));
  return text;
}

// The examples of the format's documentation: 150 in field 1, "testing" in field 2, and a float.
TEST(Protobuf, ReadsEachKindOfValue) {
  const std::string message = bytes({0x08, 0x96, 0x01}) + "\x12\x07testing" + bytes({0x15, 0, 0, 0xC0, 0xBF}) +
                              bytes({0xA1, 0x02, 1, 0, 0, 0, 0, 0, 0, 0x80});
  const auto fields = read(message);  // views into it
  ASSERT_TRUE(fields.has_value());
  ASSERT_EQ(fields->size(), 4U);
  EXPECT_EQ((*fields)[0].number, 1U);
  EXPECT_EQ((*fields)[0].as_integer(), 150);
  EXPECT_EQ((*fields)[0].as_bytes(), std::nullopt);
  EXPECT_EQ((*fields)[1].as_bytes(), "testing");
  EXPECT_EQ((*fields)[1].as_float(), std::nullopt);
  EXPECT_EQ((*fields)[2].as_float(), -1.5F);
  EXPECT_EQ((*fields)[3].number, 36U);
  EXPECT_EQ((*fields)[3].value, 0x8000000000000001U);
  EXPECT_TRUE(read("")->empty());
}

TEST(Protobuf, NegativeNumbersHaveTenBytes) {
  EXPECT_EQ(read(bytes({0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}))->front().as_integer(), -1);
}

TEST(Protobuf, DamageIsNamedByItsByte) {
  const std::pair<std::string, std::string> cases[] = {
      {bytes({0x08}), "number at byte 1 does not end; the file is truncated or damaged"},
      {bytes({0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02}),
       "number at byte 1 does not end; the file is truncated or damaged"},
      {"\x12\x07test", "field of 7 bytes at byte 2, where 4 are left; the file is truncated or damaged"},
      {bytes({0x15, 0, 0, 0}), "field of 4 bytes at byte 1, where 3 are left; the file is truncated or damaged"},
      {bytes({0x00, 0x01}), "field number 0 at byte 0, expected 1 to 536870911; the file is damaged"},
      {bytes({0x08, 0x01, 0x0B}), "field 1 at byte 2 has wire type 3, expected 0, 1, 2 or 5; the file is damaged"},
      {bytes({0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}),
       "field of 18446744073709551615 bytes at byte 11, where 0 are left; the file is truncated or damaged"},
  };
  for (const auto& [message, expected] : cases) EXPECT_EQ(read(message).error().message, expected);
}

TEST(Protobuf, NoBytesAreTooMuchForIt) {
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    std::string message;
    std::uint32_t state = seed * 2654435761U + 1;
    for (std::uint32_t i = 0; i < seed % 24; ++i) {
      state = state * 1664525U + 1013904223U;
      message.push_back(static_cast<char>(state >> 24));
    }
    const auto fields = read(message);
    EXPECT_LE(fields ? fields->size() : 0, message.size() / 2);
  }
}

}  // namespace
}  // namespace plm
