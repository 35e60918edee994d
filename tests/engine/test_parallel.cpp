// Whole answers of the parallel decoders on the twins, pass by pass, against an independent float64 reference
// (tests/golden/decoding): what each pass commits, opens again and replaces. Covers src/decode/page.cpp and
// src/decode/decoders/.
#include <gtest/gtest.h>

#include <fstream>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/json.h"
#include "engine_runs.h"

namespace plm {
namespace {

constexpr const char* kMasked = PLM_MODELS "/twin-mdm.gguf";
constexpr const char* kThreeModes = PLM_MODELS "/twin-tri.gguf";
// Closer decisions than this may fall the other way in float32; from there on only the text is compared.
constexpr double kFloatNoise = 4e-6;

/// What happened in one pass; positions from the start of the page, ascending.
struct Pass {
  std::map<std::size_t, TokenId> committed, replaced;
  std::set<std::size_t> revoked;
  bool operator==(const Pass&) const = default;
};

struct Told {
  std::vector<Pass> passes;    ///< those that proposed something
  std::size_t pass_count = 0;  ///< all of them
  std::string text;
  FinishReason reason = FinishReason::none;

  [[nodiscard]] Listener listener(std::size_t prompt) {
    return [this, prompt](const Event& event) {
      const std::size_t at = event.position - prompt;
      if (event.kind == EventKind::pass_ran) ++pass_count;
      if (event.kind == EventKind::proposed && std::exchange(last_pass_, pass_count) != pass_count)
        passes.emplace_back();
      if (event.kind == EventKind::committed && !passes.empty()) passes.back().committed[at] = event.token;
      if (event.kind == EventKind::replaced) passes.back().replaced[at] = event.token;
      if (event.kind == EventKind::revoked) passes.back().revoked.insert(at);
      if (event.kind == EventKind::stable_prefix) text += event.text;
      if (event.kind == EventKind::finished) reason = event.reason;
    };
  }
  bool operator==(const Told&) const = default;

 private:
  std::size_t last_pass_ = 0;
};

Json golden_runs(const std::string& name) {
  std::ifstream file(std::string(PLM_GOLDEN) + "/decoding/" + name);
  Json json;
  file >> json;
  return json.at("runs");
}

/// Every third, for a quick suite; all of them were compared as well.
Json some_of(const Json& runs) {
  Json some = Json::array();
  for (std::size_t i = 0; i < runs.size(); i += 3) some.push_back(runs[i]);
  return some;
}

struct Named {
  const char* theirs;
  const char* ours;
};

/// Our settings for a configuration of the reference.
Settings settings_for(const Json& config) {
  Settings settings(parallel_parameters());
  const auto set = [&](const char* name, const Json& value) {
    const auto done = settings.set_json(name, value);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  };
  constexpr Named kRules[] = {{"count", "count"},
                              {"threshold", "threshold"},
                              {"factor", "factor"},
                              {"eb", "entropy_bound"},
                              {"klass", "kl_stable"}};
  for (const Named& rule : kRules) {
    if (config.value("rule", "") == rule.theirs) set("schedule", rule.ours);
  }
  constexpr Named kValues[] = {{"k", "tokens_per_pass"},   {"tau", "threshold"},      {"factor", "factor"},
                               {"gamma", "entropy_bound"}, {"kl_eps", "kl_bound"},    {"history", "kl_history"},
                               {"block", "block_length"},  {"score", "confidence"},   {"tau1", "wino_accept"},
                               {"tau2", "wino_keep"},      {"tau_mask", "edit_fill"}, {"tau_edit", "edit_replace"},
                               {"max_post", "edit_passes"}};
  for (const Named& value : kValues) {
    if (config.contains(value.theirs)) set(value.ours, config.at(value.theirs));
  }
  return settings;
}

const char* decoder_for(const std::string& name) {
  if (name.starts_with("wino")) return "wino";
  if (name.starts_with("edit")) return "edit";
  if (name.starts_with("self")) return "self_speculation";
  return name == "greedy" ? "autoregressive" : "diffusion";
}

Pass expected_pass(const Json& step) {
  Pass pass;
  for (std::size_t i = 0; i < step.at("commit").size(); ++i)
    pass.committed[step.at("commit")[i]] = step.at("tokens")[i];
  if (step.contains("revoke")) pass.revoked = step.at("revoke").get<std::set<std::size_t>>();
  for (std::size_t i = 0; step.contains("replace") && i < step.at("replace").size(); ++i) {
    pass.replaced[step.at("replace")[i]] = step.at("replace_tokens")[i];
  }
  return pass;
}

// Ours may end sooner: it does not fill the rest of a block behind an end token.
void compare(const Told& told, const Json& run) {
  SCOPED_TRACE(run.at("decoder").get<std::string>() + " " + run.at("prompt").get<std::string>());
  EXPECT_EQ(told.text, run.at("text").get<std::string>());
  const Json& steps = run.at("steps");
  ASSERT_LE(told.passes.size(), steps.size());
  for (std::size_t i = 0; i < told.passes.size(); ++i) {
    const Json& gap = steps[i].contains("gap") ? steps[i].at("gap") : Json();
    if (!gap.is_null() && gap.get<double>() < kFloatNoise) return;
    EXPECT_EQ(told.passes[i], expected_pass(steps[i])) << "pass " << i;
  }
}

struct Writing {
  Told told;
  Settings settings;
  std::unique_ptr<Generation> generation;

