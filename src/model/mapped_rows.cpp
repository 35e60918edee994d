#include "model/mapped_rows.h"

#include <algorithm>
#include <cstring>

#include "base/portable_math.h"
#include "base/utf8.h"

namespace plm {
namespace {

struct RowWork {
  std::size_t in_rows = 0;  ///< of the source
  std::size_t rows = 0;
  RowMap map = {};
  NumberChange numbers = NumberChange::none;
  bool to_float = false;
};

class MappedRowMaker {
 public:
  MappedRowMaker(std::shared_ptr<const HuggingFaceFolder> folder, const FolderTensor& tensor, RowWork work)
      : folder_(std::move(folder)), tensor_(tensor), work_(std::move(work)) {}

  void operator()(std::span<std::byte> out) const {
    const std::span<const std::byte> in = tensor_.entry->bytes;
    const std::size_t in_bytes = in.size() / work_.in_rows, out_bytes = out.size() / work_.rows;
    for (std::size_t row = 0; row < work_.rows; ++row) {
      const std::size_t source = work_.map.source.empty() ? row : work_.map.source[row];
      put(in.subspan(source * in_bytes, in_bytes), out.subspan(row * out_bytes, out_bytes), row);
    }
    if (const auto& map = folder_->shards()[tensor_.shard]->mapped()) map->release(in);
  }

 private:
  void put(std::span<const std::byte> from, std::span<std::byte> to, std::size_t row) const {
    if (!work_.to_float) {
      std::memcpy(to.data(), from.data(), to.size());
      return;
    }
    const std::vector<float>& factors = work_.map.factors;
    const float factor = factors.empty() ? 1 : factors[factors.size() == 1 ? 0 : row];
    for (std::size_t i = 0; i < to.size() / sizeof(float); ++i) {
      const float value = changed(safetensors_float(tensor_.entry->dtype, from, i)) * factor;
      std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
    }
  }

  [[nodiscard]] float changed(float value) const {
    switch (work_.numbers) {
      case NumberChange::none: return value;
      case NumberChange::to_float: return value;
      case NumberChange::plus_one: return value + 1;
      case NumberChange::minus_exp: return static_cast<float>(-exp_f64(value));
    }
    return value;
  }

  std::shared_ptr<const HuggingFaceFolder> folder_;
  FolderTensor tensor_;
  RowWork work_;
};

class MappedRowPlanner {
 public:
  MappedRowPlanner(const std::shared_ptr<const HuggingFaceFolder>& folder, const FolderTensor& tensor,
                   const TensorRule& rule)
      : folder_(folder), tensor_(tensor), rule_(rule), shape_(tensor.entry->shape) {}

  Result<FolderTensorPlan> plan(std::string name) const;

 private:
  template <typename... Args>
  tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: tensor {}: {}", folder_->shards()[tensor_.shard]->path(),
                printable(tensor_.name, 120), fmt::format(format, std::forward<Args>(args)...));
  }
  Result<RowWork> rows() const;
  Result<std::vector<std::uint64_t>> dims(const RowWork& work) const;

  const std::shared_ptr<const HuggingFaceFolder>& folder_;
  const FolderTensor& tensor_;
  const TensorRule& rule_;
  const std::vector<std::uint64_t>& shape_;
};

Result<RowWork> MappedRowPlanner::rows() const {
  RowWork work{.in_rows = static_cast<std::size_t>(shape_.front()), .numbers = rule_.numbers};
  for (std::size_t i = 1; i + 1 < shape_.size(); ++i) work.in_rows *= static_cast<std::size_t>(shape_[i]);
  work.rows = work.in_rows;
  if (rule_.rows == nullptr) return work;
  PLM_TRY_ASSIGN(work.map, rule_.rows(*folder_->config(), work.in_rows));
  if (!work.map.source.empty()) work.rows = work.map.source.size();
  const bool are_there = std::ranges::all_of(work.map.source, [&](std::uint32_t row) { return row < work.in_rows; });
  const std::size_t factors = work.map.factors.size();
  if (!are_there || (factors > 1 && factors != work.rows)) {
    return refuse("has {} rows, which the settings of the model contradict", work.in_rows);
  }
  return work;
}

Result<std::vector<std::uint64_t>> MappedRowPlanner::dims(const RowWork& work) const {
  if (shape_.size() > 1) return std::vector<std::uint64_t>{shape_.back(), work.rows};
  if (rule_.folded.empty()) return std::vector<std::uint64_t>{work.rows};
  if (rule_.folded == kOneColumn) return std::vector<std::uint64_t>{1, work.rows};
  PLM_TRY_ASSIGN(const std::uint64_t rows, folder_->config()->integer(rule_.folded, {1, 1U << 20}));
  if (work.rows % rows != 0) {
    return refuse("has {} numbers, expected a multiple of {} = {}", work.rows, rule_.folded, rows);
  }
  if (rows == 1) return std::vector<std::uint64_t>{work.rows};
  return std::vector<std::uint64_t>{work.rows / rows, rows};
}

Result<FolderTensorPlan> MappedRowPlanner::plan(std::string name) const {
  FolderTensorPlan plan{.name = std::move(name)};
  PLM_TRY_ASSIGN(RowWork work, rows());
  PLM_TRY_ASSIGN(plan.dims, dims(work));
  const bool is_vector = shape_.size() == 1;  // float32 everywhere
  work.to_float = is_vector || work.numbers != NumberChange::none || !work.map.factors.empty() ||
                  tensor_.entry->dtype == SafetensorsDtype::f32;
  plan.type = find_ggml_type(work.to_float ? "F32" : tensor_.entry->dtype == SafetensorsDtype::bf16 ? "BF16" : "F16");
  plan.source.make = std::make_shared<const TensorMaker>(MappedRowMaker(folder_, tensor_, std::move(work)));
  return plan;
}

}  // namespace

Result<FolderTensorPlan> plan_mapped_rows(const std::shared_ptr<const HuggingFaceFolder>& folder,
                                          const FolderTensor& tensor, const TensorRule& rule, std::string name) {
  return MappedRowPlanner(folder, tensor, rule).plan(std::move(name));
}

}  // namespace plm
