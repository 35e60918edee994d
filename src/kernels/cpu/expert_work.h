// What the kernels of the CPU device get for mixtures of experts (kernels/device.h), as kernels/cpu/work.h has it for
// the rest. The number of rows of all experts together is known when work is enqueued; which expert has which of them
// is known only when it runs, and stands in an ExpertLists. Tested by tests/kernels/cpu/test_cpu_experts.cpp.
#pragma once

#include <cstddef>

#include "kernels/cpu/expert_lists.h"
#include "kernels/cpu/work.h"

namespace plm {

struct RouteWork {
  static constexpr std::size_t kGrain = 1;
  Floats scores;  ///< [rows, experts]
  RouterRule rule;
  const float* bias;  ///< [experts] or null
  Floats routing;     ///< [rows, 2 * k]
  [[nodiscard]] std::size_t units() const { return scores.rows; }
};

/// Sorts the rows by expert: one unit, and so one thread.
struct ExpertListWork {
  static constexpr std::size_t kGrain = 1;
  Floats routing;  ///< [rows, 2 * k]
  std::size_t experts;
  ExpertLists* lists;
  [[nodiscard]] std::size_t units() const { return 1; }
};

/// out[i] = the row of `in` that stands at place i of the lists.
struct ExpertRowsWork {
  static constexpr std::size_t kGrain = 1;
  Floats in;
  const ExpertLists* lists;
  Floats out;  ///< [rows * k, in.columns]
  [[nodiscard]] std::size_t units() const { return out.rows; }
};

/// Each expert's matrix times its rows. Cut by ExpertLists::for_each_share, as experts have unequal numbers of them.
struct ExpertLinearWork {
  const CpuWeight* weight;
  Floats in;            ///< [rows * k, inputs]
  RoundedRows rounded;  ///< the same rounded, where the product takes them so
  bool is_integer;
  Floats out;         ///< [rows * k, outputs]
  const float* bias;  ///< [experts, outputs] or null
  const ExpertLists* lists;
};

/// out[r] = the weighted sum of what the experts of row r gave.
struct ExpertSumWork {
  static constexpr std::size_t kGrain = 1;
  Floats in;       ///< [rows * k, out.columns]
  Floats routing;  ///< [rows, 2 * k]
  const ExpertLists* lists;
  Floats out;
  [[nodiscard]] std::size_t units() const { return out.rows; }
};

/// x[r] += y[r] / (1 + e^-gates[r][0]).
struct AddGatedWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  Floats y;
  Floats gates;  ///< [rows, 1]
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

struct KernelTable;

/// Copies the rows to the places [begin, end) of the lists.
void copy_expert_rows(const ExpertRowsWork& work, Share places);
/// Computes the share of one member of the team.
void multiply_experts(const KernelTable& kernels, const ExpertLinearWork& work, int member, int members);

}  // namespace plm
