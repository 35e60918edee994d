#include "engine/trajectory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine_runs.h"

namespace plm {
namespace {

constexpr std::string_view kHeader = R"({"plmtraj":1,"recipe":{"text":{"prompt_ids":[65,66]}},"page":{},"holes":[]})"
                                     "\n";

// The file of a page that a twin wrote with a decoder.
struct Recorded {
  std::string file;
  std::vector<Event> events;
  std::vector<TokenId> prompt;
  DecodeOutcome outcome;

  Recorded(const char* model, const char* decoder, const std::string& text) {
    const auto engine = load_engine(model, {}, {.threads = 1});
    prompt = encoded(*engine, text);
    TrajectoryRecorder recorder(engine->vocabulary(), prompt);
    const auto generation = engine
                                ->start({.prompt = prompt,
                                         .max_tokens = 20,
                                         .decoder = decoder,
                                         .listener =
                                             [&](const Event& event) {
                                               recorder.on_event(event);
                                               events.push_back(event);
                                             }})
                                .value();
    EXPECT_TRUE(engine->run().has_value());
    outcome = generation->take().value();
    const Json header = {{"plmtraj", 1}, {"recipe", {{"text", {{"prompt_ids", prompt}}}}}, {"page", Json::object()}};
    file = json_text(header) + "\n" + recorder.finish() + json_text({{"result", {{"ids", outcome.tokens}}}}) + "\n";
  }
};

TEST(Trajectory, HoldsEveryEventAndEveryBit) {
  for (const char* decoder : {"diffusion", "wino", "remask"}) {
    const Recorded recorded(PLM_MODELS "/twin-mdm.gguf", decoder, "K.43.1.42..144.2.:");
    const Trajectory trajectory = read_trajectory(recorded.file, "a.plmtraj").value();
    std::vector<const RecordedProposal*> proposals;
    std::vector<const RecordedChange*> changes;
    std::size_t rows = 0, rows_told = 0;
    for (const RecordedPass& pass : trajectory.passes) {
      for (const RecordedProposal& proposal : pass.proposals) proposals.push_back(&proposal);
      for (const RecordedChange& change : pass.changes) changes.push_back(&change);
      rows += pass.rows;
    }
    std::size_t proposal = 0, change = 0;
    for (const Event& event : recorded.events) {
      if (event.kind == EventKind::pass_ran) rows_told += event.rows;
      if (event.kind == EventKind::proposed) {
        const RecordedProposal& told = *proposals.at(proposal++);
        EXPECT_EQ(told.position, event.position);
        EXPECT_EQ(told.id, event.token);
        EXPECT_EQ(told.score, event.score);
        EXPECT_EQ(told.probability, event.probability);
        EXPECT_EQ(told.entropy, event.entropy);
      } else if (event.kind == EventKind::committed || event.kind == EventKind::revoked) {
        while (changes.at(change)->kind == EventKind::inserted) ++change;
        const RecordedChange& told = *changes.at(change++);
        EXPECT_EQ(told.kind, event.kind);
        EXPECT_EQ(told.position, event.position);
        EXPECT_EQ(told.id, event.token);
        EXPECT_EQ(told.probability, event.probability);
        EXPECT_EQ(told.rule, event.rule);
        EXPECT_FALSE(told.rule.empty());
      }
    }
    EXPECT_EQ(proposal, proposals.size());
    EXPECT_EQ(change, changes.size());
    EXPECT_EQ(rows, rows_told);
    EXPECT_EQ(trajectory.cells, recorded.prompt.size() + 20);
    EXPECT_EQ(trajectory.text_of('4'), "4");
    EXPECT_EQ(trajectory.result["ids"], Json(recorded.outcome.tokens));
  }
}

TEST(Trajectory, AHistoryEndsWithTheTokenThatStands) {
  const Recorded recorded(PLM_MODELS "/twin-mdm.gguf", "wino", "K1..4...:");
  const Trajectory trajectory = read_trajectory(recorded.file, "a.plmtraj").value();
  bool was_taken_back = false;
  for (std::size_t i = 0; i < recorded.outcome.tokens.size(); ++i) {
    const auto moments = history_of(trajectory, recorded.prompt.size() + i);
    ASSERT_GE(moments.size(), 3U) << "opened, proposed, committed";
    EXPECT_EQ(moments.front().change->kind, EventKind::inserted);
    EXPECT_EQ(moments.back().change->id, recorded.outcome.tokens[i]);
    for (std::size_t k = 1; k < moments.size(); ++k) {
      EXPECT_LE(moments[k - 1].pass, moments[k].pass);
      if (moments[k].proposal != nullptr) {
        EXPECT_GE(moments[k].rank, 1U);
      }
      was_taken_back |= moments[k].change != nullptr && moments[k].change->kind == EventKind::revoked;
    }
  }
  EXPECT_TRUE(was_taken_back) << "this prompt is one where wino takes something back";
  EXPECT_TRUE(history_of(trajectory, 0).empty()) << "given";
}

TEST(Trajectory, ACellIsFollowedThroughInsertionsAndDeletions) {
  const std::string file =
      std::string(kHeader) +
      R"({"pass":0,"rows":0,"proposed":{"at":[],"id":[],"score":[],"probability":[],"entropy":[]},)"
      R"("changes":[{"inserted":2,"id":9},{"inserted":3,"id":9}],"texts":[]})"
      "\n"
      R"({"pass":1,"rows":4,"proposed":{"at":[2,3],"id":[70,71],"score":[0.5,null],)"
      R"("probability":[0.5,0.25],"entropy":[1,2]},"changes":[{"inserted":2,"id":9},)"
      R"({"committed":4,"id":71,"probability":0.25,"rule":"late"},{"deleted":3},{"deleted":2}],)"
      R"("texts":[[71,"G"]]})"
      "\n";
  const Trajectory trajectory = read_trajectory(file, "a").value();
  EXPECT_EQ(trajectory.cells, 3U);
  EXPECT_TRUE(trajectory.result.is_null());
  const auto moments = history_of(trajectory, 2);  // once the fourth position, then the fifth
  ASSERT_EQ(moments.size(), 3U);
  EXPECT_EQ(moments[0].change->position, 3U);
  EXPECT_EQ(moments[1].proposal->id, 71);
  EXPECT_EQ(moments[1].rank, 2U) << "-inf ranks behind";
  EXPECT_FALSE(moments[1].proposal->score.has_value());
  EXPECT_EQ(moments[2].change->rule, "late");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Trajectory, TheFirstDifferenceIsNamed) {
  const Recorded recorded(PLM_MODELS "/twin-mdm.gguf", "diffusion", "K.43.1.42..144.2.:");
  const std::string& file = recorded.file;
  EXPECT_FALSE(first_difference(file, file, "a").value().has_value());
  const auto differs = [&](const std::string& from, const std::string& to) {
    return first_difference(file, replaced(file, from, to), "a").value().value().where;
  };
  EXPECT_EQ(differs("\"rule\":\"threshold\"", "\"rule\":\"late\"").find("pass 1, position "), 0U);
  const std::string probability = file.substr(file.find("\"probability\":[0."), 20);
  EXPECT_EQ(differs(probability, "\"probability\":[" + std::string("0.123")),
            fmt::format("pass 1, position {}, proposed probability", recorded.prompt.size()));
  EXPECT_EQ(differs("\"rows\":39", "\"rows\":40"), "pass 1, rows");
  EXPECT_EQ(differs("\"result\":{\"ids\":[", "\"result\":{\"ids\":[7,"), "result, ids");
  // A file that breaks off is compared as far as it goes.
  const std::string half = file.substr(0, file.find('\n', file.find('\n', file.find("\"pass\":1,"))) + 1);
  EXPECT_FALSE(first_difference(half, file, "a").value().has_value());
}

TEST(Trajectory, WhatIsNoneIsRefusedByLine) {
  const auto message = [](const std::string& file) { return read_trajectory(file, "a").error().message; };
  EXPECT_NE(message("").find("a: line 1"), std::string::npos);
  EXPECT_NE(message("{}").find("\"plmtraj\""), std::string::npos);
  EXPECT_NE(message(R"({"plmtraj":2})").find("version"), std::string::npos);
  EXPECT_NE(message(R"({"plmtraj":1,"recipe":{},"page":{}})").find("prompt_ids"), std::string::npos);
  const std::string columns = R"("proposed":{"at":[AT],"id":[1],"score":[1],"probability":[1],"entropy":[1]})";
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "object"},
           {R"({"pass":1})", "rows"},
           {R"({"pass":1,"rows":1,"proposed":{},"changes":[],"texts":[]})", "columns"},
           {R"({"pass":1,"rows":1,)" + replaced(columns, "AT", "2") + R"(,"changes":[],"texts":[]})", "beyond"},
           {R"({"pass":1,"rows":1,)" + replaced(columns, "AT", "0") + R"(,"changes":[{"committed":2}],"texts":[]})",
            "beyond"},
           {R"({"pass":1,"rows":1,)" + replaced(columns, "AT", "0") + R"(,"changes":[{"moved":1}],"texts":[]})",
            "expected committed"},
           {R"({"pass":1,"rows":1,)" + replaced(columns, "AT", "0") + R"(,"changes":[],"texts":[[1]]})", "texts"}}) {
    const std::string found = message(std::string(kHeader) + line);
    EXPECT_EQ(found.find("a: line 2"), 0U) << found;
    EXPECT_NE(found.find(says), std::string::npos) << found;
  }
}

}  // namespace
}  // namespace plm
