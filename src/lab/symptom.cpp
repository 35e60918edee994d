#include "lab/symptom.h"

namespace plm {

std::vector<Diagnosis> diagnose(const RunRecord& record) {
  std::vector<Diagnosis> found;
  for (const Symptom* symptom : symptoms()) {
    if (auto finding = symptom->detect(record); finding.has_value()) found.push_back({symptom, std::move(*finding)});
  }
  return found;
}

}  // namespace plm
