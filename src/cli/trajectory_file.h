// A trajectory as a file: written while the text is, and read as what is to be run again.
// Tested by tests/cli/test_trajectory.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/text_record.h"
#include "engine/trajectory.h"

namespace plm {

inline constexpr Parameter kTrajectoryFlag = {
    .name = "trajectory",
    .summary = "writes what every pass proposed, decided and took back, for plm replay and plm explain",
    .type = ParameterType::text,
    .unit = "FILE",
    .tag = Tag::pipe};

class TrajectoryFile {
 public:
  /// `request` says what is given. The vocabulary must outlive the file. Errors (failed) name it.
  static Result<std::unique_ptr<TrajectoryFile>> create(const std::string& path, const Vocabulary& vocabulary,
                                                        const GenerationRequest& request);

  /// Events may come before `begin` and are kept until then.
  void on_event(const Event& event);
  /// `recipe`: as make_recipe's, the result not being known yet.
  void begin(Json recipe, const GenerationRequest& request);
  /// What came of it; not to be called when the text was interrupted.
  void end(const RecipeResult& result);
  /// Error (failed) when anything was lost.
  Result<void> close() { return file_->close(); }

 private:
  TrajectoryFile(std::unique_ptr<TraceFile> file, const Vocabulary& vocabulary, const GenerationRequest& request)
      : file_(std::move(file)), recorder_(vocabulary, request.prompt) {}

  std::unique_ptr<TraceFile> file_;
  TrajectoryRecorder recorder_;
  std::size_t passes_ = 0;
  bool has_begun_ = false;
};

[[nodiscard]] std::string trajectory_header(Json recipe, const GenerationRequest& request);
/// The last line, without its line feed.
[[nodiscard]] std::string trajectory_result(const RecipeResult& result, std::size_t passes);

/// What a trajectory's header says, to be run again. Errors (bad_input) name the file and the field.
[[nodiscard]] Result<ReadRecipe> read_trajectory_recipe(const Json& header, const std::string& name);

}  // namespace plm
