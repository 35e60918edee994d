#include "lab/run_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Words stand for tokens where there are none.
void take_words(RunRecord& record) {
  std::map<std::string_view, std::int32_t> ids;
  const std::string_view text = record.text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    const auto next = static_cast<std::int32_t>(ids.size());
    record.tokens.push_back(ids.emplace(text.substr(begin, at - begin), next).first->second);
  }
}

// Reads the fields of one record; what is wrong first is told.
class RecordReader {
 public:
  RecordReader(const Json& object, std::string where, const RecordLimits& limits)
      : object_(object), where_(std::move(where)), limits_(limits) {}

  Result<RunRecord> read() {
    RunRecord record;
    if (!object_.is_object()) return fail(ErrorKind::bad_input, "{}: is not a JSON object", where_);
    record.name = text("id");
    record.tokens = tokens("tokens");
    record.prompt = tokens("prompt_tokens");
    record.text = text("text");
    record.stop = text("stop");
    record.log_probabilities = numbers("logprobs");
    for (const double rank : numbers("ranks")) record.ranks.push_back(rank > 0 ? static_cast<std::size_t>(rank) : 0);
    record.entropies = numbers("entropies");
    record.chain_entropies = numbers("chain_entropies");
    record.chain_supports = numbers("supports");
    record.step_ms = numbers("step_ms");
    record.expected_step_ms = number("expected_step_ms");
    record.stated_mean_log_probability = number("mean_logprob_raw");
    record.stated_displacement = number("displacement");
    record.reply_format = text("reply_format");
    read_page(record);
    if (const auto passes = number("passes"); passes.has_value() && *passes >= 0) {
      record.passes = static_cast<std::size_t>(std::min(*passes, 1e15));
    }
    if (const auto end = number("end_token"); end.has_value()) record.end_token = token_of(*end);
    if (record.tokens.empty()) take_words(record);
    if (failure_.has_value()) return tl::unexpected<Error>(*failure_);
    if (!object_.contains("tokens") && !object_.contains("text")) {
      return fail(ErrorKind::bad_input, "{}: has neither tokens nor text", where_);
    }
    return record;
  }

 private:
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void refuse(const char* key, std::string_view rule) {
    if (failure_.has_value()) return;
    failure_ = Error{ErrorKind::bad_input, fmt::format("{}: {}: must be {}", where_, key, rule)};
  }
  static std::int32_t token_of(double number) {
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(number, -kMost, kMost));
  }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get<std::string>();
    refuse(key, "a text");
    return "";
  }
  std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_number()) return value->get<double>();
    refuse(key, "a number");
    return std::nullopt;
  }
  // Null among them is minus infinity, as a token that could not be drawn has it.
  std::vector<double> numbers(const char* key) {
    std::vector<double> list;
    const Json* value = find(key);
    if (value == nullptr) return list;
    if (!value->is_array() || value->size() > limits_.tokens) {
      refuse(key, fmt::format("a list of at most {} numbers", limits_.tokens));
      return list;
    }
    for (const Json& item : *value) {
      if (!item.is_number() && !item.is_null()) refuse(key, "a list of numbers");
      list.push_back(item.is_number() ? item.get<double>() : -std::numeric_limits<double>::infinity());
    }
    return list;
  }
  std::vector<std::int32_t> tokens(const char* key) {
    std::vector<std::int32_t> list;
    for (const double number : numbers(key)) list.push_back(token_of(number));
    return list;
  }

  void read_page(RunRecord& record) {
    const Json* states = find("states");
    if (states == nullptr) return;
    if (!states->is_array() || states->size() > limits_.tokens) return refuse("states", "a list of lists of tokens");
    std::size_t cells = 0;
    for (const Json& state : *states) {
      if (!state.is_array()) return refuse("states", "a list of lists of tokens");
      cells += state.size();
      if (cells > 16 * limits_.tokens) return refuse("states", "smaller");
      auto& row = record.page.states.emplace_back();
      for (const Json& item : state) {
        if (!item.is_number()) return refuse("states", "a list of lists of tokens");
        row.push_back(token_of(item.get<double>()));
      }
    }
    record.page.mask = token_of(number("mask").value_or(0));
  }

  const Json& object_;
  std::string where_;
  const RecordLimits& limits_;
  std::optional<Error> failure_;
};

