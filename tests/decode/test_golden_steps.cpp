// One step of every rule against an independent float64 reference (tests/golden/decoding): proposals, scores, what is
// committed, opened again, replaced, and where the text ends. Covers src/decode/proposal.cpp, src/decode/schedule.cpp,
// src/decode/revision.cpp, src/decode/text_end.h, src/decode/schedules/ and src/decode/confidences/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <list>

#include "base/json.h"
#include "decode/proposal.h"
#include "decode/revision.h"
#include "decode/schedule.h"
#include "decode/text_end.h"

namespace plm {
namespace {

constexpr double kTolerance = 1e-8;  // the golden scores have nine decimals

Json golden(const std::string& name) {
  std::ifstream file(std::string(PLM_GOLDEN) + "/decoding/" + name);
  Json json;
  file >> json;
  return json;
}

std::vector<float> logits_of(const Json& row) {
  std::vector<float> logits;
  for (const Json& value : row) logits.push_back(value.get<float>() / 64);
  return logits;
}
double uniform_of(const Json& value) { return (value.get<double>() + 0.5) / 65536; }

struct NamedSchedule {
  const char* rule;
  const char* schedule;
  std::vector<std::pair<const char*, const char*>> parameters;  ///< of the schedule, in the vectors
};
const NamedSchedule kSchedules[] = {
    {"count", "count", {{"tokens_per_pass", "k"}}},
    {"alg_temp", "count", {{"tokens_per_pass", "k"}, {"position_temperature", "alg_temp"}}},
    {"random", "count", {{"tokens_per_pass", "k"}}},
    {"origin", "transfer", {{"transfer_probability", "p_transfer"}}},
    {"threshold", "threshold", {{"threshold", "tau"}, {"most_per_pass", "cap"}}},
    {"factor", "factor", {{"factor", "factor"}}},
    {"eb", "entropy_bound", {{"entropy_bound", "gamma"}}},
    {"klass",
     "kl_stable",
     {{"threshold", "tau"}, {"kl_bound", "kl_eps"}, {"kl_history", "history"}, {"kl_fallback", "k"}}},
    {"hierarchy", "hierarchy", {{"threshold", "tau"}, {"low_threshold", "low"}}},
};

// One case of the vectors, worked out with our parts.
class GoldenStep {
 public:
  explicit GoldenStep(const Json& vector)
      : vector_(vector), params_(vector.at("params")), status_(vector.at("status")), rule_(rule_of(vector)) {
    Proposer proposer(rule_);
    for (std::size_t i = 0; i < status_.size(); ++i) {
      proposals_.push_back(propose_at(proposer, "logits_x64", i, true));
      if (status_[i] == 'M') open_.push_back(open_position(i));
      if (status_[i] == 'C') committed_.push_back(i);
    }
  }

  void check() {
    const Json& expect = vector_.at("expect");
    std::size_t at = 0;
    for (const OpenPosition& open : open_) {
      const Json& score = expect.at("score")[at];
      EXPECT_EQ(proposals_[open.position].token, expect.at("proposal")[at]);
      if (score.is_null()) {
        EXPECT_EQ(open.score, -std::numeric_limits<double>::infinity());
      } else {
        EXPECT_NEAR(open.score, score.get<double>(), kTolerance);
      }
      ++at;
    }
    const Revision revision = work_out();
    std::vector<std::size_t> commit, revise;
    for (const std::size_t place : revision.commit) commit.push_back(open_[place].position);
    for (const std::size_t place : revision.revise) revise.push_back(committed_[place]);
    EXPECT_EQ(Json(commit), expect.at("commit"));
    const bool is_edit = vector_.at("rule") == "edit";
    EXPECT_EQ(Json(revise), is_edit ? expect.at("replace") : expect.at("revoke"));
    if (expect.contains("finished")) check_end(commit);
  }

 private:
  static ProposalRule rule_of(const Json& vector) {
    const Json& params = vector.at("params");
    ProposalRule rule;
    const bool is_random = vector.at("rule") == "random";
    rule.confidence = find_confidence(is_random ? "random" : params.value("score", "prob"));
    rule.temperature = params.value("temperature", 0.0);
    rule.top_k = params.value("top_k", std::size_t{0});
    rule.top_p = params.value("top_p", 1.0);
    rule.top_p_first = params.value("filter_order", "k_then_p") == std::string("p_then_k");
    rule.score_tempered = params.value("confidence_from", "raw") == std::string("tempered");
    rule.guidance = params.value("cfg_scale", 0.0);
    rule.suppressed = vector.at("suppress").get<std::vector<TokenId>>();
    if (params.contains("rank_last")) rule.last = params.at("rank_last").get<std::vector<TokenId>>();
    return rule;
  }

  [[nodiscard]] double uniform_at(std::size_t position) const {
    for (const char* name : {"pos_u_x65536", "rank_u_x65536"}) {
      if (vector_.contains(name)) return uniform_of(vector_.at(name)[position]);
    }
    return 0.5;
  }

