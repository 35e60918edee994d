// Runs one sequence through a model for tests: state, row table and readings, without scheduler or decoder.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "format/gguf.h"
#include "kernels/cpu_device.h"
#include "model/architecture.h"
#include "state/sequence_state.h"

namespace plm {

class SingleSequence {
 public:
  explicit SingleSequence(const std::string& path, const StorageType& kv_type = quant_f32,
                          CpuDeviceOptions options = {.threads = 1})
      : SingleSequence(path, make_cpu_device(options), kv_type) {}

  SingleSequence(const std::string& path, std::unique_ptr<Device> on, const StorageType& kv_type = quant_f32)
      : device(std::move(on)) {
    auto opened = GgufFile::open(path);
    if (!opened.has_value()) throw std::runtime_error(opened.error().message);
    load(*opened, kv_type);
  }

  SingleSequence(std::shared_ptr<const GgufFile> opened, CpuDeviceOptions options) : device(make_cpu_device(options)) {
    load(std::move(opened), quant_f32);
  }

  void load(std::shared_ptr<const GgufFile> opened, const StorageType& kv_type) {
    gguf = std::move(opened);  // weights may refer to its bytes
    auto file = ModelFile::open(gguf);
    if (!file.has_value()) throw std::runtime_error(file.error().message);
    auto loaded = load_model(*file, *device);
    if (!loaded.has_value()) throw std::runtime_error(loaded.error().message);
    model = std::move(*loaded);
    layout = model->state_layout(kv_type).value();
    pool = std::make_unique<PagePool>(*device, layout.page_bytes, 64);
    state = std::make_unique<SequenceState>(*pool);
  }

  /// Appends `tokens` causally; returns the logits of every row [tokens.size()][vocab]. Taps are filled by name.
  std::vector<std::vector<float>> append(const std::vector<std::int32_t>& tokens) {
    std::vector<PageCopy> copies;
    if (!state->reserve(tokens.size(), copies).has_value()) throw std::runtime_error("no pages");
    for (const PageCopy& copy : copies) device->copy(*copy.to, *copy.from);
    std::vector<std::uint32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), static_cast<std::uint32_t>(state->length()));
    std::vector<RowSight> sights;
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; row < tokens.size(); ++row) {
      sights.push_back({.slot = positions[row], .end = positions[row] + 1});
      yields.push_back({row, YieldKind::logits, 0});
    }
    const std::vector<std::span<Storage* const>> pages{state->storages()};
    std::vector<RowStatistics> statistics(tokens.size());
    std::vector<YieldResult> results(tokens.size());
    const PassRows rows{.tokens = tokens,
                        .positions = positions,
                        .table = {sights, pages, {}},
                        .yields = yields,
                        .statistics = statistics,
                        .results = results};
    const Probe probe = [this](std::string_view name, const View& view) {
      auto& values = taps[std::string(name)];
      values.resize(view.rows * view.columns);
      device->download(view, std::as_writable_bytes(std::span(values)));
    };
    EXPECT_TRUE(model->enqueue(rows, layout, probe).has_value());
    EXPECT_TRUE(device->wait().has_value());
    state->keep(tokens.size());
    std::vector<std::vector<float>> logits;
    for (YieldResult& result : results) logits.push_back(std::move(result.values));
    return logits;
  }

  std::shared_ptr<const GgufFile> gguf;
  std::unique_ptr<Device> device;
  std::unique_ptr<Model> model;
  StateLayout layout;
  std::unique_ptr<PagePool> pool;
  std::unique_ptr<SequenceState> state;
  std::map<std::string, std::vector<float>> taps;  // of the last append
};

}  // namespace plm
