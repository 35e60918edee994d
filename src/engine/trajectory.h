// A trajectory: what every pass over a page proposed, decided and took back, as lines of JSON, from which a person can
// read why a token stands where it stands, and a machine that two runs were the same.
//
// The first line is a header, the last one the result; between them one line a pass. docs/reference/trajectory.md says
// what the fields mean. A double is written so that every bit counts; -inf is null. What a stranger's file says is
// checked once, in `read_trajectory`. Tested by tests/engine/test_trajectory.cpp, tests/fuzz/fuzz_trajectory.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "decode/event.h"
#include "text/vocabulary.h"

namespace plm {

inline constexpr int kTrajectoryVersion = 1;

/// Listens to one text and makes the lines of its passes.
class TrajectoryRecorder {
 public:
  /// `prompt`: all given tokens. The vocabulary must outlive the recorder.
  TrajectoryRecorder(const Vocabulary& vocabulary, std::span<const TokenId> prompt);

  void on_event(const Event& event);

  /// The lines that are finished, each with its line feed; they are forgotten.
  [[nodiscard]] std::string take_lines();
  /// The line of the pass in progress, with its line feed; to be taken when nothing follows.
  [[nodiscard]] std::string finish();

 private:
  void change(const char* kind, const Event& event);
  void name(TokenId token);
  void end_pass();

  const Vocabulary& vocabulary_;
  std::set<TokenId> named_;  // tokens whose texts stand in a line
  std::string lines_;
  Json pass_;
  std::size_t number_ = 0;
  double entropy_sum_ = 0;  // of the pass, in order of proposal
};

/// What a pass proposed for a position.
struct RecordedProposal {
  std::size_t position = 0;
  TokenId id = kNoToken;
  std::optional<double> score;  ///< none: -inf
  double probability = 0;
  double entropy = 0;  ///< nats
};
struct RecordedChange {
  EventKind kind = EventKind::committed;  ///< committed, replaced, revoked, inserted, deleted
  std::size_t position = 0;               ///< at that moment
  TokenId id = kNoToken;
  double probability = 0;
  std::string rule;
};
struct RecordedPass {
  std::size_t number = 0;  ///< 0: before the first one
  std::size_t rows = 0;
  std::vector<RecordedProposal> proposals;  ///< made before the changes
  std::vector<RecordedChange> changes;      ///< in order
};

struct Trajectory {
  Json header;
  std::vector<RecordedPass> passes;
  Json result;                           ///< null: the file breaks off
  std::map<TokenId, std::string> texts;  ///< of every token that appears
  std::size_t given = 0;                 ///< tokens of the prompt
  std::size_t cells = 0;                 ///< on the page at its end, the given ones among them

  [[nodiscard]] std::string text_of(TokenId id) const;
};

/// Whether a file begins as a trajectory does.
[[nodiscard]] bool is_trajectory(std::string_view file);
/// Errors (bad_input) name the file, the line and what is wrong with it.
[[nodiscard]] Result<Trajectory> read_trajectory(std::string_view file, std::string_view name);

/// One thing that happened to a cell.
struct CellMoment {
  std::size_t pass = 0;  ///< index into Trajectory::passes
  const RecordedProposal* proposal = nullptr;
  std::size_t rank = 0;                    ///< of the proposal among those of its pass, 1 the most certain
  const RecordedChange* change = nullptr;  ///< null: it is a proposal
};
/// Everything that happened to the cell that lies at `position` in the end, oldest first. Its position may have been
/// another one. Empty: it was given.
[[nodiscard]] std::vector<CellMoment> history_of(const Trajectory& trajectory, std::size_t position);

/// Where two files first say something different about a pass or the result.
struct TrajectoryDifference {
  std::string where;          ///< "pass 3, position 17, score", "result, text"
  std::string before, after;  ///< as JSON; empty: it is not there
};
/// The headers and the numbering of lines are not compared. Both as files; `after` is one that this program wrote.
[[nodiscard]] Result<std::optional<TrajectoryDifference>> first_difference(std::string_view before,
                                                                           std::string_view after,
                                                                           std::string_view name);

}  // namespace plm
