// disobedient: the model does not answer what it was asked.
// Tested by tests/lab/test_symptoms.cpp.
#include <string>

#include "lab/symptom.h"

namespace plm {
namespace {

constexpr Hypothesis kHypotheses[] = {
    {"the chat template is missing, or that of another family",
     "write with the template of the model: plm template shows it"},
    {"the system text stands where the model does not look for it", "the instruction in the last message of the user"},
    {"the conversation was cut", "a larger --context"},
    {"the instruction is too weak beside the rest", "say it once more at the end"},
    {"the model cannot do better", "the same prompt with a larger model"},
};

std::optional<Finding> detect(const RunRecord& record) {
  constexpr std::string_view kRoles[] = {
      "<|im_start|>", "<|im_end|>", "[INST]", "<start_of_turn>", "### Instruction", "<|user|>", "<|start_header_id|>"};
  Finding finding;
  const bool is_empty = record.text.find_first_not_of(" \n\t\r") == std::string::npos;
  const bool ended = record.stop == "eos";
  if (is_empty && ended && record.tokens.size() <= 2) {
    finding.evidence.push_back({"tokens before the end", static_cast<double>(record.tokens.size()), "an answer"});
    finding.where = "the text ends as it begins";
  }
  for (const std::string_view role : kRoles) {
    const std::size_t at = record.text.find(role);
    if (at == std::string::npos) continue;
    finding.evidence.push_back(
        {fmt::format("marks of a conversation in the text, {}, at byte", role), static_cast<double>(at), "none"});
    break;
  }
  if (finding.evidence.empty()) return std::nullopt;
  return finding;
}

}  // namespace

extern const Symptom symptom_disobedient;
constinit const Symptom symptom_disobedient = {
    .head = {.name = "disobedient",
             .summary = "the model does not answer what it was asked",
             .source = "reference diagnosis.md"},
    .hypotheses = kHypotheses,
    .needs = "why it ended, and the text",
    .detect = detect,
};

}  // namespace plm
