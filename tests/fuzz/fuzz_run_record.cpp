// Any bytes as a record of a run: it is refused, or every metric and every symptom can be asked of it.
#include <cstddef>
#include <cstdint>

#include "lab/metric.h"
#include "lab/symptom.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const plm::RecordLimits limits{.tokens = 4096, .records = 64};
  const auto records = plm::read_run_records({reinterpret_cast<const char*>(data), size}, "fuzz", limits);
  if (!records) return 0;
  for (const plm::Metric* metric : plm::metrics()) {
    (void)metric->measure(*records, plm::Settings(metric->head.parameters));
  }
  for (const plm::RunRecord& record : *records) (void)plm::diagnose(record);
  return 0;
}
