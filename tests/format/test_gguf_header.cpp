// One rule of the header, one test; the whole corpus of broken files is in test_gguf.cpp.
#include "format/gguf_header.h"

#include <gtest/gtest.h>

#include "raw_gguf.h"

namespace plm {
namespace {

constexpr std::uint64_t k2To63 = std::uint64_t{1} << 63;

// The error of parsing `bytes`, or "accepted".
std::string refusal(const std::string& bytes, const GgufLimits& limits = {}) {
  GgufWarnings warnings;
  const auto header = parse_gguf_header(as_file(bytes), limits, warnings);
  return header ? "accepted" : header.error().message;
}
std::string refusal(const RawGguf& file) { return refusal(file.bytes()); }
std::string refusal(const RawTensor& tensor) {
  RawGguf file;
  file.tensors = {tensor};
  return refusal(file);
}

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(GgufHeader, ReadsWhatIsThere) {
  RawGguf file;
  file.with("general.alignment", 4, raw_u32(64))
      .with("x.flags", 9, raw_u32(7) + raw_u64(2) + "\1" + std::string(1, '\0'));
  file.tensors = {{.name = "a", .dims = {32, 3}, .type = 8}, {.name = "b", .dims = {2, 2, 2, 2}, .offset = 128}};
  file.data.clear();
  const std::string bytes = file.bytes();
  GgufWarnings warnings;
  const auto header = parse_gguf_header(as_file(bytes), {}, warnings);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->version, 3U);
  EXPECT_EQ(header->alignment, 64U);
  ASSERT_EQ(header->metadata.size(), 3U);
  EXPECT_EQ(header->metadata[2].key, "x.flags");
  EXPECT_EQ(header->metadata_index.find(header->metadata, "general.architecture")->value.as_string(), "llama");
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].type->name, "Q8_0");
  EXPECT_EQ(header->ranges[0].size, 3U * 34);
  EXPECT_EQ(header->tensors[1].rank, 4U);
  EXPECT_EQ(header->tensors[1].element_count(), 16U);
  EXPECT_EQ(header->ranges[1].offset, 128U);
  EXPECT_LE(header->size, bytes.size());
  EXPECT_LT(bytes.size() - header->size, 32U);
}

TEST(GgufHeader, MagicAndVersion) {
  EXPECT_NAMES(refusal(std::string("GGU")), "magic takes 4 bytes");
  EXPECT_NAMES(refusal(RawGguf{.magic = "GGUX"}), "magic: is \"GGUX\"");
  EXPECT_NAMES(refusal(RawGguf{.magic = "tjgg"}), "before GGUF");
  EXPECT_NAMES(refusal(std::string("GGUF\3")), "version takes 4 bytes");
  for (const std::uint32_t version : {0U, 1U, 4U, 0xffffffffU}) {
    EXPECT_NAMES(refusal(RawGguf{.version = version}), "version: is " + std::to_string(version));
  }
  EXPECT_NAMES(refusal(RawGguf{.version = 0x03000000}), "version: 3 with its bytes swapped; the file is big-endian");
  EXPECT_EQ(refusal(RawGguf{.version = 2}), "accepted");
}

TEST(GgufHeader, CountsAreComparedWithTheFile) {
  EXPECT_NAMES(refusal(RawGguf{.tensor_count = ~std::uint64_t{0}}), "n_tensors: is 18446744073709551615");
  EXPECT_NAMES(refusal(RawGguf{.tensor_count = 1000}), "n_tensors: is 1000, but the");
  EXPECT_NAMES(refusal(RawGguf{.metadata_count = std::uint64_t{1} << 40}), "n_kv: is 1099511627776");
  EXPECT_NAMES(refusal(RawGguf{.metadata_count = 1000}), "n_kv: is 1000, but the");
  EXPECT_NAMES(refusal(RawGguf{.metadata = {}}), "n_kv is 0");
  EXPECT_NAMES(refusal(RawGguf{.tensor_count = 2, .data = ""}), "n_tensors: is 2");
  EXPECT_NE(refusal(RawGguf{.tensor_count = 2}), "accepted");
}