  Proposal propose_at(Proposer& proposer, const char* name, std::size_t position, bool draws) {
    const std::vector<float> logits = logits_of(vector_.at(name)[position]);
    std::vector<float> unconditional;
    std::vector<double> noise;
    if (vector_.contains("uncond_x64")) unconditional = logits_of(vector_.at("uncond_x64")[position]);
    if (draws && vector_.contains("gumbel_u_x65536")) {
      for (const Json& value : vector_.at("gumbel_u_x65536")[position]) noise.push_back(uniform_of(value));
    }
    return proposer(logits, unconditional, noise, uniform_at(position));
  }

  OpenPosition open_position(std::size_t position) {
    OpenPosition open{.position = position,
                      .score = proposals_[position].score,
                      .entropy = proposals_[position].entropy,
                      .uniform = uniform_at(position)};
    if (vector_.contains("previous_logits_x64")) open.changes = changes_at(position);
    return open;
  }

  // KL divergences between the passes before and this one, kept for as long as the case lives.
  std::span<const double> changes_at(std::size_t position) {
    std::vector<std::vector<double>> passes;
    const auto add = [&](const Json& row) {
      const std::vector<float> logits = logits_of(row);
      std::vector<double> values(logits.begin(), logits.end());
      for (const TokenId id : rule_.suppressed) values[id] = -std::numeric_limits<double>::infinity();
      log_softmax(values);
      passes.push_back(values);
    };
    for (const Json& pass : vector_.at("previous_logits_x64")) add(pass[position]);
    add(vector_.at("logits_x64")[position]);
    std::vector<double> changes;
    for (std::size_t i = 1; i < passes.size(); ++i) changes.push_back(divergence(passes[i], passes[i - 1]));
    changes_.push_back(changes);
    return changes_.back();
  }

  static WinoRule wino_rule(const Json& params) { return {params.at("tau1"), params.at("tau2")}; }

  Revision work_out() {
    const std::string rule = vector_.at("rule");
    if (rule == "wino") return work_out_wino();
    if (rule == "remdm") return work_out_remask();
    if (rule == "edit") {
      std::vector<CommittedPosition> committed;
      for (const std::size_t i : committed_) {
        committed.push_back({vector_.at("tokens")[i], proposals_[i].token, proposals_[i].score});
      }
      return edit_step({params_.at("tau_mask"), params_.at("tau_edit"), params_.at("k_min")}, open_, committed);
    }
    const auto named = std::ranges::find_if(kSchedules, [&](const NamedSchedule& s) { return rule == s.rule; });
    if (named == std::end(kSchedules)) throw std::runtime_error("unknown rule " + rule);
    const ScheduleDefinition& definition = *find_schedule(named->schedule);
    Settings settings(definition.head.parameters);
    for (const auto& [ours, theirs] : named->parameters) {
      if (!params_.contains(theirs)) continue;
      EXPECT_TRUE(settings.set_json(ours, params_.at(theirs)).has_value()) << ours;
    }
    const auto schedule = definition.create(settings).value();
    const Step step{.open = open_,
                    .index = 0,
                    .passes = status_.size(),
                    .block_length = status_.size(),
                    .open_at_start = open_.size()};
    return {schedule->choose(step), {}};
  }

  Revision work_out_wino() {
    ProposalRule plain;
    plain.confidence = rule_.confidence;
    plain.suppressed = rule_.suppressed;
    Proposer proposer(plain);
    std::vector<double> verify;
    for (const std::size_t i : committed_) {
      propose_at(proposer, "verify_logits_x64", i, false);
      verify.push_back(std::exp(proposer.log_probabilities()[vector_.at("tokens")[i].get<std::size_t>()]));
    }
    const Json& expected = vector_.at("expect").at("verify");
    for (std::size_t i = 0; i < verify.size(); ++i) EXPECT_NEAR(verify[i], expected[i].get<double>(), kTolerance);
    return wino_step(wino_rule(params_), open_, verify, params_.at("last_accept"));
  }

  Revision work_out_remask() {
    std::string kind = params_.at("sigma");
    RemaskRule rule{.eta = params_.value("eta", 0.0)};
    if (const auto tail = kind.find("_conf"); tail != std::string::npos) {
      rule.by_confidence = true;
      kind.resize(tail);
    }
    rule.kind = kind == "max"       ? RemaskKind::max
                : kind == "cap"     ? RemaskKind::cap
                : kind == "rescale" ? RemaskKind::rescale
                                    : RemaskKind::none;
    const RemaskTimes times{params_.at("alpha_t"), params_.at("alpha_s")};
    std::vector<double> confidences, uniforms;
    for (const std::size_t i : committed_) {
      if (vector_.contains("commit_confidence")) {
        const Json& value = vector_.at("commit_confidence")[i];
        confidences.push_back(value.is_null() ? 0 : value.get<double>());
      } else {
        confidences.push_back(0);
      }
      uniforms.push_back(uniform_at(i));
    }
    const double stay = stay_probability(rule, times);
    EXPECT_NEAR(stay, vector_.at("expect").at("p_stay_masked").get<double>(), kTolerance);
    const auto remask = remask_probabilities(rule, times, confidences);
    const Json& sigma = vector_.at("expect").at("sigma");
    for (std::size_t i = 0; i < remask.size(); ++i) {
      EXPECT_NEAR(remask[i], (sigma.is_array() ? sigma[i] : sigma).get<double>(), kTolerance);
    }
    return remask_step(open_, stay, remask, uniforms);
  }

