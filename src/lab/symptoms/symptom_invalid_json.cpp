// invalid_json: a reply that was to be JSON is none.
// Tested by tests/lab/test_symptoms.cpp.
#include <string_view>

#include "base/json.h"
#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"nothing constrained the reply", "the same with a JSON schema"},
    {"the constraint is too weak: other fields, any value", "a stricter schema"},
    {"the limit of tokens cut it", "a higher --max-tokens"},
    {"the template and the format of tools do not fit each other", "plm template"},
    {"penalties made brackets or quotes unlikely", "--repeat-penalty 1"},
};

// Bytes before the first that no JSON value could go on with; all of them when it breaks off; npos: it is one.
std::size_t first_illegal(std::string_view text) {
  if (parse_json(text, "reply").has_value()) return std::string_view::npos;
  if (json_depth(text) > 64) return 0;
  try {
    // What is refused for other reasons, such as a key twice, is JSON all the same.
    const Json parsed = Json::parse(text.begin(), text.end());
    return parsed.is_discarded() ? 0 : std::string_view::npos;
  } catch (const Json::parse_error& error) {
    return error.byte > 0 ? error.byte - 1 : 0;
  }
}

std::optional<Finding> detect(const RunRecord& record) {
  std::string_view reply = record.text;
  if (const std::size_t begin = reply.find("```json"); begin != std::string_view::npos) {
    reply = reply.substr(begin + 7);
    reply = reply.substr(0, reply.find("```"));
  }
  const std::size_t first = reply.find_first_not_of(" \n\t\r");
  const bool was_asked = record.reply_format == "json";
  // A text in brackets is often no JSON and was never to be any: a first key or value in quotes shows the intention.
  const bool looks_so = first != std::string_view::npos && reply[first] == '{' &&
                        reply.find('"', first) == reply.find_first_not_of("{ \n\t\r", first);
  if (!was_asked && !looks_so) return std::nullopt;
  const std::size_t wrong = first_illegal(reply);
  if (wrong == std::string_view::npos) return std::nullopt;
  Finding finding;
  finding.evidence = {{"bytes that could be JSON", static_cast<double>(wrong), fmt::format("{}", reply.size())}};
  finding.where = wrong >= reply.size() ? "it breaks off" : fmt::format("at byte {} of the reply", wrong);
  return finding;
}

}  // namespace

extern const Symptom symptom_invalid_json;
constinit const Symptom symptom_invalid_json = {
    .head = {.name = "invalid_json",
             .summary = "a reply that was to be JSON is none",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "the text, and that it was to be JSON or begins so",
    .detect = detect,
};

}  // namespace plm
