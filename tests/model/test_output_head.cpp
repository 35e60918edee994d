#include "model/layers/output_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/philox.h"
#include "kernels/cpu_device.h"

namespace plm {
namespace {

constexpr std::size_t kRows = 100, kHidden = 16, kVocab = 50;
constexpr std::int32_t kUntouched = -7;  // an argmax that nobody has written

std::vector<float> noise(std::size_t count, std::uint64_t seed) {
  std::vector<float> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(uniform({.seed = seed, .cell = i}) - 0.5);
  return numbers;
}

class OutputHeadTest : public testing::Test {
 protected:
  OutputHeadTest() {
    device_->upload(hidden_, std::as_bytes(std::span(hidden_numbers_)));
    const auto bytes = std::as_bytes(std::span(head_numbers_));
    head_ = device_->load_weight({"head", WeightRole::head, &quant_f32, kVocab, kHidden, bytes}).value();
    // The judge: all logits at once.
    const auto storage = device_->allocate(kRows * kVocab * sizeof(float)).value();
    const View logits = dense_view(*storage, kRows, kVocab);
    device_->linear(*head_, hidden_, logits);
    device_->download(logits, std::as_writable_bytes(std::span(all_logits_)));
    EXPECT_TRUE(device_->wait().has_value());
  }

  void run(const std::vector<Yield>& yields) {
    statistics_.assign(yields.size(), {.argmax = kUntouched});
    results_.assign(yields.size(), {});
    Workspace workspace(*device_);
    const PassRows rows{
        .tokens = {}, .positions = {}, .table = {}, .yields = yields, .statistics = statistics_, .results = results_};
    OutputHead head;
    ASSERT_TRUE(head.enqueue(*device_, workspace, *head_, hidden_, rows).has_value());
    ASSERT_TRUE(device_->wait().has_value());
  }

  [[nodiscard]] std::vector<float> logits_of(std::size_t row) const {
    const auto first = all_logits_.begin() + static_cast<std::ptrdiff_t>(row * kVocab);
    return {first, first + kVocab};
  }
  [[nodiscard]] std::vector<float> hidden_of(std::size_t row) const {
    const auto first = hidden_numbers_.begin() + static_cast<std::ptrdiff_t>(row * kHidden);
    return {first, first + kHidden};
  }
  // Ids by (logit descending, id ascending).
  [[nodiscard]] std::vector<std::int32_t> ranking_of(std::size_t row) const {
    const auto logits = logits_of(row);
    std::vector<std::int32_t> ids(kVocab);
    std::iota(ids.begin(), ids.end(), 0);
    const auto key = [&](std::int32_t id) { return std::pair(-logits[static_cast<std::size_t>(id)], id); };
    std::ranges::sort(ids, {}, key);
    return ids;
  }
  void expect_statistics(std::size_t row, const RowStatistics& statistics) const {
    const auto ids = ranking_of(row);
    EXPECT_EQ(statistics.argmax, ids[0]);
    EXPECT_EQ(statistics.max, logits_of(row)[static_cast<std::size_t>(ids[0])]);
    EXPECT_EQ(statistics.second, logits_of(row)[static_cast<std::size_t>(ids[1])]);
    EXPECT_EQ(statistics.bad, 0);
  }
  void expect_result(const Yield& yield, const YieldResult& result) const {
    std::vector<float> values;
    if (yield.kind == YieldKind::logits) values = logits_of(yield.row);
    if (yield.kind == YieldKind::hidden) values = hidden_of(yield.row);
    EXPECT_EQ(result.values, values);
    ASSERT_EQ(result.top.size(), yield.kind == YieldKind::top ? yield.n : 0);
    for (std::size_t n = 0; n < result.top.size(); ++n) {
      const std::int32_t id = ranking_of(yield.row)[n];
      EXPECT_EQ(result.top[n].id, id);
      EXPECT_EQ(result.top[n].logit, logits_of(yield.row)[static_cast<std::size_t>(id)]);
    }
  }

  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 2});
  std::vector<float> hidden_numbers_ = noise(kRows * kHidden, 1);
  std::vector<float> head_numbers_ = noise(kVocab * kHidden, 2);
  std::shared_ptr<Storage> hidden_storage_ = device_->allocate(kRows * kHidden * sizeof(float)).value();
  View hidden_ = dense_view(*hidden_storage_, kRows, kHidden);
  std::unique_ptr<Weight> head_;
  std::vector<float> all_logits_ = std::vector<float>(kRows * kVocab);
  std::vector<RowStatistics> statistics_;
  std::vector<YieldResult> results_;
};

// More rows than a group has, every kind among them, some rows skipped and some asked twice.
TEST_F(OutputHeadTest, GivesEveryKindInAnyNumberOfRows) {
  constexpr YieldKind kKinds[] = {YieldKind::logits, YieldKind::statistics, YieldKind::hidden, YieldKind::top,
                                  YieldKind::nothing};
  for (const std::size_t limit : {1U, 31U, 32U, 33U, 100U}) {
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; yields.size() < limit && row < kRows; ++row) {
      if (row % 7 == 3) continue;
      yields.push_back({row, kKinds[row % 5], 5});
      if (row % 4 == 0 && yields.size() < limit) yields.push_back({row, kKinds[(row + 1) % 5], 3});
    }
    run(yields);
    for (std::size_t i = 0; i < yields.size(); ++i) {
      const Yield& yield = yields[i];
      SCOPED_TRACE(fmt::format("yield {} of {}, row {}", i, yields.size(), yield.row));
      if (yield.kind == YieldKind::hidden || yield.kind == YieldKind::nothing) {
        EXPECT_EQ(statistics_[i].argmax, kUntouched);
      } else {
        expect_statistics(yield.row, statistics_[i]);
      }
      expect_result(yield, results_[i]);
    }
  }
}

TEST_F(OutputHeadTest, TopIsBoundedByTheVocabulary) {
  run({{0, YieldKind::top, 0}, {1, YieldKind::top, kVocab + 7}});
  EXPECT_TRUE(results_[0].top.empty());
  EXPECT_EQ(results_[1].top.size(), kVocab);
}

TEST_F(OutputHeadTest, NoYieldCostsNothing) {
  run({});
  EXPECT_TRUE(results_.empty());
}

}  // namespace
}  // namespace plm
