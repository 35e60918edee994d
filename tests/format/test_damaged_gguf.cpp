// src/format/gguf.cpp, gguf_header.cpp and gguf_layout.cpp against damage: truncation, changed bytes, and the corpus of
// broken files. Run under the sanitizers too.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "bad_inputs.h"
#include "format/gguf.h"
#include "raw_gguf.h"

namespace plm {
namespace {

const std::string kTinyModel = PLM_GOLDEN "/oracle/llama-f32.gguf";

TEST(GgufDamage, TruncationIsAlwaysACleanRefusal) {
  const std::string whole = read_text(kTinyModel);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    const auto file = GgufFile::parse(as_file(whole).first(size), "m.gguf");
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(file.error().message.starts_with("m.gguf: ")) << file.error().message;
  }
}

// Touches everything that an accepted file offers, so that the sanitizers see it.
std::size_t read_all(const GgufFile& file) {
  std::size_t total = 0;
  for (const MetaEntry& entry : file.metadata()) {
    total += entry.value.described().size();
    if (const auto strings = entry.value.as_strings()) {
      for (const std::string_view text : *strings) total += text.size();
    }
    if (const auto integers = entry.value.as_integers()) total += integers->size();
    if (const auto reals = entry.value.as_reals()) total += reals->size();
    EXPECT_EQ(file.find(entry.key), &entry.value);
  }
  for (const TensorEntry& tensor : file.tensors()) {
    total += static_cast<std::size_t>(tensor.bytes.front()) + static_cast<std::size_t>(tensor.bytes.back());
    EXPECT_EQ(file.find_tensor(tensor.name), &tensor);
  }
  return total;
}

TEST(GgufDamage, ChangedBytesNeverCrash) {
  const std::string whole = read_text(kTinyModel);
  const std::size_t header_size = (*GgufFile::open(kTinyModel))->parts()[0].header.size();
  std::mt19937_64 random(7);
  std::size_t accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    // Most of the header is token texts, so half of the changes go to its ends, where counts and shapes are.
    std::string damaged = whole;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t place = random() % (round % 2 == 0 ? header_size : 1500);
      const std::size_t at = random() % 2 == 0 ? place : header_size - 1 - place % header_size;
      damaged[at] = static_cast<char>(random() % 4 == 0 ? 0xff : damaged[at] ^ (1 << random() % 8));
    }
    const auto file = GgufFile::parse(as_file(damaged), "m.gguf");
    if (file) {
      ++accepted;
      read_all(**file);
    } else {
      EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
    }
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_LT(accepted, 2900U);
}

// Defects that only someone who knows architectures can see; the model room refuses them.
const std::vector<std::string> kBeyondTheContainer{"missing_q",       "missing_embd",    "shape_transposed",
                                                   "shape_embd_rows", "type_i32_weight", "type_i32_last"};
// Usable, but not without a word. (The odd tensors of the last two hold nothing but zeros.)
const std::vector<std::string> kOpensWithWarning{"str_not_utf8", "off_gap",        "off_out_of_order", "data_short_pad",
                                                 "sparse_hole",  "trailing_1mib",  "padding_nonzero",  "file_type_999",
                                                 "extra_tensor", "type_f64_weight"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_defect_of_container(const BadInput& input) {
  return (input.group == "header" || input.group == "kv" || input.group == "tensor") &&
         !contains(kBeyondTheContainer, input.name);
}

void expect_right_end(const BadInput& input) {
  const auto start = std::chrono::steady_clock::now();
  const auto file = GgufFile::open(input.path);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  if (!file) {
    EXPECT_TRUE(input.want == "reject" || input.want == "reject-or-warn") << file.error().message;
    EXPECT_FALSE(contains(kOpensWithWarning, input.name)) << file.error().message;
    EXPECT_EQ(file.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(file.error().message.starts_with(input.path)) << file.error().message;
    return;
  }
  read_all(**file);
  EXPECT_FALSE(input.want == "reject" && is_defect_of_container(input)) << "was opened";
  EXPECT_EQ((*file)->warnings().empty(), !contains(kOpensWithWarning, input.name));
}

TEST(GgufBadInputs, EndAsTheyShould) {
  const auto inputs = bad_inputs();
  if (!inputs) GTEST_SKIP() << inputs.error().message;
  std::size_t tried = 0;
  for (const BadInput& input : *inputs) {
    if (input.kind != "gguf") continue;
    SCOPED_TRACE(input.group + "/" + input.name + ": " + input.defect);
    expect_right_end(input);
    ++tried;
  }
  EXPECT_EQ(tried, 195U);
}

}  // namespace
}  // namespace plm
