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

/// How a model is opened.
struct SequenceOptions {
  KvTypes kv_types = {};
  std::vector<std::string> overrides = {};  ///< as for GgufFile::overridden
  std::size_t context = 0;                  ///< configured; 0: the trained one
};

class SingleSequence {
 public:
  explicit SingleSequence(const std::string& path, const KvTypes& kv_types = {},
                          CpuDeviceOptions options = {.threads = 1})
      : SingleSequence(path, make_cpu_device(options), SequenceOptions{.kv_types = kv_types}) {}

  SingleSequence(const std::string& path, std::unique_ptr<Device> on, const SequenceOptions& options = {})
      : device(std::move(on)) {
    auto opened = GgufFile::open(path);
    if (!opened.has_value()) throw std::runtime_error(opened.error().message);
    load(*opened, options);
  }

  SingleSequence(std::shared_ptr<const GgufFile> opened, CpuDeviceOptions on) : device(make_cpu_device(on)) {
    load(std::move(opened), {});
  }

  /// To be followed by `load`.
  explicit SingleSequence(std::unique_ptr<Device> on) : device(std::move(on)) {}

  void load(std::shared_ptr<const GgufFile> opened, const SequenceOptions& options) {
    auto set = GgufFile::overridden(std::move(opened), options.overrides);
    if (!set.has_value()) throw std::runtime_error(set.error().message);
    gguf = *set;  // weights may refer to its bytes
    auto file = ModelFile::open(gguf);
    if (!file.has_value()) throw std::runtime_error(file.error().message);
    file->set_configured_context(options.context);
    auto loaded = load_model(*file, *device);
    if (!loaded.has_value()) throw std::runtime_error(loaded.error().message);
    model = std::move(*loaded);
    layout = model->state_layout(options.kv_types).value();
    pool = std::make_unique<PagePool>(*device, layout.page_bytes, 64);
    if (layout.block_bytes > 0) blocks = std::make_unique<PagePool>(*device, layout.block_bytes, 16);
    state = std::make_unique<SequenceState>(StatePools{*pool, blocks.get()});
  }

  /// Appends `tokens` causally; returns the logits of every row [tokens.size()][vocab]. Taps are filled by name.
  std::vector<std::vector<float>> append(const std::vector<std::int32_t>& tokens) {
    auto logits = run(tokens, {}, false, YieldKind::logits);
    state->keep(tokens.size());
    return logits;
  }

  /// The same with rows that see one another besides what was appended before, as in models that fill masks.
  std::vector<std::vector<float>> append_block(const std::vector<std::int32_t>& tokens) {
    auto logits = run(tokens, {}, true, YieldKind::logits);
    state->keep(tokens.size());
    return logits;
  }

  /// The same for hidden states, causally.
  std::vector<std::vector<float>> append_hidden(const std::vector<std::int32_t>& tokens) {
    auto hidden = run(tokens, {}, false, YieldKind::hidden);
    state->keep(tokens.size());
    return hidden;
  }

  /// Reads `tokens` as an encoder does, every row seeing all; returns the hidden state of every row.
  std::vector<std::vector<float>> encode(const std::vector<std::int32_t>& tokens,
                                         const std::vector<std::int32_t>& types = {}) {
    return run(tokens, types, true, YieldKind::hidden);
  }

 private:
  std::vector<std::vector<float>> run(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& types,
                                      bool sees_all, YieldKind kind) {
    std::vector<PageCopy> copies;
    if (!state->reserve(tokens.size(), copies).has_value()) throw std::runtime_error("no pages");
    for (const PageCopy& copy : copies) device->copy(*copy.to, *copy.from);
    std::vector<std::uint32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), static_cast<std::uint32_t>(state->length()));
    std::vector<RowSight> sights;
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; row < tokens.size(); ++row) {
      sights.push_back({.slot = positions[row], .end = sees_all ? positions.back() + 1 : positions[row] + 1});
      yields.push_back({row, kind, 0});
    }
    const std::vector<std::span<Storage* const>> pages{state->storages()};
    std::vector<RecurrentRun> runs;
    std::vector<RecurrentSave> saves;
    if (const RecurrentMemory* memory = state->recurrent()) {
      const auto count = static_cast<std::uint32_t>(tokens.size());
      for (const auto& [length, to] : memory->saves()) {
        saves.push_back({static_cast<std::uint32_t>(length - memory->length() - 1), to});
      }
      runs.push_back({.row_count = count,
                      .save_count = static_cast<std::uint32_t>(saves.size()),
                      .begins = memory->length() == 0,
                      .block = memory->block()});
    }
    std::vector<RowStatistics> statistics(tokens.size());
    std::vector<YieldResult> results(tokens.size());
    const PassRows rows{.tokens = tokens,
                        .positions = positions,
                        .table = {sights, pages, {}, runs, saves},
                        .types = types,
                        .yields = yields,
                        .statistics = statistics,
                        .results = results};
    const Probe probe = [this](std::string_view name, const View& view) {
      auto& values = taps[std::string(name)];
      values.resize(view.rows * view.columns);
      device->download(view, std::as_writable_bytes(std::span(values)));
    };
    const Result<void> enqueued = model->enqueue(rows, layout, probe);
    if (!enqueued.has_value()) throw std::runtime_error(enqueued.error().message);
    EXPECT_TRUE(device->wait().has_value());
    std::vector<std::vector<float>> values;
    for (YieldResult& result : results) values.push_back(std::move(result.values));
    return values;
  }

 public:
  std::shared_ptr<const GgufFile> gguf;
  std::unique_ptr<Device> device;
  std::unique_ptr<Model> model;
  StateLayout layout;
  std::unique_ptr<PagePool> pool;
  std::unique_ptr<PagePool> blocks;  ///< of recurrent layers
  std::unique_ptr<SequenceState> state;
  std::map<std::string, std::vector<float>> taps;  // of the last append
};

}  // namespace plm
