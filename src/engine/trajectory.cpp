#include "engine/trajectory.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/utf8.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

constexpr std::array<const char*, 5> kColumns = {"at", "id", "score", "probability", "entropy"};

struct ChangeName {
  const char* name;
  EventKind kind;
};
constexpr ChangeName kChanges[] = {{"committed", EventKind::committed},
                                   {"replaced", EventKind::replaced},
                                   {"revoked", EventKind::revoked},
                                   {"inserted", EventKind::inserted},
                                   {"deleted", EventKind::deleted}};

Json empty_pass(std::size_t number, std::size_t rows) {
  Json proposed = Json::object();
  for (const char* column : kColumns) proposed[column] = Json::array();
  return {{"pass", number},
          {"rows", rows},
          {"proposed", std::move(proposed)},
          {"sum_marginal_entropy", 0.0},
          {"changes", Json::array()},
          {"texts", Json::array()}};
}

}  // namespace

TrajectoryRecorder::TrajectoryRecorder(const Vocabulary& vocabulary, std::span<const TokenId> prompt)
    : vocabulary_(vocabulary), pass_(empty_pass(0, 0)) {
  for (const TokenId token : prompt) name(token);
}

void TrajectoryRecorder::name(TokenId token) {
  if (!vocabulary_.contains(token) || !named_.insert(token).second) return;
  pass_["texts"].push_back({token, detokenize(vocabulary_, std::span(&token, 1), {.show_special = true})});
}

void TrajectoryRecorder::change(const char* kind, const Event& event) {
  Json change = {{kind, event.position}};
  if (event.kind != EventKind::deleted) change["id"] = event.token;
  if (event.kind != EventKind::deleted && event.kind != EventKind::inserted) {
    change["probability"] = event.probability;
    change["rule"] = event.rule;
    name(event.token);
  }
  pass_["changes"].push_back(std::move(change));
}

void TrajectoryRecorder::end_pass() {
  pass_["sum_marginal_entropy"] = entropy_sum_;
  lines_ += json_text(pass_) + "\n";
}

void TrajectoryRecorder::on_event(const Event& event) {
  if (event.kind == EventKind::pass_ran) {
    end_pass();
    pass_ = empty_pass(++number_, event.rows);
    entropy_sum_ = 0;
  } else if (event.kind == EventKind::proposed) {
    Json& proposed = pass_["proposed"];
    proposed["at"].push_back(event.position);
    proposed["id"].push_back(event.token);
    proposed["score"].push_back(event.score);
    proposed["probability"].push_back(event.probability);
    proposed["entropy"].push_back(event.entropy);
    entropy_sum_ += event.entropy;
    name(event.token);
  } else {
    const auto known = std::ranges::find(kChanges, event.kind, &ChangeName::kind);
    if (known != std::end(kChanges)) change(known->name, event);
  }
}

std::string TrajectoryRecorder::take_lines() { return std::exchange(lines_, {}); }

std::string TrajectoryRecorder::finish() {
  end_pass();
  return take_lines();
}

