// A model owes nothing to the host's memory: on a device that keeps everything out of reach and runs late, and on one
// whose fresh memory is full of NaN, it computes the same bits as on the plain CPU device. Covers src/model/model.h.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kernels/fake_device.h"
#include "model/single_sequence.h"

namespace plm {
namespace {

// Every byte that was never written is part of a NaN, whatever the type.
class DirtyDevice : public CpuDevice {
 public:
  DirtyDevice() : CpuDevice({.threads = 1}) {}
  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override {
    PLM_TRY_ASSIGN(auto storage, CpuDevice::allocate(bytes));
    std::memset(static_cast<CpuStorage&>(*storage).data(), 0xFF, bytes);
    return storage;
  }
};

std::string fixture(const char* name) { return std::string(PLM_GOLDEN) + "/oracle/" + name; }

using Rows = std::vector<std::vector<float>>;

bool equal_bits(const Rows& a, const Rows& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

// A prompt, single tokens, a fork that makes the next append copy a page, a step back, and on again.
Rows history(SingleSequence& sequence) {
  std::vector<std::int32_t> prompt(40);
  std::iota(prompt.begin(), prompt.end(), 7);
  Rows rows = sequence.append(prompt);
  const auto keep = [&](Rows more) { rows.insert(rows.end(), more.begin(), more.end()); };
  for (const std::int32_t token : {3, 200, 41}) keep(sequence.append({token}));
  const SequenceState other_owner = sequence.state->fork();
  keep(sequence.append({5, 6, 7}));
  sequence.state->truncate(30);
  keep(sequence.append({9, 10}));
  return rows;
}

TEST(Model, ComputesTheSameWhereTheHostCannotReach) {
  for (const char* name : {"llama-f32.gguf", "llama_rope_yarn-bf16.gguf", "llama_tied_mqa_hd-bf16.gguf"}) {
    for (const KvTypes& kv_types : {KvTypes(quant_f32), KvTypes(quant_f16)}) {
      SingleSequence plain(fixture(name), kv_types, {.threads = 1, .kernels = KernelChoice::reference});
      SingleSequence fake(fixture(name), std::make_unique<FakeDevice>(), {.kv_types = kv_types});
      EXPECT_TRUE(equal_bits(history(plain), history(fake))) << name << " " << kv_types.name();
      EXPECT_EQ(plain.taps, fake.taps);
    }
  }
}

TEST(Model, NeverReadsMemoryThatWasNotWritten) {
  for (const KvTypes& kv_types : {KvTypes(quant_f32), KvTypes(quant_f16), KvTypes(quant_bf16)}) {
    SingleSequence clean(fixture("llama-f32.gguf"), kv_types, {.threads = 1});
    SingleSequence dirty(fixture("llama-f32.gguf"), std::make_unique<DirtyDevice>(), {.kv_types = kv_types});
    EXPECT_TRUE(equal_bits(history(clean), history(dirty))) << kv_types.name();
  }
}

}  // namespace
}  // namespace plm