  Writing(Engine& engine, const Json& run) : settings(settings_for(run.at("config"))) {
    const auto prompt = encoded(engine, run.at("prompt").get<std::string>());
    auto started = engine.start({.prompt = prompt,
                                 .max_tokens = run.at("length").get<std::size_t>(),
                                 .decoder = decoder_for(run.at("decoder")),
                                 .parallel = &settings,
                                 .listener = told.listener(prompt.size())});
    if (!started.has_value()) throw std::runtime_error(started.error().message);
    generation = std::move(*started);
  }
};

/// All runs of the file at once, so that passes of many pages share batches.
std::vector<Told> write_all(Engine& engine, const Json& runs) {
  std::list<Writing> writings;
  for (const Json& run : runs) writings.emplace_back(engine, run);
  EXPECT_TRUE(engine.run().has_value());
  std::vector<Told> all;
  for (Writing& writing : writings) {
    EXPECT_TRUE(writing.generation->done());
    EXPECT_TRUE(writing.generation->take().has_value());
    all.push_back(writing.told);
  }
  return all;
}

TEST(Parallel, MaskedTwinWritesAsTheReferenceDoes) {
  const Json runs = some_of(golden_runs("trajectories_mdm.json"));
  const auto engine =
      load_engine(kMasked, {.most_sequences = runs.size(), .overrides = {"diffusion.kind=edit"}}, {.threads = 2});
  const auto all = write_all(*engine, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) compare(all[i], runs[i]);
}

TEST(Parallel, ThreeModeTwinWritesAsTheReferenceDoes) {
  const Json runs = some_of(golden_runs("trajectories_tri.json"));
  const auto engine = load_engine(kThreeModes, {.most_sequences = runs.size()}, {.threads = 2});
  const auto all = write_all(*engine, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string decoder = runs[i].at("decoder");
    EXPECT_EQ(all[i].text, runs[i].at("text").get<std::string>()) << decoder << " " << runs[i].at("prompt");
    if (decoder.starts_with("self")) {
      EXPECT_LE(all[i].pass_count, runs[i].at("forwards").get<std::size_t>()) << runs[i].at("prompt");
    }
    if (decoder.starts_with("block")) compare(all[i], runs[i]);
  }
}

TEST(Parallel, WhatIsBeforeABlockIsRememberedByTheWay) {
  const auto engine = load_engine(kThreeModes);
  const std::vector<TokenId> prompt = encoded(*engine, "Thot hev:");
  Told told;
  const auto generation =
      engine
          ->start(
              {.prompt = prompt, .max_tokens = 40, .decoder = "diffusion", .listener = told.listener(prompt.size())})
          .value();
  ASSERT_TRUE(engine->run().has_value());
  EXPECT_FALSE(told.text.empty());
  EXPECT_EQ(told.pass_count, told.passes.size()) << "every pass proposes something";
}

// What a page proposes, pass by pass, and what its cache was off by in each.
struct Proposed {
  std::vector<std::map<std::size_t, TokenId>> passes;
  std::vector<Event> drifts;

  Proposed(Engine& engine, std::initializer_list<std::pair<const char*, const char*>> parameters) {
    Settings settings(parallel_parameters());
    for (const auto& [name, value] : parameters) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
    const auto listener = [this](const Event& event) {
      if (event.kind == EventKind::pass_ran) passes.emplace_back();
      if (event.kind == EventKind::proposed) passes.back()[event.position] = event.token;
      if (event.kind == EventKind::drifted) drifts.push_back(event);
    };
    const auto generation = engine
                                .start({.prompt = encoded(engine, "S98624704>"),
                                        .max_tokens = 16,
                                        .ignore_end = true,
                                        .parallel = &settings,
                                        .listener = listener})
                                .value();
    EXPECT_TRUE(engine.run().has_value());
    EXPECT_TRUE(generation->take().has_value());
  }
};

// Up to the second pass a page with a cache is the same page, so what the meter compares with is what the page without
// one proposes in it.
TEST(Parallel, TheMeterOfACacheComparesWithAPassOverEverything) {
  const auto engine = load_engine(kMasked);
  for (const char* passes : {"2", "4", "8"}) {
    const Proposed exact(*engine, {{"schedule", "count"}, {"passes", passes}});
    for (const char* kind : {"prefix", "dual", "delayed"}) {
      SCOPED_TRACE(std::string(kind) + " " + passes);
      const Proposed cached(
          *engine, {{"schedule", "count"}, {"passes", passes}, {"page_cache", kind}, {"page_cache_meter", "1"}});
      ASSERT_FALSE(cached.drifts.empty());
      EXPECT_EQ(cached.passes[0], exact.passes[0]);
      std::size_t flips = 0;
      for (const auto& [position, token] : exact.passes[1]) flips += cached.passes[1].at(position) != token ? 1 : 0;
      const Event& drift = cached.drifts.front();
      EXPECT_EQ(drift.rows, exact.passes[1].size());
      EXPECT_NEAR(drift.probability, static_cast<double>(flips) / static_cast<double>(drift.rows), 1e-12);
      EXPECT_GT(drift.score, 1e-4) << "what was decided changes what is around it";
      EXPECT_EQ(cached.drifts.size(), cached.passes.size() - 1);
    }
  }
}

}  // namespace
}  // namespace plm
