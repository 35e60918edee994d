// Symptoms: one file each in lab/symptoms/. What is wrong with a text, by numbers; what may have caused it, the
// likeliest first; and for each cause the one change that would show it. Source: datasheet, failure diagnosis;
// thresholds and their evidence: reference diagnosis.md. Tested by tests/lab/test_symptoms.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/definition.h"
#include "lab/run_record.h"

namespace plm {

/// One number that a finding rests on, and what it is when nothing is wrong.
struct Evidence {
  std::string name;
  double value = 0;
  std::string usual;  ///< "below 0.5"
};

struct Finding {
  std::vector<Evidence> evidence;
  std::string where;  ///< "from token 91 on"; empty: the whole text
};

/// What may have caused a symptom, and what to change, alone, to see whether it did.
struct Hypothesis {
  std::string_view cause;
  std::string_view experiment;
};

struct Symptom {
  Definition head;
  std::span<const Hypothesis> hypotheses;  ///< the likeliest first
  /// What must be known of a run to tell; for those that ask why nothing was found.
  std::string_view needs;
  /// Nothing when the symptom is not there, or the record does not say enough.
  std::optional<Finding> (*detect)(const RunRecord& record);
};

/// All symptoms, sorted by name (generated).
[[nodiscard]] std::span<const Symptom* const> symptoms();

/// What was found in a text.
struct Diagnosis {
  const Symptom* symptom = nullptr;
  Finding finding;
};
/// All that is found, in the order of the registry.
[[nodiscard]] std::vector<Diagnosis> diagnose(const RunRecord& record);

}  // namespace plm