// One line of a trace; a line that takes tokens back shortens the record.
void take_trace_line(const Json& line, RunRecord& record) {
  const auto number = [](const Json& object, const char* key, double otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  if (line.contains("taken_back")) {
    if (record.tokens.empty()) return;
    record.tokens.pop_back();
    for (auto* list : {&record.log_probabilities, &record.entropies, &record.chain_entropies, &record.chain_supports}) {
      list->pop_back();
    }
    record.ranks.pop_back();
    return;
  }
  static const Json none = Json::object();
  const Json& raw = line.contains("raw") && line["raw"].is_object() ? line["raw"] : none;
  const bool has_steps = line.contains("steps") && line["steps"].is_array() && !line["steps"].empty();
  const Json& last = has_steps && line["steps"].back().is_object() ? line["steps"].back() : raw;
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  record.tokens.push_back(static_cast<std::int32_t>(std::clamp(number(line, "id", 0), 0.0, kMost)));
  record.log_probabilities.push_back(std::log(number(raw, "probability", 0)));
  record.ranks.push_back(static_cast<std::size_t>(std::clamp(number(raw, "rank", 1), 0.0, kMost)));
  record.entropies.push_back(number(raw, "entropy", 0));
  record.chain_entropies.push_back(number(last, "entropy", 0));
  record.chain_supports.push_back(number(last, "support", 0));
  if (line.contains("text") && line["text"].is_string()) record.text += line["text"].get<std::string>();
}

bool is_trace_line(const Json& line) {
  return line.is_object() && (line.contains("taken_back") || (line.contains("id") && line.contains("raw")));
}

Result<std::vector<Json>> read_lines(std::string_view file, const std::string& name, const RecordLimits& limits) {
  std::vector<Json> lines;
  std::size_t number = 0;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t end = std::min(file.find('\n', at), file.size());
    const std::string_view line = file.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (lines.size() == limits.tokens) return fail(ErrorKind::bad_input, "{}: more than {} lines", name, lines.size());
    PLM_TRY_ASSIGN(lines.emplace_back(), parse_json(line, fmt::format("{}: line {}", name, number)));
  }
  return lines;
}

}  // namespace

std::optional<double> RunRecord::mean_log_probability() const {
  if (log_probabilities.empty()) return stated_mean_log_probability;
  return mean_of(log_probabilities);
}

std::optional<double> RunRecord::displacement() const {
  if (ranks.empty()) return stated_displacement;
  const auto moved = std::ranges::count_if(ranks, [](std::size_t rank) { return rank > 1; });
  return static_cast<double>(moved) / static_cast<double>(ranks.size());
}

Result<std::vector<RunRecord>> read_run_records(std::string_view file, const std::string& name,
                                                const RecordLimits& limits) {
  const std::size_t first = file.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && (file[first] == '{' || file[first] == '[');
  const bool is_list = is_json && file[first] == '[';
  std::vector<Json> objects;
  auto whole = is_json ? parse_json(file, name) : Result<Json>(Json());
  if (is_json && whole.has_value()) {
    objects = is_list ? whole->get<std::vector<Json>>() : std::vector<Json>{std::move(*whole)};
  } else if (is_json && !is_list) {
    PLM_TRY_ASSIGN(objects, read_lines(file, name, limits));
  }
  std::vector<RunRecord> records;
  if (objects.empty()) {  // a text, which may begin as JSON does
    if (file.size() > (std::size_t{16} << 20)) return fail(ErrorKind::bad_input, "{}: more than 16 MiB of text", name);
    RunRecord& record = records.emplace_back();
    record.text = file;
    take_words(record);
    return records;
  }
  if (is_trace_line(objects.front())) {
    RunRecord& record = records.emplace_back();
    for (const Json& line : objects) {
      if (!is_trace_line(line)) return fail(ErrorKind::bad_input, "{}: is a trace, with a line that is none", name);
      take_trace_line(line, record);
    }
    return records;
  }
  if (objects.size() > limits.records) {
    return fail(ErrorKind::bad_input, "{}: {} records, at most {} are read", name, objects.size(), limits.records);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string where = objects.size() == 1 ? name : fmt::format("{}: record {}", name, i + 1);
    PLM_TRY_ASSIGN(RunRecord record, RecordReader(objects[i], where, limits).read());
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace plm