namespace {

// Checks the lines of a file one by one.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<void> line(std::string_view text) {
    ++number_;
    PLM_TRY_ASSIGN(Json json, parse_json(text, fmt::format("{}: line {}", name_, number_)));
    if (!json.is_object()) return wrong("expected an object");
    if (number_ == 1) return header(std::move(json));
    if (!trajectory_.result.is_null()) return wrong("a line behind the result");
    if (json.contains("result")) {
      trajectory_.result = json["result"];
      if (trajectory_.result.is_object()) return {};
      return wrong("result: expected an object");
    }
    return pass(json);
  }
  Trajectory take() { return std::move(trajectory_); }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::bad_input, "{}: line {}: {}; is no trajectory that plm wrote", name_, number_, what);
  }

  Result<void> header(Json json) {
    if (!json.contains("plmtraj") || json["plmtraj"] != kTrajectoryVersion) {
      return wrong(fmt::format("\"plmtraj\": expected {}, the version that this program reads", kTrajectoryVersion));
    }
    for (const char* key : {"recipe", "page"}) {
      if (!json.contains(key) || !json[key].is_object()) return wrong(fmt::format("{}: expected an object", key));
    }
    const Json text = json["recipe"].value("text", Json());
    const Json ids = text.is_object() ? text.value("prompt_ids", Json()) : Json();
    if (!ids.is_array()) return wrong("recipe: text: prompt_ids: expected an array");
    trajectory_.given = trajectory_.cells = ids.size();
    trajectory_.header = std::move(json);
    return {};
  }

  Result<std::size_t> count(const Json& in, const char* key) const {
    const Json value = in.is_object() ? in.value(key, Json()) : Json();
    if (!value.is_number_unsigned()) return wrong(fmt::format("{}: expected a whole number, not negative", key));
    return value.get<std::size_t>();
  }
  Result<double> real(const Json& in, const char* key) const {
    const Json value = in.value(key, Json());
    if (!value.is_number()) return wrong(fmt::format("{}: expected a number", key));
    return value.get<double>();
  }
  Result<TokenId> id(const Json& value) const {
    if (!value.is_number_integer() || value > std::numeric_limits<TokenId>::max() || value < kNoToken) {
      return wrong("id: expected the number of a token");
    }
    return value.get<TokenId>();
  }

  Result<void> pass(const Json& json) {
    RecordedPass pass;
    PLM_TRY_ASSIGN(pass.number, count(json, "pass"));
    PLM_TRY_ASSIGN(pass.rows, count(json, "rows"));
    PLM_TRY_ASSIGN(pass.proposals, proposals(json.value("proposed", Json())));
    PLM_TRY(texts(json.value("texts", Json())));
    const Json changes = json.value("changes", Json());
    if (!changes.is_array()) return wrong("changes: expected an array");
    for (const Json& one : changes) {
      PLM_TRY_ASSIGN(RecordedChange read, change(one));
      pass.changes.push_back(std::move(read));
    }
    trajectory_.passes.push_back(std::move(pass));
    return {};
  }

  Result<std::vector<RecordedProposal>> proposals(const Json& columns) const {
    std::vector<RecordedProposal> proposals;
    if (!columns.is_object()) return wrong("proposed: expected an object");
    for (const char* column : kColumns) {
      if (!columns.contains(column) || !columns[column].is_array() || columns[column].size() != columns["at"].size()) {
        return wrong("proposed: expected columns of one length");
      }
    }
    const Json &at = columns["at"], &ids = columns["id"], &scores = columns["score"];
    const Json &probabilities = columns["probability"], &entropies = columns["entropy"];
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool is_number = at[i].is_number_unsigned() && probabilities[i].is_number() && entropies[i].is_number();
      if (!is_number || !(scores[i].is_number() || scores[i].is_null())) return wrong("proposed: expected numbers");
      RecordedProposal proposal{.position = at[i].get<std::size_t>(),
                                .probability = probabilities[i].get<double>(),
                                .entropy = entropies[i].get<double>()};
      PLM_TRY_ASSIGN(proposal.id, id(ids[i]));
      if (scores[i].is_number()) proposal.score = scores[i].get<double>();
      if (proposal.position >= trajectory_.cells) return wrong("proposed: a position beyond the page");
      proposals.push_back(proposal);
    }
    return proposals;
  }

  Result<RecordedChange> change(const Json& json) {
    RecordedChange change;
    const auto known = std::ranges::find_if(
        kChanges, [&](const ChangeName& name) { return json.is_object() && json.contains(name.name); });
    if (known == std::end(kChanges))
      return wrong("changes: expected committed, replaced, revoked, inserted or deleted");
    change.kind = known->kind;
    PLM_TRY_ASSIGN(change.position, count(json, known->name));
    const bool is_insertion = change.kind == EventKind::inserted;
    if (change.position >= trajectory_.cells + (is_insertion ? 1 : 0))
      return wrong("changes: a position beyond the page");
    if (is_insertion) ++trajectory_.cells;
    if (change.kind == EventKind::deleted) {
      --trajectory_.cells;
      return change;
    }
    PLM_TRY_ASSIGN(change.id, id(json.value("id", Json())));
    if (is_insertion) return change;
    PLM_TRY_ASSIGN(change.probability, real(json, "probability"));
    const Json rule = json.value("rule", Json());
    if (!rule.is_string()) return wrong("rule: expected a text");
    change.rule = rule.get<std::string>();
    return change;
  }

  Result<void> texts(const Json& texts) {
    if (!texts.is_array()) return wrong("texts: expected an array");
    for (const Json& pair : texts) {
      if (!pair.is_array() || pair.size() != 2 || !pair[1].is_string()) return wrong("texts: expected pairs");
      PLM_TRY_ASSIGN(const TokenId token, id(pair[0]));
      trajectory_.texts[token] = pair[1].get<std::string>();
    }
    return {};
  }

  std::string_view name_;
  std::size_t number_ = 0;
  Trajectory trajectory_;
};

// The next line of `file`, which is then shorter.
std::string_view next_line(std::string_view& file) {
  const std::size_t end = std::min(file.find('\n'), file.size());
  const std::string_view line = file.substr(0, end);
  file.remove_prefix(std::min(end + 1, file.size()));
  return line;
}

}  // namespace

std::string Trajectory::text_of(TokenId id) const {
  const auto found = texts.find(id);
  return found == texts.end() ? std::string() : found->second;
}

bool is_trajectory(std::string_view file) { return file.starts_with("{\"plmtraj\":"); }

Result<Trajectory> read_trajectory(std::string_view file, std::string_view name) {
  const std::string shown = printable(name);
  Reader reader(shown);
  do {
    PLM_TRY(reader.line(next_line(file)));
  } while (!file.empty());
  return reader.take();
}

