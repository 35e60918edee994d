#include "cli/model_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plm {
namespace {

class ModelStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "plm-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("PLM_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PLM_CACHE");
    std::filesystem::remove_all(folder_);
  }
  std::string add(const std::string& name, const std::string& content = "1234") {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

TEST_F(ModelStoreTest, TheFolderComesFromTheEnvironment) {
  EXPECT_EQ(cache_folder().value(), folder_.string());
  setenv("PLM_CACHE", "", 1);
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(cache_folder().value(), "/home/someone/.cache/plm");
  unsetenv("HOME");
  const auto none = cache_folder();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::usage);
  EXPECT_NE(none.error().message.find("PLM_CACHE"), std::string::npos);
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
}

TEST_F(ModelStoreTest, ListsWholeModelsByName) {
  EXPECT_TRUE(fetched_models().value().empty());
  add("zebra.gguf");
  add("ant.gguf", "123456");
  add("notes.txt");
  std::filesystem::create_directory(folder_ / "folder.gguf");
  std::filesystem::create_directory(folder_ / ".fetching-x");
  const auto models = fetched_models().value();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "ant");
  EXPECT_EQ(models[0].bytes, 6U);
  EXPECT_EQ(models[1].path, (folder_ / "zebra.gguf").string());
  setenv("PLM_CACHE", (folder_ / "nowhere").c_str(), 1);
  EXPECT_TRUE(fetched_models().value().empty());
}

TEST_F(ModelStoreTest, AModelIsAPathFirstAndANameSecond) {
  const std::string fetched = add("ant.gguf");
  EXPECT_EQ(resolve_model("ant").value(), fetched);
  EXPECT_EQ(resolve_model(fetched).value(), fetched);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  add("ant");
  EXPECT_EQ(resolve_model("ant").value(), "ant");
  std::filesystem::current_path(here);
  // What looks like a path is left to be opened, whose errors say what is wrong with it.
  for (const char* path : {"./ant", "nowhere/ant.gguf", "/", ".."}) EXPECT_EQ(resolve_model(path).value(), path);
}

TEST_F(ModelStoreTest, AModelThatIsNotHereIsARefusalWithARemedy) {
  const auto refusal = [](std::string_view model) {
    const auto result = resolve_model(model);
    EXPECT_FALSE(result.has_value());
    return result.has_value() ? Error{} : result.error();
  };
  EXPECT_EQ(refusal("").kind, ErrorKind::usage);
  EXPECT_EQ(refusal("nosuch").kind, ErrorKind::bad_input);
  EXPECT_NE(refusal("nosuch").message.find("plm models"), std::string::npos);
  EXPECT_EQ(refusal("\x1b[2J").message.find('\x1b'), std::string::npos);
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_NE(refusal(entry.name).message.find("plm fetch " + entry.name), std::string::npos);
  }
}

TEST(Catalog, EntriesAreComplete) {
  EXPECT_FALSE(catalog().empty());
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_FALSE(entry.name.empty() || entry.summary.empty() || entry.licence.empty());
    EXPECT_GT(entry.bytes, 0U);
  }
}

}  // namespace
}  // namespace plm
