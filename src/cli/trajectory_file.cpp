#include "cli/trajectory_file.h"

#include "base/json.h"
#include "base/utf8.h"

namespace plm {

namespace {

// All values that decide what a page becomes; of a command's settings those of pages.
Json page_settings(const Settings* settings) {
  Json page = Json::object();
  if (settings == nullptr) return page;
  const Json all = settings->as_json();
  for (const Parameter& parameter : parallel_parameters()) {
    const auto found = all.find(std::string(parameter.name));
    if (found != all.end()) page[std::string(parameter.name)] = *found;
  }
  return page;
}

}  // namespace

Result<std::unique_ptr<TrajectoryFile>> TrajectoryFile::create(const std::string& path, const Vocabulary& vocabulary,
                                                               const GenerationRequest& request) {
  PLM_TRY_ASSIGN(auto file, TraceFile::create(path));
  return std::unique_ptr<TrajectoryFile>(new TrajectoryFile(std::move(file), vocabulary, request));
}

void TrajectoryFile::on_event(const Event& event) {
  recorder_.on_event(event);
  if (event.kind != EventKind::pass_ran) return;
  ++passes_;
  if (has_begun_) file_->write(recorder_.take_lines());
}

void TrajectoryFile::begin(Json recipe, const GenerationRequest& request) {
  file_->write(trajectory_header(std::move(recipe), request) + "\n");
  has_begun_ = true;
}

void TrajectoryFile::end(const RecipeResult& result) {
  file_->write(recorder_.finish());
  file_->write(trajectory_result(result, passes_) + "\n");
}

std::string trajectory_header(Json recipe, const GenerationRequest& request) {
  recipe.erase("result");
  Json holes = Json::array();
  for (const Hole& hole : request.holes) holes.push_back({hole.position, hole.length});
  return json_text({{"plmtraj", kTrajectoryVersion},
                    {"recipe", std::move(recipe)},
                    {"page", page_settings(request.parallel)},
                    {"holes", std::move(holes)}});
}

std::string trajectory_result(const RecipeResult& result, std::size_t passes) {
  return json_text({{"result",
                     {{"text", result.text},
                      {"ids", result.ids},
                      {"finish_reason", finish_reason_name(result.reason)},
                      {"passes", passes}}}});
}

Result<ReadRecipe> read_trajectory_recipe(const Json& header, const std::string& name) {
  Json recipe = header.at("recipe");
  recipe["result"] = Json::object();
  PLM_TRY_ASSIGN(ReadRecipe read, read_recipe(recipe, name));
  const Json holes = header.value("holes", Json::array());
  for (const Json& hole : holes) {
    const bool is_pair = hole.is_array() && hole.size() == 2;
    if (!is_pair || !hole[0].is_number_unsigned() || !hole[1].is_number_unsigned()) {
      return fail(ErrorKind::bad_input, "{}: holes: found {}, expected pairs of whole numbers", name,
                  printable(json_text(hole), 80));
    }
    read.request.holes.push_back({hole[0].get<std::size_t>(), hole[1].get<std::size_t>()});
  }
  return read;
}

}  // namespace plm
