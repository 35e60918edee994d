#include "format/gguf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bad_inputs.h"
#include "raw_gguf.h"

namespace plm {
namespace {

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

const std::string kTinyModel = PLM_GOLDEN "/oracle/llama-f32.gguf";

std::vector<std::string> sentences(const GgufFile& file) { return {file.warnings().begin(), file.warnings().end()}; }

TEST(Gguf, OpensARealModel) {
  const auto opened = GgufFile::open(kTinyModel);
  ASSERT_TRUE(opened) << opened.error().message;
  const GgufFile& file = **opened;
  EXPECT_EQ(file.path(), kTinyModel);
  EXPECT_EQ(sentences(file), std::vector<std::string>{});
  EXPECT_EQ(file.string_value("general.architecture").value(), "llama");
  const std::uint64_t hidden_size = file.unsigned_value("llama.embedding_length").value();
  const auto tokens = file.string_array("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens);
  const TensorEntry* embedding = file.find_tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->type->name, "F32");
  EXPECT_EQ(std::vector(embedding->shape().begin(), embedding->shape().end()),
            (std::vector<std::uint64_t>{hidden_size, tokens->size()}));
  EXPECT_EQ(embedding->bytes.size(), embedding->element_count() * 4);
  EXPECT_EQ(file.find_tensor("token_embd"), nullptr);
  ASSERT_EQ(file.parts().size(), 1U);
  EXPECT_EQ(file.parts()[0].header.data(), file.parts()[0].bytes.data());
  EXPECT_LE(file.parts()[0].header.data() + file.parts()[0].header.size(), file.tensors()[0].bytes.data());
  EXPECT_TRUE(file.unchanged());
}

TEST(Gguf, TypedValuesNameFileKeyAndFinding) {
  RawGguf raw_file;
  raw_file.with("n", 5, raw(std::int32_t{-2}))
      .with("x", 6, raw(0.5F))
      .with("b", 7, "\1")
      .with("floats", 9, raw_u32(6) + raw_u64(1) + raw(0.5F))
      .with("ids", 9, raw_u32(0) + raw_u64(2) + "\1\2");
  const std::string bytes = raw_file.bytes();
  const auto file = *GgufFile::parse(as_file(bytes), "m.gguf");
  EXPECT_EQ(file->unsigned_value("n").error().message, "m.gguf: n is i32 -2, expected an integer of at least 0");
  EXPECT_EQ(file->unsigned_value("x").error().message, "m.gguf: x is f32 0.5, expected an integer of at least 0");
  EXPECT_EQ(file->string_value("ids").error().message, "m.gguf: ids is array of 2 u8, expected a string");
  EXPECT_EQ(file->boolean_value("n").error().message, "m.gguf: n is i32 -2, expected a bool");
  EXPECT_EQ(file->real_value("b").error().message, "m.gguf: b is bool true, expected f32 or f64");
  EXPECT_EQ(file->string_array("floats").error().message,
            "m.gguf: floats is array of 1 f32, expected an array of strings");
  EXPECT_EQ(file->f32_array("ids").error().message, "m.gguf: ids is array of 2 u8, expected an array of f32");
  EXPECT_EQ(file->integer_array("floats").error().message,
            "m.gguf: floats is array of 1 f32, expected an array of integers");
  EXPECT_EQ(file->real_value("absent").error().message, "m.gguf: absent is missing");
  EXPECT_EQ(file->real_value("absent").error().kind, ErrorKind::bad_input);
  EXPECT_EQ(file->real_value("x").value(), 0.5);
  EXPECT_EQ(file->boolean_value("b").value(), true);
  EXPECT_EQ(file->integer_array("ids").value(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(file->f32_array("floats").value(), std::vector<float>{0.5F});
}

TEST(Gguf, OptionalValuesMayBeAbsentButNotWrong) {
  const std::string bytes = RawGguf{}.with("n", 4, raw_u32(7)).bytes();
  const auto file = *GgufFile::parse(as_file(bytes), "m.gguf");
  EXPECT_EQ(file->optional_unsigned("n").value(), 7U);
  EXPECT_EQ(file->optional_unsigned("absent").value(), std::nullopt);
  EXPECT_EQ(file->optional_string_array("absent").value().has_value(), false);
  EXPECT_FALSE(file->optional_string("n"));
}

TEST(Gguf, FilesThatAreNoModelsAreNamed) {
  TemporaryFolder folder;
  const auto refusal = [](const std::filesystem::path& path) {
    const auto file = GgufFile::open(path.string());
    EXPECT_FALSE(file);
    return file ? std::string() : file.error().message;
  };
  EXPECT_NAMES(refusal(folder.path() / "absent.gguf"), "absent.gguf: no such file");
  EXPECT_NAMES(refusal(folder.path()), "is a directory");
  std::ofstream(folder.path() / "page.gguf") << "<!DOCTYPE html>";
  EXPECT_NAMES(refusal(folder.path() / "page.gguf"), "page.gguf: magic: not a GGUF file but an HTML page");
}

TEST(Gguf, ThereAreTensorsOfDifferentNames) {
  RawGguf file;
  file.tensors.clear();
  file.data.clear();
  const auto refusal = [&file] {
    const std::string bytes = file.bytes();
    return GgufFile::parse(as_file(bytes), "m.gguf").error().message;
  };
  EXPECT_NAMES(refusal(), "m.gguf: n_tensors is 0");
  const std::string vocabulary = file.bytes();
  EXPECT_TRUE(GgufFile::parse(as_file(vocabulary), "m.gguf", {.least_tensors = 0}));
  file.tensors = {{.name = "w"}, {.name = "w", .offset = 32}};
  file.data = std::string(64, '\1');
  EXPECT_NAMES(refusal(), "m.gguf: tensor w: stands twice");
}

TEST(Gguf, WarnsOfAnUnknownFileType) {
  for (const std::uint32_t number : {0U, 15U, 1024U, 999U}) {
    const std::string bytes = RawGguf{}.with("general.file_type", 4, raw_u32(number)).bytes();
    const auto file = *GgufFile::parse(as_file(bytes), "m.gguf");
    EXPECT_EQ(file->warnings().size(), number == 999 ? 1U : 0U) << number;
  }
}

// ---- split models

// One part with one tensor, as the splitters write it: only the first has the model's metadata.
std::string split_part(std::uint16_t number, std::uint16_t count, std::int32_t tensors, const std::string& tensor) {
  RawGguf file;
  if (number > 0) file.metadata.clear();
  file.with("split.no", 2, raw(number)).with("split.count", 2, raw(count)).with("split.tensors.count", 5, raw(tensors));
  file.tensors = {{.name = tensor}};
  file.data = std::string(32, static_cast<char>('1' + number));
  return file.bytes();
}

class SplitModel : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }
  Result<std::shared_ptr<const GgufFile>> open(const std::string& name) {
    return GgufFile::open((folder_.path() / name).string());
  }
  std::string refusal(const std::string& name) {
    const auto file = open(name);
    return file ? "accepted" : file.error().message;
  }
  void SetUp() override {
    write("m-00001-of-00003.gguf", split_part(0, 3, 3, "a"));
    write("m-00002-of-00003.gguf", split_part(1, 3, 3, "b"));
    write("m-00003-of-00003.gguf", split_part(2, 3, 3, "c"));
  }
  TemporaryFolder folder_;
};

TEST_F(SplitModel, IsJoined) {
  const auto opened = open("m-00001-of-00003.gguf");
  ASSERT_TRUE(opened) << opened.error().message;
  const GgufFile& file = **opened;
  EXPECT_EQ(file.parts().size(), 3U);
  EXPECT_EQ(file.string_value("general.architecture").value(), "llama");
  ASSERT_EQ(file.tensors().size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const TensorEntry* tensor = file.find_tensor(std::string(1, static_cast<char>('a' + i)));
    ASSERT_EQ(tensor, &file.tensors()[i]);
    EXPECT_EQ(tensor->part, i);
    EXPECT_EQ(tensor->bytes[0], static_cast<std::byte>('1' + i));
  }
  EXPECT_TRUE(file.unchanged());
}

TEST_F(SplitModel, NoticesAPartThatChanges) {
  const auto file = *open("m-00001-of-00003.gguf");
  write("m-00002-of-00003.gguf", "shorter");
  const auto changed = file->unchanged();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, ErrorKind::model_changed);
  EXPECT_NAMES(changed.error().message, "m-00002-of-00003.gguf");
}

TEST_F(SplitModel, IsNamedByItsFirstPart) {
  EXPECT_NAMES(refusal("m-00002-of-00003.gguf"), "split.no is 1: a later part of a split model; name the first one, ");
  write("other.gguf", split_part(0, 3, 3, "a"));
  EXPECT_NAMES(refusal("other.gguf"), "so the name must end in -00001-of-00003.gguf");
}

TEST_F(SplitModel, EveryPartMustBeThereAndBelong) {
  write("m-00002-of-00003.gguf", split_part(2, 3, 3, "b"));
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "m-00002-of-00003.gguf: split.no is 2, expected 1");
  write("m-00002-of-00003.gguf", split_part(1, 4, 3, "b"));
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "m-00002-of-00003.gguf: split.count is 4, expected 3");
  write("m-00002-of-00003.gguf", split_part(1, 3, 3, "a"));
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "tensor a: stands twice");
  write("m-00002-of-00003.gguf", RawGguf{}.bytes());
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "m-00002-of-00003.gguf: split.count is missing");
  write("m-00002-of-00003.gguf", "GGUF");
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "part 2: ");
  std::filesystem::remove(folder_.path() / "m-00002-of-00003.gguf");
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "m-00002-of-00003.gguf: no such file");
}

TEST_F(SplitModel, TheTensorsAreCounted) {
  write("m-00001-of-00003.gguf", split_part(0, 3, 4, "a"));
  EXPECT_NAMES(refusal("m-00001-of-00003.gguf"), "split.tensors.count is 4, but the 3 parts hold 3 tensors");
}

TEST_F(SplitModel, HasNoPartsInMemory) {
  const std::string bytes = split_part(0, 3, 3, "a");
  EXPECT_NAMES(GgufFile::parse(as_file(bytes), "m.gguf").error().message, "m.gguf: split.count is 3");
}

}  // namespace
}  // namespace plm
