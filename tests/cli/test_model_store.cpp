#include "cli/model_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

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
    std::filesystem::create_directories((folder_ / name).parent_path());
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

TEST_F(ModelStoreTest, FoldersAndSplitFilesAreModels) {
  add("big-00001-of-00002.gguf", "12");
  add("big-00002-of-00002.gguf", "345");
  add("big-00001-of-00003.txt");
  add("other-00002-of-00002.gguf");
  add("sentence/config.json", "{}");
  add("sentence/model.safetensors", "weights");
  add("sentence/1_Pooling/config.json", "{}");
  add("words/config.json", "{}");  // no weights, no model
  const auto models = fetched_models().value();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "big");
  EXPECT_EQ(models[0].path, (folder_ / "big-00001-of-00002.gguf").string());
  EXPECT_EQ(models[0].bytes, 5U);
  EXPECT_EQ(models[1].name, "sentence");
  EXPECT_EQ(models[1].bytes, 11U);
  EXPECT_EQ(resolve_model("big").value(), models[0].path);
  EXPECT_EQ(resolve_model("sentence").value(), (folder_ / "sentence").string());
}

TEST_F(ModelStoreTest, SourcesAreToldApart) {
  add("mine.gguf");
  add("far.gguf");
  add(".far.gguf.json", R"({"source": "somewhere"})");
  add("weights.safetensors");
  add(".weights.safetensors.json", R"({"source": "elsewhere"})");
  add("odd.gguf");
  add(".odd.gguf.json", "{]");
  add(catalog()[0].name + ".gguf");
  std::map<std::string, std::string> sources;
  const auto models = fetched_models().value();
  for (const FetchedModel& model : models) sources[model.name] = model.source;
  const std::map<std::string, std::string> expected = {{"mine", "local"},
                                                       {"far", "somewhere"},
                                                       {"weights.safetensors", "elsewhere"},
                                                       {"odd", "local"},
                                                       {catalog()[0].name, "catalogue"}};
  EXPECT_EQ(sources, expected);
}

TEST_F(ModelStoreTest, ARepositoryIsNamedByItsOwner) {
  const std::string one = add("hub/maker/one/Q4_K_M/m-Q4_K_M-00001-of-00002.gguf");
  add("hub/maker/one/Q4_K_M/m-Q4_K_M-00002-of-00002.gguf");
  add("hub/maker/one/mmproj-F16.gguf");
  const std::string q4 = add("hub/maker/two/m-Q4_0.gguf"), q8 = add("hub/maker/two/m-UD-Q8_0.gguf");
  add("hub/maker/folder/config.json");
  add("hub/maker/folder/model.safetensors");
  const std::pair<std::string, std::string> cases[] = {{"maker/one", one},
                                                       {"maker/one:q4_k_m", one},
                                                       {"maker/one:Q4_K_M/m-Q4_K_M-00001-of-00002.gguf", one},
                                                       {"maker/two:Q4_0", q4},
                                                       {"maker/two:m-Q4_0.gguf", q4},
                                                       {"maker/two:Q8_0", q8},
                                                       {"maker/two:ud-q8_0", q8},
                                                       {"maker/folder", (folder_ / "hub/maker/folder").string()}};
  for (const auto& [name, path] : cases) {
    const auto found = resolve_model(name);
    ASSERT_TRUE(found.has_value()) << name << ": " << found.error().message;
    EXPECT_EQ(*found, path) << name;
  }
  std::vector<std::string> names;
  const auto models = fetched_models().value();
  for (const FetchedModel& model : models) names.push_back(model.name);
  EXPECT_EQ(names, (std::vector<std::string>{"maker/folder", "maker/one", "maker/one:mmproj-F16.gguf",
                                             "maker/two:m-Q4_0.gguf", "maker/two:m-UD-Q8_0.gguf"}));
  const std::pair<std::string_view, std::string_view> refusals[] = {
      {"maker/two", "maker/two:m-Q4_0.gguf"},  // which of the two?
      {"maker/two:Q5_0", "plm fetch maker/two:Q5_0"},
      {"maker/two:8_0", "plm fetch maker/two:8_0"},
      {"maker/tw", "plm fetch maker/tw"},
      {"nobody/there:Q4_0", "plm fetch nobody/there:Q4_0"}};
  for (const auto& [name, words] : refusals) {
    const auto found = find_fetched(name);
    ASSERT_FALSE(found.has_value()) << name;
    EXPECT_EQ(found.error().kind, ErrorKind::bad_input);
    EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
  }
}

TEST_F(ModelStoreTest, RemovingTakesAllThatBelongsToAModelAndNoMore) {
  add("far.gguf");
  add(".far.gguf.json", R"({"source": "somewhere"})");
  add("big-00001-of-00002.gguf");
  add("big-00002-of-00002.gguf");
  add("hub/maker/two/a/m-Q4_0.gguf");
  const std::string kept = add("hub/maker/two/m-Q8_0.gguf");
  add("real/config.json");
  add("real/model.safetensors");
  std::filesystem::create_directory_symlink(folder_ / "real", folder_ / "link");
  for (const char* name : {"far", "big", "maker/two:Q4_0", "link"}) {
    const auto model = find_fetched(name);
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_TRUE(remove_fetched(*model).has_value());
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!entry.is_directory()) left.push_back(entry.path().lexically_relative(folder_).string());
  }
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left,
            (std::vector<std::string>{"hub/maker/two/m-Q8_0.gguf", "real/config.json", "real/model.safetensors"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "hub/maker/two/a"));
  EXPECT_TRUE(remove_fetched(find_fetched("maker/two").value()).has_value());
  EXPECT_TRUE(remove_fetched(find_fetched("real").value()).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ModelStoreTest, WhatHasNotArrivedInFullIsNoModel) {
  EXPECT_EQ(unfinished_downloads().value().bytes, 0U);
  add(".partial/far.gguf.partial", "123");
  add(".partial/hub/maker/two/m.gguf", "45");
  EXPECT_EQ(unfinished_downloads().value().bytes, 5U);
  EXPECT_TRUE(fetched_models().value().empty());
}

TEST_F(ModelStoreTest, AnAddressIsFetchedFirst) {
  const auto found = resolve_model(
      "https:/"
      "/somewhere/m.gguf");
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().message.find("plm fetch"), std::string::npos);
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