  void check_end(const std::vector<std::size_t>& commit) {
    const Json& expect = vector_.at("expect");
    const auto ends = params_.at("end_ids").get<std::vector<TokenId>>();
    std::vector<Cell> cells;
    const std::size_t prompt = status_.find_first_not_of('P');
    for (std::size_t i = prompt; i < status_.size(); ++i) {
      const bool is_committed = status_[i] == 'C' || std::ranges::find(commit, i) != commit.end();
      const TokenId token = status_[i] == 'C' ? vector_.at("tokens")[i].get<TokenId>() : proposals_[i].token;
      cells.push_back({static_cast<CellId>(i), is_committed ? CellStatus::committed : CellStatus::open, token});
    }
    const TextEnd end = text_end(cells, ends);
    EXPECT_EQ(end.is_finished, expect.at("finished"));
    if (end.is_finished) {
      EXPECT_EQ(end.length, expect.at("text_length"));
    }
    if (!params_.value("eos_fill", false)) return;
    std::vector<std::size_t> filled;
    for (std::size_t i = after_end(cells, ends); i < cells.size(); ++i) {
      if (cells[i].status == CellStatus::open) filled.push_back(i + prompt);
    }
    EXPECT_EQ(Json(filled), expect.at("filled"));
  }

  const Json& vector_;
  const Json& params_;
  std::string status_;
  ProposalRule rule_;
  std::vector<Proposal> proposals_;
  std::vector<OpenPosition> open_;
  std::vector<std::size_t> committed_;
  std::list<std::vector<double>> changes_;
};

TEST(GoldenSteps, EqualTheReference) {
  const Json file = golden("step_vectors.json");
  std::size_t count = 0;
  for (const Json& vector : file.at("cases")) {
    SCOPED_TRACE(vector.at("id").get<std::string>());
    GoldenStep(vector).check();
    ++count;
  }
  EXPECT_EQ(count, 316U);
}

// What a schedule of counts decides pass after pass when it is asked until nothing is open.
std::vector<std::size_t> counts_of(const char* name, std::size_t n, std::size_t passes, const Json& settings_json) {
  const ScheduleDefinition& definition = *find_schedule(name);
  Settings settings(definition.head.parameters);
  for (const auto& [key, value] : settings_json.items()) EXPECT_TRUE(settings.set_json(key, value).has_value());
  const auto schedule = definition.create(settings).value();
  std::vector<OpenPosition> open;
  for (std::size_t i = 0; i < n; ++i) open.push_back({.position = i, .score = 0.5, .uniform = 0.5});
  std::vector<std::size_t> counts;
  for (std::size_t index = 0; index < passes; ++index) {
    std::size_t count = 0;
    if (!open.empty()) {
      count = schedule->choose({open, index, passes, n, n}).size();
      open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count));
    }
    counts.push_back(count);
  }
  return counts;
}

TEST(GoldenSteps, CountsOfSchedulesEqualTheReference) {
  const Json file = golden("schedules.json");
  for (const Json& row : file.at("uniform")) {
    EXPECT_EQ(Json(counts_of("count", row.at("n"), row.at("steps"), Json::object())), row.at("counts")) << row;
  }
  for (const Json& row : file.at("timestep")) {
    EXPECT_EQ(Json(counts_of("timestep", row.at("n"), row.at("steps"), {{"time_end", row.at("eps")}})),
              row.at("counts"))
        << row;
  }
  for (const Json& row : file.at("cosine")) {
    EXPECT_EQ(Json(counts_of("cosine", row.at("n"), row.at("steps"), Json::object())), row.at("counts")) << row;
  }
}

TEST(GoldenSteps, PlansOfBlocksEqualTheReference) {
  for (const Json& row : golden("schedules.json").at("block_plan")) {
    const auto blocks = plan_blocks(row.at("length"), row.at("block"), row.at("steps"));
    ASSERT_EQ(blocks.size(), row.at("plan").size()) << row;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Json& expected = row.at("plan")[i];
      EXPECT_EQ(blocks[i].start, expected.at("start"));
      EXPECT_EQ(blocks[i].length, expected.at("length"));
      EXPECT_EQ(blocks[i].passes, expected.at("steps"));
    }
  }
}

}  // namespace
}  // namespace plm
