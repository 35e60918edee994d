#include "model/gguf_export.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "checkpoint_folder.h"
#include "format/safetensors.h"
#include "model/checkpoint.h"
#include "tiny_llama.h"

namespace plm {
namespace {

namespace fs = std::filesystem;

class GgufExport : public testing::Test {
 protected:
  GgufExport() {
    std::string pattern = (fs::temp_directory_path() / "plm-export-XXXXXX").string();
    PLM_CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~GgufExport() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "out.gguf") const { return (folder_ / name).string(); }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  Result<ExportSummary> write(const GgufFile& file, const ExportOptions& options, int threads = 2) const {
    GgufWriter keys;
    for (const MetaEntry& entry : file.metadata()) keys.add(entry.key, entry.value);
    ThreadTeam team(threads);
    return export_gguf(file, std::move(keys), path(), options, team);
  }

  static ExportOptions to(std::string_view type, bool pure = false) {
    return {.type = find_storage_type(type), .pure = pure};
  }

 private:
  fs::path folder_;
};

// The rows of the golden file as a model of one matrix, through the whole path of the command.
TEST_F(GgufExport, PacksTheGoldenRowsByteForByte) {
  const auto golden = SafetensorsFile::open(PLM_GOLDEN "/quant/quant_golden.safetensors").value();
  for (const std::string name : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"}) {
    const SafetensorsEntry* source = golden->find(name + ".src");
    ASSERT_NE(source, nullptr);
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.add_tensor("blk.0.attn_q.weight", *find_ggml_type("F32"),
                      std::vector<std::uint64_t>{source->shape[1], source->shape[0]}, source->bytes);
    const auto bytes = writer.bytes();
    const auto file = GgufFile::parse(bytes, "rows").value();
    const auto summary = write(*file, to(name));
    ASSERT_TRUE(summary) << summary.error().message;
    const auto packed = GgufFile::open(path()).value();
    EXPECT_TRUE(std::ranges::equal(packed->tensors()[0].bytes, golden->find(name + ".q")->bytes)) << name;
    EXPECT_EQ(packed->tensors()[0].type->name, name);
  }
}

TEST_F(GgufExport, KeepsEveryByteWhereNoTypeIsAskedFor) {
  const auto file = GgufFile::open(PLM_GOLDEN "/oracle/q256/llama_q256-Q4_K_M.gguf").value();
  ASSERT_TRUE(write(*file, {}));
  const auto copy = GgufFile::open(path()).value();
  EXPECT_TRUE(std::ranges::equal(copy->parts()[0].bytes, file->parts()[0].bytes));
}

TEST_F(GgufExport, NeitherThreadsNorSlicesShow) {
  TinyLlama model;
  model.tensors["token_embd.weight"] = {{256, 9000}};  // more than a slice
  const OpenTiny open(model);
  std::vector<std::vector<std::byte>> files_written;
  for (const int threads : {1, 3}) {
    ASSERT_TRUE(write(*open.gguf, to("q4_k"), threads));
    const auto file = GgufFile::open(path()).value();
    files_written.emplace_back(file->parts()[0].bytes.begin(), file->parts()[0].bytes.end());
  }
  EXPECT_EQ(files_written[0], files_written[1]);
}

TEST_F(GgufExport, AFolderBecomesAFileOfTheSameNumbers) {
  const auto folder = open_checkpoint(PLM_GOLDEN "/huggingface/llama_rope_llama3").value();
  ASSERT_TRUE(write(*folder, {}));
  const auto file = GgufFile::open(path()).value();
  EXPECT_TRUE(file->warnings().empty());
  ASSERT_EQ(file->tensors().size(), folder->tensors().size());
  for (const TensorEntry& tensor : file->tensors()) {
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, folder->read(*folder->find_tensor(tensor.name))->bytes))
        << tensor.name;
  }
}

TEST_F(GgufExport, SaysWhatItWrote) {
  const auto file = GgufFile::open(PLM_GOLDEN "/oracle/llama_rope_yarn-bf16.gguf").value();
  double progress = 0;
  ExportOptions options = to("q4_k");
  options.on_progress = [&](double fraction) {
    EXPECT_GT(fraction, progress);
    progress = fraction;
  };
  const auto summary = write(*file, options);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(progress, 1.0);
  EXPECT_EQ(summary->fallbacks, 16U) << "rows of 64 and 96 fill no block of 256";
  const auto written = GgufFile::open(path()).value();
  EXPECT_EQ(written->unsigned_value("general.file_type").value(), 15U);
  std::map<std::string, std::uint64_t> types;
  std::uint64_t bytes = 0;
  for (const TensorEntry& tensor : written->tensors()) {
    ++types[std::string(tensor.type->name)];
    bytes += tensor.byte_count();
  }
  EXPECT_EQ(summary->tensors_by_type, types);
  EXPECT_EQ(summary->bytes_written, bytes);
}

TEST_F(GgufExport, NeverWritesOverWhatItReads) {
  const OpenTiny open{TinyLlama()};
  ASSERT_TRUE(write(*open.gguf, {}));
  const auto file = GgufFile::open(path()).value();
  fs::create_hard_link(path(), path("link.gguf"));
  fs::create_symlink(path(), path("symlink.gguf"));
  ThreadTeam team(1);
  for (const char* name : {"out.gguf", "link.gguf", "symlink.gguf", "."}) {
    const auto refused = export_gguf(*file, GgufWriter(), path(name), {}, team);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  }
  EXPECT_TRUE(file->unchanged());
}

TEST_F(GgufExport, LeavesNothingWhenItFails) {
  TinyLlama model;
  model.tensors["blk.1.ffn_down.weight"].fill = std::nanf("");
  const OpenTiny bad(model);
  const auto refused = write(*bad.gguf, to("q8_0"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  EXPECT_NE(refused.error().message.find("tensor blk.1.ffn_down.weight: NaN"), std::string::npos);

  const OpenTiny good{TinyLlama()};
  ExportOptions options = to("f16");
  options.interrupted = [] { return true; };
  const auto stopped = write(*good.gguf, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);

  model = TinyLlama();
  model.tensors["blk.0.attn_q.weight"] = {.dims = {256, 1}, .type = "IQ2_XS"};
  const OpenTiny unknown(model);
  const auto unreadable = write(*unknown.gguf, to("f16"));
  ASSERT_FALSE(unreadable);
  EXPECT_NE(unreadable.error().message.find("storage type IQ2_XS cannot be unpacked"), std::string::npos);
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace plm