TEST(GgufHeader, LimitsAreKept) {
  const std::string bytes = RawGguf{}.with("x.y", 4, raw_u32(1)).bytes();
  EXPECT_EQ(refusal(bytes, {.metadata_entries = 2, .tensors = 1, .key_bytes = 20}), "accepted");
  EXPECT_NAMES(refusal(bytes, {.metadata_entries = 1}), "n_kv: is 2, at most 1");
  EXPECT_NAMES(refusal(bytes, {.tensors = 0}), "n_tensors: is 1, at most 0");
  EXPECT_NAMES(refusal(bytes, {.key_bytes = 19}), "key has 20 bytes, at most 19");
}

TEST(GgufHeader, Keys) {
  EXPECT_NAMES(refusal(RawGguf{}.with("", 4, raw_u32(1))), "metadata entry 2 of 2: key is empty");
  EXPECT_NAMES(refusal(RawGguf{}.with("a." + std::string(69998, 'k'), 4, raw_u32(1))), "key has 70000 bytes");
  EXPECT_NAMES(refusal(RawGguf{}.with(std::string_view("a\0b", 3), 4, raw_u32(1))),
               "not plain UTF-8 text: \"a\\x00b\"");
  EXPECT_NAMES(refusal(RawGguf{}.with("a\xff", 4, raw_u32(1))), "not plain UTF-8 text");
  EXPECT_NAMES(refusal(RawGguf{}.with("a\x1b[2J", 4, raw_u32(1))), "not plain UTF-8 text: \"a\\x1b[2J\"");
  EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 4, raw_u32(1)).with("x.y", 4, raw_u32(1))), "key x.y: stands twice");
  for (const std::uint64_t length : {k2To63, ~std::uint64_t{0}, std::uint64_t{1} << 30}) {
    EXPECT_NAMES(refusal(RawGguf{.metadata = {raw_string("x.y", length) + raw_u32(4) + raw_u32(1)}}),
                 "metadata entry 1 of 1: key takes " + std::to_string(length) + " bytes");
  }
}

TEST(GgufHeader, ValueTypes) {
  EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 13, raw_u64(0))), "key x.y: value type is 13");
  EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 0xffffffff, raw_u64(0))), "key x.y: value type is 4294967295");
  EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 7, "\2")), "key x.y: bool stored as 2");
  EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 9, raw_u32(7) + raw_u64(2) + "\1\2")), "key x.y: bool stored as 2");
  const char* sizes[] = {"u8:1", "i8:1", "u16:2", "i16:2", "u32:4", "i32:4", "f32:4", "bool:1"};
  for (std::uint32_t type = 0; type < 8; ++type) {
    const auto bytes = static_cast<std::size_t>(sizes[type][std::string(sizes[type]).find(':') + 1] - '0');
    EXPECT_EQ(refusal(RawGguf{}.with("x.y", type, std::string(bytes, '\0'))), "accepted") << sizes[type];
  }
  for (const std::uint32_t type : {10U, 11U, 12U})
    EXPECT_EQ(refusal(RawGguf{}.with("x.y", type, raw_u64(0))), "accepted");
}

TEST(GgufHeader, Strings) {
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 30}) {
    EXPECT_NAMES(refusal(RawGguf{}.with("x.y", 8, raw_string("abc", length))),
                 "key x.y: string takes " + std::to_string(length) + " bytes");
  }
  GgufWarnings warnings;
  const std::string bytes = RawGguf{}.with("general.name", 8, raw_string("\xc3\x28")).bytes();
  EXPECT_TRUE(parse_gguf_header(as_file(bytes), {}, warnings));
  ASSERT_EQ(warnings.sentences().size(), 1U);
  EXPECT_NAMES(warnings.sentences()[0], "key general.name: is not valid UTF-8");
}

