#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include "bad_inputs.h"
#include "format/gguf.h"

namespace plm {
namespace {

std::shared_ptr<const GgufFile> parsed(std::span<const std::byte> bytes) {
  auto file = GgufFile::parse(bytes, "written.gguf");
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : nullptr;
}

TEST(GgufWriter, WhatIsWrittenIsRead) {
  GgufWriter writer;
  writer.add_string("general.architecture", "tiny");
  writer.add_u32("n", 7);
  writer.add_i32("i", -7);
  writer.add_u64("u", std::uint64_t{1} << 40);
  writer.add_f32("eps", 1e-5F);
  writer.add_boolean("yes", true);
  writer.add_u32s("heads", std::vector<std::uint32_t>{2, 4});
  writer.add_i32s("kinds", std::vector<std::int32_t>{-1, 6});
  writer.add_f32s("scores", std::vector<float>{0.5F, -3.0F});
  writer.add_strings("tokens", std::vector<std::string_view>{"a", "", "\xe2\x96\x81the"});
  writer.add_u32("n", 8);  // replaces
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  writer.add_tensor("w", *find_ggml_type("F32"), std::vector<std::uint64_t>{3, 2}, std::as_bytes(std::span(values)));
  writer.add_tensor("q", *find_ggml_type("Q8_0"), std::vector<std::uint64_t>{32, 3},
                    std::vector<std::byte>(102, std::byte{9}));

  const std::vector<std::byte> bytes = writer.bytes();
  const auto file = parsed(bytes);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->warnings().empty());
  EXPECT_EQ(file->metadata().size(), 10U);
  EXPECT_EQ(file->metadata()[1].key, "n");
  EXPECT_EQ(file->unsigned_value("n").value(), 8U);
  EXPECT_EQ(file->find("i")->as_integer(), -7);
  EXPECT_EQ(file->unsigned_value("u").value(), std::uint64_t{1} << 40);
  EXPECT_EQ(file->real_value("eps").value(), static_cast<double>(1e-5F));
  EXPECT_EQ(file->boolean_value("yes").value(), true);
  EXPECT_EQ(file->integer_array("heads").value(), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(file->integer_array("kinds").value(), (std::vector<std::int64_t>{-1, 6}));
  EXPECT_EQ(file->f32_array("scores").value(), (std::vector<float>{0.5F, -3.0F}));
  EXPECT_EQ(file->string_array("tokens")->views(), (std::vector<std::string_view>{"a", "", "\xe2\x96\x81the"}));
  const TensorEntry* w = file->find_tensor("w");
  EXPECT_EQ(w->dims, (std::array<std::uint64_t, 4>{3, 2, 1, 1}));
  EXPECT_EQ(std::memcmp(w->bytes.data(), values.data(), w->bytes.size()), 0);
  EXPECT_EQ(file->find_tensor("q")->bytes.size(), 102U);
}

// Everything of `file` once more, by way of the writer.
std::vector<std::byte> rewritten(const GgufFile& file) {
  GgufWriter writer;
  for (const MetaEntry& entry : file.metadata()) writer.add(entry.key, entry.value);
  for (const TensorEntry& tensor : file.tensors())
    writer.add_tensor(tensor.name, *tensor.type, tensor.shape(), tensor.bytes);
  return writer.bytes();
}

TEST(GgufWriter, RealFilesComeBackByteForByte) {
  std::vector<std::filesystem::path> paths{PLM_MODELS "/twin-ar.gguf"};
  for (const auto& entry : std::filesystem::directory_iterator(PLM_GOLDEN "/oracle")) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  EXPECT_GE(paths.size(), 5U);
  for (const std::filesystem::path& path : paths) {
    const auto file = GgufFile::open(path.string());
    ASSERT_TRUE(file) << file.error().message;
    const std::vector<std::byte> copy = rewritten(**file);
    const auto original = (*file)->parts()[0].bytes;
    EXPECT_TRUE(std::ranges::equal(copy, original)) << path;
  }
}

TEST(GgufWriter, AlignmentIsAMetadataKey) {
  GgufWriter writer;
  writer.add_u32("general.alignment", 256);
  for (const char* name : {"a", "b"}) {
    writer.add_tensor(name, *find_ggml_type("I8"), std::vector<std::uint64_t>{5},
                      std::vector<std::byte>(5, std::byte{1}));
  }
  const std::vector<std::byte> bytes = writer.bytes();
  const auto file = parsed(bytes);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->warnings().empty());
  EXPECT_EQ(file->parts()[0].alignment, 256U);
  EXPECT_EQ(file->tensors()[1].bytes.data() - file->tensors()[0].bytes.data(), 256);
}

TEST(GgufWriter, AFileAppearsWholeOrNotAtAll) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "m.gguf").string();
  std::ofstream(path) << "what was there before";
  const auto original = GgufFile::open(PLM_GOLDEN "/oracle/llama-f32.gguf");
  ASSERT_TRUE(original);
  GgufWriter writer;
  for (const MetaEntry& entry : (*original)->metadata()) writer.add(entry.key, entry.value);
  for (const TensorEntry& tensor : (*original)->tensors()) {
    writer.add_tensor(tensor.name, *tensor.type, tensor.shape(), tensor.bytes);
  }
  ASSERT_TRUE(writer.write(path));
  EXPECT_EQ(read_text(path), read_text(PLM_GOLDEN "/oracle/llama-f32.gguf"));
  const auto refused = writer.write((folder.path() / "no/such/folder.gguf").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no/such/folder.gguf"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // no temporary file is left
}

}  // namespace
}  // namespace plm
