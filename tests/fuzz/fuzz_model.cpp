// Any bytes as a whole model: hyper-parameters, tensors, vocabulary. What loads runs a pass of three tokens on the
// plain kernels and says its logits are numbers, or that they are not.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu_device.h"
#include "model/architecture.h"
#include "state/sequence_state.h"
#include "text/tokenizer.h"

namespace {

constexpr std::size_t kMostLayers = 4;  // a hostile but well-formed file may ask for as much work as its bytes carry
constexpr std::size_t kMostPageBytes = 1U << 24;

void run_three_tokens(plm::Model& model, plm::Device& device) {
  const plm::StateLayout layout = model.state_layout(plm::quant_f32).value();
  if (layout.page_bytes > kMostPageBytes || model.shape().layer_count > kMostLayers) return;
  if (layout.block_bytes > kMostPageBytes) return;
  plm::PagePool pool(device, layout.page_bytes, 1), blocks(device, layout.block_bytes, 2);
  plm::SequenceState state(plm::StatePools{pool, layout.block_bytes > 0 ? &blocks : nullptr});
  std::vector<plm::PageCopy> copies;
  PLM_CHECK(state.reserve(3, copies).has_value());
  const std::array<std::int32_t, 3> tokens = {0, 0, 0};
  const std::array<std::uint32_t, 3> positions = {0, 1, 2};
  const std::array<plm::RowSight, 3> sights = {{{.slot = 0, .end = 1}, {.slot = 1, .end = 2}, {.slot = 2, .end = 3}}};
  const std::array<std::span<plm::Storage* const>, 1> pages = {state.storages()};
  std::vector<plm::RecurrentRun> runs;
  if (const plm::RecurrentMemory* memory = state.recurrent()) {
    runs.push_back({.row_count = 3, .begins = true, .block = memory->block()});
  }
  const std::array<plm::Yield, 1> yields = {{{.row = 2, .kind = plm::YieldKind::top, .n = 4}}};
  std::array<plm::RowStatistics, 1> statistics;
  std::array<plm::YieldResult, 1> results;
  const plm::PassRows rows{.tokens = tokens,
                           .positions = positions,
                           .table = {.rows = sights, .pages = pages, .own_bits = {}, .runs = runs, .saves = {}},
                           .yields = yields,
                           .statistics = statistics,
                           .results = results};
  PLM_CHECK(model.enqueue(rows, layout).has_value());
  PLM_CHECK(device.wait().has_value());
  PLM_CHECK(statistics[0].argmax >= 0 && static_cast<std::size_t>(statistics[0].argmax) < model.shape().vocab_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto gguf = plm::GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!gguf.has_value()) return 0;
  auto file = plm::ModelFile::open(*gguf);
  if (!file.has_value()) return 0;
  const auto device = plm::make_cpu_device({.threads = 1, .kernels = plm::KernelChoice::reference});
  const auto model = plm::load_model(*file, *device);
  if (model.has_value()) run_three_tokens(**model, *device);
  return 0;
}