std::vector<CellMoment> history_of(const Trajectory& trajectory, std::size_t position) {
  std::vector<CellMoment> moments;
  for (std::size_t i = trajectory.passes.size(); i-- > 0;) {
    const RecordedPass& pass = trajectory.passes[i];
    for (std::size_t k = pass.changes.size(); k-- > 0;) {
      const RecordedChange& change = pass.changes[k];
      const bool is_here = change.position == position;
      if (change.kind == EventKind::deleted) {
        if (change.position <= position) ++position;
        continue;
      }
      if (is_here) moments.push_back({.pass = i, .change = &change});
      if (change.kind != EventKind::inserted) continue;
      if (is_here) {
        std::ranges::reverse(moments);
        return moments;
      }
      if (change.position < position) --position;
    }
    const auto here = std::ranges::find(pass.proposals, position, &RecordedProposal::position);
    if (here == pass.proposals.end()) continue;
    const double score = here->score.value_or(-std::numeric_limits<double>::infinity());
    const auto before = std::ranges::count_if(pass.proposals, [&](const RecordedProposal& other) {
      const double theirs = other.score.value_or(-std::numeric_limits<double>::infinity());
      return theirs > score || (theirs == score && other.position < here->position);
    });
    moments.push_back({.pass = i, .proposal = &*here, .rank = static_cast<std::size_t>(before) + 1});
  }
  return {};
}

namespace {

std::string text_or_nothing(const Json& json) { return json.is_null() ? std::string() : json_text(json); }

// The first member in which two objects differ; texts of tokens are no member.
std::optional<TrajectoryDifference> in_members(const Json& before, const Json& after, const std::string& where) {
  for (const Json* from : {&before, &after}) {
    for (const auto& [key, value] : from->items()) {
      const Json a = before.value(key, Json()), b = after.value(key, Json());
      if (key != "texts" && a != b) return TrajectoryDifference{where + ", " + key, json_text(a), json_text(b)};
    }
  }
  return std::nullopt;
}

std::optional<TrajectoryDifference> in_proposals(const Json& before, const Json& after, const std::string& pass) {
  const std::size_t most = std::max(before["at"].size(), after["at"].size());
  for (std::size_t i = 0; i < most; ++i) {
    const auto entry = [i](const Json& columns, const char* column) {
      return i < columns[column].size() ? columns[column][i] : Json();
    };
    const Json at = i < before["at"].size() ? before["at"][i] : after["at"][i];
    for (const char* column : kColumns) {
      const Json a = entry(before, column), b = entry(after, column);
      if (a == b) continue;
      return TrajectoryDifference{fmt::format("{}, position {}, proposed {}", pass, json_text(at), column),
                                  text_or_nothing(a), text_or_nothing(b)};
    }
  }
  return std::nullopt;
}

std::optional<TrajectoryDifference> in_changes(const Json& before, const Json& after, const std::string& pass) {
  for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    const Json a = i < before.size() ? before[i] : Json::object(), b = i < after.size() ? after[i] : Json::object();
    if (a == b) continue;
    const Json& named = a.empty() ? b : a;
    for (const ChangeName& change : kChanges) {
      if (!named.contains(change.name)) continue;
      return in_members(a, b, fmt::format("{}, position {}, {}", pass, json_text(named[change.name]), change.name));
    }
  }
  return std::nullopt;
}

// Both have the form that `read_trajectory` checks.
std::optional<TrajectoryDifference> in_lines(const Json& before, const Json& after) {
  if (before.contains("result") || after.contains("result")) {
    if (before.contains("result") && after.contains("result")) {
      return in_members(before["result"], after["result"], "result");
    }
    return TrajectoryDifference{"number of passes", before.contains("result") ? "" : "one more",
                                after.contains("result") ? "" : "one more"};
  }
  const std::string pass = "pass " + json_text(before["pass"]);
  if (auto found = in_proposals(before["proposed"], after["proposed"], pass); found.has_value()) return found;
  if (auto found = in_changes(before["changes"], after["changes"], pass); found.has_value()) return found;
  return in_members(before, after, pass);
}

}  // namespace

Result<std::optional<TrajectoryDifference>> first_difference(std::string_view before, std::string_view after,
                                                             std::string_view name) {
  PLM_TRY(read_trajectory(before, name));
  next_line(before);
  next_line(after);
  // Where the first file breaks off there is nothing to compare.
  while (!before.empty() && !after.empty()) {
    const std::string_view a = next_line(before), b = next_line(after);
    if (a == b) continue;
    PLM_TRY_ASSIGN(const Json of_before, parse_json(a, name));
    PLM_TRY_ASSIGN(const Json of_after, parse_json(b, name));
    if (auto found = in_lines(of_before, of_after); found.has_value()) return found;
  }
  return std::nullopt;
}

}  // namespace plm
