#include "format/gguf_output.h"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>

#include "bad_inputs.h"
#include "format/gguf.h"

namespace plm {
namespace {

std::size_t files_in(const TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

GgufWriter two_tensors() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  for (const auto& [name, count] : {std::pair{"a", 5}, std::pair{"b", 40}}) {
    writer.announce_tensor(name, *find_ggml_type("I8"), std::vector<std::uint64_t>{static_cast<std::uint64_t>(count)});
  }
  return writer;
}

TEST(GgufOutput, TakesTensorsInPieces) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.gguf").string();
  auto output = GgufOutput::create(path, two_tensors());
  ASSERT_TRUE(output) << output.error().message;
  const std::vector<std::byte> piece(5, std::byte{7});
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(output->append(piece));
  EXPECT_FALSE(std::filesystem::exists(path)) << "not before it is whole";
  ASSERT_TRUE(output->finish());
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE((*file)->warnings().empty());
  for (const TensorEntry& tensor : (*file)->tensors()) {
    EXPECT_TRUE(std::ranges::all_of(tensor.bytes, [](std::byte value) { return value == std::byte{7}; }));
  }
  EXPECT_EQ((*file)->tensors()[1].byte_count(), 40U);
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(GgufOutput, LeavesNothingBehindWhenItIsGivenUp) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.gguf").string();
  {
    auto output = GgufOutput::create(path, two_tensors());
    ASSERT_TRUE(output);
    ASSERT_TRUE(output->append(std::vector<std::byte>(5)));
    EXPECT_EQ(files_in(folder), 1U);
  }
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(GgufOutput, AsksForRoomBeforeItWrites) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.announce_tensor("a", *find_ggml_type("I8"), std::vector<std::uint64_t>{std::uint64_t{1} << 60});
  const auto output = GgufOutput::create((folder.path() / "m.gguf").string(), writer);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::no_room);
  EXPECT_NE(output.error().message.find("m.gguf: takes 1152921504606847"), std::string::npos) << output.error().message;
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(GgufOutput, SaysWhereItCannotWrite) {
  const TemporaryFolder folder;
  const auto output = GgufOutput::create((folder.path() / "no" / "m.gguf").string(), two_tensors());
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::failed);
}

}  // namespace
}  // namespace plm
