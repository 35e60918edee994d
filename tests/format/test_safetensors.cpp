#include "format/safetensors.h"

#include <gtest/gtest.h>

#include "bad_inputs.h"
#include "raw_gguf.h"

namespace plm {
namespace {

// A file with this header and `data_bytes` bytes of data.
std::string with_header(const std::string& header, std::size_t data_bytes) {
  return raw_string(header) + std::string(data_bytes, '\1');
}

std::string refusal(const std::string& bytes) {
  const auto file = SafetensorsFile::parse(as_file(bytes), "m.safetensors");
  return file ? "accepted" : file.error().message;
}

#define EXPECT_NAMES(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string bytes =
      with_header(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[],"data_offsets":[12,20]},)"
                  R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                  R"("z":{"dtype":"F32","shape":[0,4],"data_offsets":[20,20]}}  )",
                  20);
  const auto parsed = SafetensorsFile::parse(as_file(bytes), "m.safetensors");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const SafetensorsFile& file = **parsed;
  EXPECT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const SafetensorsEntry* a = file.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->dtype, SafetensorsDtype::bf16);
  EXPECT_EQ(a->shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(a->bytes.size(), 12U);
  EXPECT_EQ(a->bytes.data() + 12, file.find("b")->bytes.data());
  EXPECT_TRUE(file.find("z")->bytes.empty());
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, OpensTheGoldenFiles) {
  const auto file = SafetensorsFile::open(PLM_GOLDEN "/oracle/llama.golden.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE((*file)->tensors().empty());
  EXPECT_TRUE(SafetensorsFile::open(PLM_GOLDEN "/quant/quant_golden.safetensors"));
}

TEST(Safetensors, HeaderLength) {
  EXPECT_NAMES(refusal("1234567"), "m.safetensors: header length takes 8 bytes");
  EXPECT_NAMES(refusal(raw_u64(100) + "{}"), "m.safetensors: header length: is 100, expected 1 to the 2 bytes");
  EXPECT_NAMES(refusal(raw_u64(~std::uint64_t{0}) + "{}"), "header length: is 18446744073709551615");
  EXPECT_NAMES(refusal(with_header("", 0)), "header length: is 0");
  EXPECT_NAMES(refusal(with_header(" {}", 0)), "header: begins with \" {}\"");
  EXPECT_EQ(refusal(with_header("{}", 0)), "accepted");
}

TEST(Safetensors, HeaderIsStrictJson) {
  EXPECT_NAMES(refusal(with_header("{nope}", 0)), "m.safetensors: header: not valid JSON");
  EXPECT_NAMES(refusal(with_header(R"({"a":1,"a":1})", 0)), "given twice");
  EXPECT_NAMES(refusal(with_header("{\"a\":" + std::string(50000, '[') + std::string(50000, ']') + "}", 0)),
               "nested deeper");
  EXPECT_NAMES(refusal(with_header(R"({"__metadata__":{"a":1}})", 0)), "__metadata__: a is number, expected a string");
  EXPECT_NAMES(refusal(with_header(R"({"__metadata__":[]})", 0)), "__metadata__: is array");
}

TEST(Safetensors, TensorDescriptions) {
  const auto one = [](const std::string& description, std::size_t data_bytes) {
    return refusal(with_header("{\"a\":" + description + "}", data_bytes));
  };
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})", 16), "accepted");
  EXPECT_NAMES(one("7", 0), "tensor a: is number, expected an object");
  EXPECT_NAMES(one(R"({"dtype":"Q7","shape":[4],"data_offsets":[0,16]})", 16), "tensor a: dtype is \"Q7\"");
  EXPECT_NAMES(one(R"({"shape":[4],"data_offsets":[0,16]})", 16), "tensor a: dtype is null");
  EXPECT_NAMES(one(R"({"dtype":"F32","data_offsets":[0,16]})", 16), "tensor a: shape is null");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[-4],"data_offsets":[0,16]})", 16), "tensor a: shape is [-4]");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[4.5],"data_offsets":[0,16]})", 16), "tensor a: shape is [4.5]");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[4],"data_offsets":[0]})", 16), "tensor a: data_offsets are [0]");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[4],"data_offsets":[16,0]})", 16), "tensor a: data_offsets are [16, 0]");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[4],"data_offsets":[0,17]})", 16), "tensor a: data_offsets are [0, 17]");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[5],"data_offsets":[0,16]})", 16), "tensor a: shape [5] of F32");
  EXPECT_NAMES(one(R"({"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]})", 16),
               "tensor a: shape [46");
}

TEST(Safetensors, TensorsCoverTheData) {
  const auto two = [](const std::string& offsets, std::size_t data_bytes) {
    return refusal(with_header(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
            offsets + "}}",
        data_bytes));
  };
  EXPECT_EQ(two("[4,8]", 8), "accepted");
  EXPECT_NAMES(two("[3,7]", 8), "tensor b: data_offsets begin at 3, expected 4");
  EXPECT_NAMES(two("[5,9]", 9), "tensor b: data_offsets begin at 5, expected 4");
  EXPECT_NAMES(two("[4,8]", 12), "file size: 4 bytes after the last tensor");
}

TEST(Safetensors, BadInputsEndAsTheyShould) {
  const auto inputs = bad_inputs();
  if (!inputs) GTEST_SKIP() << inputs.error().message;
  std::size_t tried = 0;
  for (const BadInput& input : *inputs) {
    if (input.kind != "safetensors") continue;
    ++tried;
    const auto file = SafetensorsFile::open(input.path);
    EXPECT_EQ(file.has_value(), input.want == "accept") << input.name << ": " << input.defect;
    EXPECT_TRUE(file || file.error().message.starts_with(input.path)) << file.error().message;
  }
  EXPECT_EQ(tried, 25U);
}

}  // namespace
}  // namespace plm
