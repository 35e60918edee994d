#include "base/json.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/utf8.h"

namespace plm {
namespace {

// Remembers the keys of the open objects, refuses the second one of a name and any beyond the limit.
class KeyGuard {
 public:
  explicit KeyGuard(std::size_t limit) : limit_(limit) {}

  // nlohmann's callback: false drops the value, which is how we stop building once something is wrong.
  bool operator()(Json::parse_event_t event, const Json& parsed) {
    if (!complaint_.empty()) return false;
    if (event == Json::parse_event_t::object_start) open_keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_keys_.pop_back();
    if (event == Json::parse_event_t::key && !open_keys_.back().insert(parsed.get<std::string>()).second) {
      complaint_ = fmt::format("key \"{}\" given twice in one object", printable(parsed.get<std::string>(), 80));
      return false;
    }
    if (event == Json::parse_event_t::key) last_key_ = parsed.get<std::string>();
    if (event == Json::parse_event_t::key && open_keys_.back().size() > limit_) {
      complaint_ = fmt::format("an object with more than {} keys", limit_);
      return false;
    }
    return true;
  }

  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  /// Where the parser is, for messages: "; after key "x"", or nothing before the first key.
  [[nodiscard]] std::string place() const {
    return last_key_.empty() ? "" : fmt::format("; after key \"{}\"", printable(last_key_, 80));
  }

 private:
  std::size_t limit_;
  std::vector<std::unordered_set<std::string>> open_keys_;
  std::string complaint_;
  std::string last_key_;
};

}  // namespace

std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes of JSON, at most {} are read", name, text.size(), limits.bytes);
  }
  if (text.starts_with("\xEF\xBB\xBF")) {  // nlohmann would skip it
    return fail(ErrorKind::bad_input, "{}: not valid JSON: begins with a byte order mark; save it without", name);
  }
  if (json_depth(text) > limits.depth) {  // nlohmann recurses while destroying
    return fail(ErrorKind::bad_input, "{}: JSON nested deeper than {} levels", name, limits.depth);
  }
  KeyGuard guard(limits.keys);
  try {
    Json value = Json::parse(
        text, [&guard](int /*depth*/, Json::parse_event_t event, Json& parsed) { return guard(event, parsed); });
    if (!guard.complaint().empty()) return fail(ErrorKind::bad_input, "{}: {}", name, guard.complaint());
    return value;
  } catch (const Json::exception& failure) {
    const std::string reason = failure.what();
    const std::size_t code_end = reason.find("] ");  // "[json.exception.parse_error.101] "
    const std::string detail = code_end == std::string::npos ? reason : reason.substr(code_end + 2);
    return fail(ErrorKind::bad_input, "{}: not valid JSON: {}{}", name, printable(detail), guard.place());
  }
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plm
