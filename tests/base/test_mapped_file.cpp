#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace plm {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "plm-mapped-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string written(const std::string& name, const std::string& content) {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  static void expect_refused(const std::string& file, const std::string& reason) {
    const auto mapped = MappedFile::open(file);
    ASSERT_FALSE(mapped) << file;
    EXPECT_EQ(mapped.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(mapped.error().message.starts_with(file + ": " + reason)) << mapped.error().message;
  }

  std::filesystem::path folder_;
};

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileTest, GivesTheBytes) {
  const std::string content("palimpsest\0!", 12);
  const auto file = MappedFile::open(written("a", content));
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), content);
  EXPECT_EQ((*file)->path(), path("a"));
  EXPECT_TRUE((*file)->unchanged());
  (*file)->expect_sequential_read();
}

TEST_F(MappedFileTest, SaysWhatItIsInsteadOfAFile) {
  expect_refused(path("nowhere"), "no such file");
  expect_refused(folder_.string(), "is a directory");
  expect_refused(written("empty", ""), "is empty");
  expect_refused("/dev/null", "is a device or socket");
  expect_refused(written("a", "x") + "/b", "cannot be opened");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_refused(path("pipe"), "is a pipe");  // and does not wait for a writer
}

TEST_F(MappedFileTest, UnreadableSaysSo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = written("secret", "x");
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  expect_refused(file, "cannot be opened");
}

TEST_F(MappedFileTest, NoticesWhatHappenedToTheFile) {
  const auto expect_changed = [](const MappedFile& file, const std::string& reason) {
    const auto unchanged = file.unchanged();
    ASSERT_FALSE(unchanged);
    EXPECT_EQ(unchanged.error().kind, ErrorKind::model_changed);
    EXPECT_TRUE(unchanged.error().message.starts_with(file.path() + ": " + reason)) << unchanged.error().message;
  };
  const auto truncated = MappedFile::open(written("truncated", "0123456789")).value();
  std::filesystem::resize_file(truncated->path(), 5);
  expect_changed(*truncated, "the file changed while in use: 5 bytes now, 10 when opened");

  const auto rewritten = MappedFile::open(written("rewritten", "0123456789")).value();
  written("rewritten", "abcdefghij");
  std::filesystem::last_write_time(rewritten->path(),
                                   std::filesystem::last_write_time(rewritten->path()) + std::chrono::seconds(1));
  expect_changed(*rewritten, "the file was written to");

  const auto replaced = MappedFile::open(written("replaced", "0123456789")).value();
  std::filesystem::rename(written("new", "0123456789"), replaced->path());
  expect_changed(*replaced, "the file was replaced");

  // What was only removed is still whole for those who hold it.
  const auto removed = MappedFile::open(written("removed", "0123456789")).value();
  std::filesystem::remove(removed->path());
  EXPECT_TRUE(removed->unchanged());
}

TEST_F(MappedFileDeathTest, TouchingATruncatedMapExitsWithSevenAndNamesTheFile) {
  const std::string name = written("model.gguf", std::string(100'000, 'x'));
  const auto touch = [&] {
    install_map_guard();
    const auto file = MappedFile::open(name).value();
    std::filesystem::resize_file(name, 0);
    volatile std::byte value = file->bytes()[50'000];
    static_cast<void>(value);
  };
  EXPECT_EXIT(touch(), testing::ExitedWithCode(7), "error: .*model\\.gguf: the file was truncated while in use");
}

TEST_F(MappedFileDeathTest, MoreFilesThanTheGuardRemembersStillMap) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  const std::string name = written("many", "x");
  for (int i = 0; i < 100; ++i) files.push_back(MappedFile::open(name).value());
  EXPECT_EQ(files.back()->bytes()[0], std::byte{'x'});
}

}  // namespace
}  // namespace plm
