#include "format/gguf_layout.h"

#include <gtest/gtest.h>

#include "raw_gguf.h"

namespace plm {
namespace {

// Outcome of laying out `bytes`: the error, else the warnings, one a line.
std::string outcome(const std::string& bytes) {
  GgufWarnings warnings;
  auto header = parse_gguf_header(as_file(bytes), {}, warnings);
  if (!header) return "header: " + header.error().message;
  if (auto placed = place_tensors(as_file(bytes), *header, warnings); !placed)
    return "error: " + placed.error().message;
  std::string text;
  for (const std::string& sentence : warnings.sentences()) text += "warning: " + sentence + "\n";
  return text;
}

// Two tensors of 40 bytes, each padded to 64.
RawGguf two_tensors() {
  RawGguf file;
  file.tensors = {{.name = "a", .dims = {10}}, {.name = "b", .dims = {10}, .offset = 64}};
  file.data = std::string(40, '\1') + std::string(24, '\0') + std::string(40, '\2') + std::string(24, '\0');
  return file;
}

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(GgufLayout, EachTensorGetsItsBytes) {
  const std::string bytes = two_tensors().bytes();
  GgufWarnings warnings;
  auto header = parse_gguf_header(as_file(bytes), {}, warnings);
  ASSERT_TRUE(header && place_tensors(as_file(bytes), *header, warnings));
  EXPECT_TRUE(warnings.sentences().empty());
  const auto& tensors = header->tensors;
  EXPECT_EQ(tensors[0].bytes.size(), 40U);
  EXPECT_EQ(tensors[0].bytes[39], std::byte{1});
  EXPECT_EQ(tensors[1].bytes.data() - tensors[0].bytes.data(), 64);
  EXPECT_EQ(tensors[1].bytes[0], std::byte{2});
}

TEST(GgufLayout, OffsetsAreAlignedAndInside) {
  for (const std::uint64_t offset :
       {std::uint64_t{1} << 30, ~std::uint64_t{0} - 31, std::uint64_t{128}, std::uint64_t{96}}) {
    RawGguf file = two_tensors();
    file.tensors[1].offset = offset;
    EXPECT_NAMES(outcome(file.bytes()), "error: tensor b: 40 bytes at offset " + std::to_string(offset));
  }
  RawGguf file = two_tensors();
  file.tensors[1].offset = 65;
  EXPECT_NAMES(outcome(file.bytes()), "error: tensor b: offset 65 is not a multiple of the alignment, 32");
  file = two_tensors();
  file.tensors[1].dims = {std::uint64_t{1} << 61};
  EXPECT_NAMES(outcome(file.bytes()), "error: tensor b: 9223372036854775808 bytes");
}

TEST(GgufLayout, TensorsDoNotOverlap) {
  for (const std::uint64_t offset : {0U, 32U}) {
    RawGguf file = two_tensors();
    file.tensors[1].offset = offset;
    EXPECT_NAMES(outcome(file.bytes()), "lies inside tensor ");
  }
}

TEST(GgufLayout, EveryTruncationIsRefusedUntilOnlyPaddingIsMissing) {
  const std::string whole = two_tensors().bytes();
  for (std::size_t size = 0; size < whole.size() - 24; ++size) {
    const std::string text = outcome(whole.substr(0, size));
    EXPECT_TRUE(text.starts_with("error: ") || text.starts_with("header: ")) << size << ": " << text;
  }
  EXPECT_NAMES(outcome(whole.substr(0, whole.size() - 24)),
               "warning: tensor data: the last 24 bytes of padding are missing");
  EXPECT_EQ(outcome(whole), "");
}

TEST(GgufLayout, WarnsOfHolesAndDisorder) {
  RawGguf file = two_tensors();
  file.tensors[1].offset = 96;
  file.data.insert(64, 32, '\7');
  EXPECT_EQ(outcome(file.bytes()), "warning: tensor b: a hole of 32 bytes lies before its data\n");
  file = two_tensors();
  std::swap(file.tensors[0].offset, file.tensors[1].offset);
  EXPECT_NAMES(outcome(file.bytes()), "warning: tensor offsets: the data are stored in another order");
}

TEST(GgufLayout, WarnsOfWhatFollowsAndOfDirtyPadding) {
  RawGguf file = two_tensors();
  file.data += std::string(1000, '\xaa');
  EXPECT_EQ(outcome(file.bytes()), "warning: file size: 1000 bytes after the last tensor belong to nothing\n");
  file = two_tensors();
  file.data[50] = '\xff';
  EXPECT_EQ(outcome(file.bytes()), "warning: padding: some bytes between the tensors are not zero\n");
  file = two_tensors();
  file.padding = '\xff';
  EXPECT_EQ(outcome(file.bytes()), "warning: padding: some bytes between the tensors are not zero\n");
}

TEST(GgufLayout, ATableLongerThanItsCountIsRefused) {
  RawGguf file = two_tensors();
  file.tensor_count = 1;
  EXPECT_NAMES(outcome(file.bytes()), "error: n_tensors: is 1, but the tensor table goes on");
}

TEST(GgufLayout, WarnsOfDataThatWereNeverDownloaded) {
  RawGguf file;
  file.tensors = {{.name = "a", .dims = {32, 32}}, {.name = "b", .dims = {32, 32}, .offset = 4096}};
  file.data = std::string(4096, '\1') + std::string(4096, '\0');
  EXPECT_NAMES(outcome(file.bytes()), "warning: tensor b: its data are all zero");
  // Rows of zeros at both ends are common: tokens that were never trained.
  file.data.replace(4096 + 2000, 100, 100, '\1');
  EXPECT_EQ(outcome(file.bytes()), "");
}

TEST(GgufLayout, AFileCannotMakeTheWarningsLong) {
  RawGguf file;
  file.tensors.clear();
  file.data.clear();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    file.tensors.push_back({.name = std::to_string(i), .dims = {8}, .offset = i * 64});
    file.data += std::string(32, '\1') + std::string(32, '\0');
  }
  const std::string text = outcome(file.bytes());
  EXPECT_EQ(std::ranges::count(text, '\n'), 20);
}

}  // namespace
}  // namespace plm
