#include "lab/metric.h"

namespace plm {

const Metric* find_metric(std::string_view name) {
  for (const Metric* metric : metrics()) {
    if (is_named(name, metric->head.name, metric->head.aliases)) return metric;
  }
  return nullptr;
}

std::vector<std::vector<std::int32_t>> tokens_of(std::span<const RunRecord> records) {
  std::vector<std::vector<std::int32_t>> texts;
  for (const RunRecord& record : records) texts.push_back(record.tokens);
  return texts;
}

}  // namespace plm
