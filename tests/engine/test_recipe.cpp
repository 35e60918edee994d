#include "engine/recipe.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/engine_runs.h"

namespace plm {
namespace {

// A recipe of one text, as it would be read from a file.
Json recipe_of(Engine& engine, GenerationRequest request) {
  request.trace_top = 3;
  RecipeResult result;
  request.listener = [&](const Event& event) {
    if (event.kind == EventKind::committed) result.ids.push_back(event.token);
    if (event.kind == EventKind::stable_prefix) result.text += event.text;
    if (event.kind == EventKind::finished) result.reason = event.reason;
  };
  const auto generation = engine.start(request).value();
  EXPECT_TRUE(engine.run().has_value());
  const RecipeFacts facts{.program_version = "1",
                          .model_path = "m.gguf",
                          .model = {.header = "h", .content = "c"},
                          .engine_flags = Json::object()};
  return parse_json(json_text(make_recipe(engine, request, *generation, facts, result)), "recipe").value();
}

std::unique_ptr<Engine> twin() { return load_engine(std::string(PLM_MODELS) + "/twin-ar.gguf"); }

GenerationRequest request_for(const Engine& engine, const Settings& sampling) {
  return {.prompt = encoded(engine, "S84901>"),
          .max_tokens = 8,
          .sampling = &sampling,
          .stops = {"x"},
          .seed = 18446744073709551615ULL,
          .banned_phrases = {"48"}};
}

TEST(Recipe, WhatIsReadWritesTheSameTextAndRecipe) {
  const auto engine = twin();
  Settings sampling(sampling_parameters());
  for (const auto& [name, value] : {std::pair{"temperature", "1.7"},
                                    {"top_k", "0"},
                                    {"profile", "llamacpp"},
                                    {"samplers", "temperature;top_p"},
                                    {"logit_bias", "[[49,1.5]]"}}) {
    ASSERT_TRUE(sampling.set_text(name, value).has_value());
  }
  const Json recipe = recipe_of(*engine, request_for(*engine, sampling));
  auto read = read_recipe(recipe, "r.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->model_path, "m.gguf");
  EXPECT_EQ(read->request.seed, 18446744073709551615ULL);
  read->request.sampling = &read->sampling;
  const Json again = recipe_of(*engine, read->request);
  for (const auto& [field, before, after] : recipe_differences(recipe, again)) {
    ADD_FAILURE() << field << ": " << before << " " << after;
  }
}

TEST(Recipe, NamesEveryFieldThatDiffers) {
  const Json a = {{"model", {{"path", "x"}, {"context_length", 5}}}, {"sampling", {{"top_k", 1}}}, {"old", true}};
  const Json b = {{"model", {{"path", "y"}, {"context_length", 6}}}, {"sampling", {{"top_k", 1}, {"top_p", 0.5}}}};
  const auto differences = recipe_differences(a, b);
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].field, "model.context_length");
  EXPECT_EQ(differences[0].before + " " + differences[0].after, "5 6");
  EXPECT_EQ(differences[1].field, "old");
  EXPECT_EQ(differences[1].after, "");
  EXPECT_EQ(differences[2].field, "sampling.top_p");
  EXPECT_EQ(differences[2].before, "");
}

// Every part of a recipe taken away, or of another type, is an error that names the file.
TEST(Recipe, RefusesWhatIsNoRecipe) {
  const auto engine = twin();
  const Settings sampling(sampling_parameters());
  const Json recipe = recipe_of(*engine, request_for(*engine, sampling));
  ASSERT_TRUE(read_recipe(recipe, "r").has_value());
  const auto refused = [](const Json& json) {
    const auto read = read_recipe(json, "r.json");
    return !read.has_value() && read.error().kind == ErrorKind::bad_input &&
           read.error().message.starts_with("r.json: ");
  };
  EXPECT_TRUE(refused(Json()));
  EXPECT_TRUE(refused(Json::array({1})));
  for (const char* part : {"recipe", "model", "engine", "text", "sampling", "result"}) {
    Json changed = recipe;
    changed.erase(part);
    EXPECT_TRUE(refused(changed)) << part;
    changed[part] = Json::array({1, 2});
    EXPECT_TRUE(refused(changed)) << part;
  }
  for (const auto& [key, value] : recipe["text"].items()) {
    Json changed = recipe;
    changed["text"][key] = Json::object();
    EXPECT_TRUE(refused(changed)) << key;
    changed["text"].erase(key);
    EXPECT_TRUE(refused(changed)) << key;
  }
  for (const Json& ids : {Json::array({-1}), Json::array({"1"}), Json::array({1e10})}) {
    Json changed = recipe;
    changed["text"]["prompt_ids"] = ids;
    EXPECT_TRUE(refused(changed));
  }
  for (const auto& [key, value] : {std::pair<const char*, Json>{"top_p", 2}, {"bogus", 1}, {"top_k", "many"}}) {
    Json changed = recipe;
    changed["sampling"][key] = value;
    EXPECT_TRUE(refused(changed)) << key;
  }
}

}  // namespace
}  // namespace plm