TEST(GgufHeader, Arrays) {
  for (const std::uint64_t count : {k2To63, k2To63 / 2, std::uint64_t{1} << 29}) {
    EXPECT_NAMES(refusal(RawGguf{}.with("x.a", 9, raw_u32(6) + raw_u64(count))),
                 "key x.a: array length: is " + std::to_string(count));
    EXPECT_NAMES(refusal(RawGguf{}.with("x.a", 9, raw_u32(8) + raw_u64(count))),
                 "key x.a: array length: is " + std::to_string(count));
  }
  EXPECT_NAMES(refusal(RawGguf{}.with("x.a", 9, raw_u32(13) + raw_u64(1) + raw_u64(0))), "array element type is 13");
  EXPECT_NAMES(refusal(RawGguf{}.with("x.a", 9, raw_u32(8) + raw_u64(1) + raw_string("abc", k2To63))),
               "key x.a: string in the array takes");
  EXPECT_EQ(refusal(RawGguf{}.with("x.a", 9, raw_u32(8) + raw_u64(0))), "accepted");
  std::string nested;
  for (int depth = 0; depth < 8000; ++depth) nested += raw_u32(9) + raw_u64(1);
  EXPECT_NAMES(refusal(RawGguf{}.with("x.a", 9, nested + raw_u32(0) + raw_u64(1) + "\1")), "key x.a: array of arrays");
}

TEST(GgufHeader, Alignment) {
  for (const std::uint32_t value : {0U, 1U, 3U, 4U, 24U, 0x80000000U, 0xffffffffU}) {
    EXPECT_NAMES(refusal(RawGguf{}.with("general.alignment", 4, raw_u32(value))),
                 "general.alignment is u32 " + std::to_string(value));
  }
  EXPECT_NAMES(refusal(RawGguf{}.with("general.alignment", 5, raw_u32(32))),
               "general.alignment is i32 32, expected u32");
  EXPECT_NAMES(refusal(RawGguf{}.with("general.alignment", 8, raw_string("32"))), "general.alignment is string \"32\"");
  for (const std::uint32_t value : {8U, 64U, 1U << 30}) {
    EXPECT_EQ(refusal(RawGguf{}.with("general.alignment", 4, raw_u32(value))), "accepted");
  }
}

TEST(GgufHeader, TensorNames) {
  EXPECT_NAMES(refusal(RawTensor{.name = ""}), "tensor table entry 1: tensor name is empty");
  EXPECT_EQ(refusal(RawTensor{.name = std::string(63, 'n')}), "accepted");
  EXPECT_NAMES(refusal(RawTensor{.name = std::string(64, 'n')}), "tensor name has 64 bytes, at most 63");
  EXPECT_NAMES(refusal(RawTensor{.name = std::string("w\0z", 3)}), "tensor name is not plain UTF-8 text");
  EXPECT_NAMES(refusal(RawTensor{.name = "%s%n\x1b[2J"}), "\"%s%n\\x1b[2J\"");
}

TEST(GgufHeader, Shapes) {
  EXPECT_NAMES(refusal(RawTensor{.dims = {}}), "tensor w: n_dims is 0");
  EXPECT_NAMES(refusal(RawTensor{.dims = {8, 1, 1, 1, 1}}), "tensor w: n_dims is 5");
  EXPECT_NAMES(refusal(RawTensor{.rank = 0xffffffff}), "tensor w: n_dims is 4294967295");
  EXPECT_NAMES(refusal(RawTensor{.dims = {8, 0}}), "tensor w: dimension 1 is 0");
  using Dims = std::vector<std::uint64_t>;
  const std::uint64_t most = ~std::uint64_t{0};
  for (const Dims& dims :
       {Dims{32, most}, Dims{most}, Dims{k2To63, 2}, Dims{std::uint64_t{1} << 62}, Dims{most, most, most, most}}) {
    EXPECT_NAMES(refusal(RawTensor{.dims = dims}), "make more bytes than 64 bits count");
  }
}

TEST(GgufHeader, TensorTypes) {
  for (const std::uint32_t type : {4U, 5U, 31U, 38U, 42U, 200U, 9999U, 0xffffffffU}) {
    EXPECT_NAMES(refusal(RawTensor{.type = type}), "tensor w: tensor type " + std::to_string(type));
  }
  EXPECT_NAMES(refusal(RawTensor{.dims = {31, 32}, .type = 8}),
               "row length 31 is not a multiple of 32, the quant block of Q8_0");
  EXPECT_NAMES(refusal(RawTensor{.dims = {32, 8}, .type = 12}), "row length 32 is not a multiple of 256");
}

}  // namespace
}  // namespace plm
