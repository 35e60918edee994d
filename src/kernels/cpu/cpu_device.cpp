#include "kernels/cpu/cpu_device.h"

#include <atomic>
#include <cstring>

#include "base/aligned_buffer.h"
#include "kernels/cpu/cpu_storage.h"

namespace plm {
namespace {

class OwnedStorage : public CpuStorage {
 public:
  explicit OwnedStorage(AlignedBuffer buffer) : CpuStorage(buffer.data(), buffer.size()), buffer_(std::move(buffer)) {}

 private:
  AlignedBuffer buffer_;
};

std::byte* bytes_of(const Storage& storage) { return static_cast<const CpuStorage&>(storage).data(); }

// Where a view begins, after making sure that it lies inside its storage.
std::byte* bytes_of(const View& view) {
  if (view.rows == 0) return nullptr;
  const std::size_t row_bytes = view.type->row_bytes(view.columns);
  PLM_CHECK(view.row_stride >= row_bytes || view.rows == 1);
  PLM_CHECK(view.offset + (view.rows - 1) * view.row_stride + row_bytes <= view.storage->size());
  return bytes_of(*view.storage) + view.offset;
}

Floats floats_of(const View& view) {
  PLM_CHECK(view.type == &quant_f32 && view.offset % sizeof(float) == 0 && view.row_stride % sizeof(float) == 0);
  return {reinterpret_cast<float*>(bytes_of(view)), view.rows, view.columns, view.row_stride / sizeof(float)};
}

bool same_shape(const View& a, const View& b) { return a.rows == b.rows && a.columns == b.columns; }

const CpuWeight& weight_of(const Weight& weight) { return static_cast<const CpuWeight&>(weight); }

bool is_vector(WeightRole role) { return role == WeightRole::norm || role == WeightRole::bias; }

const float* vector_of(const Weight& weight, std::size_t columns) {
  PLM_CHECK(is_vector(weight.role) && weight.inputs == columns);
  return weight_of(weight).numbers.data();
}

// Every row and every page that `table` names exists; with `end` beyond the pages no kernel may be started.
void check_table(const RowTable& table, const KvPlace& place, std::size_t rows) {
  PLM_CHECK(table.rows.size() == rows && place.type->block_size == 1);
  for (const RowSight& row : table.rows) {
    PLM_CHECK(row.sequence < table.pages.size());
    const std::size_t slots = table.pages[row.sequence].size() * kPageCells;
    PLM_CHECK(row.slot < slots && row.end <= slots);
    if (row.own_count == 0) continue;
    PLM_CHECK(std::size_t{row.own_begin} + row.own_count <= slots);
    PLM_CHECK(row.own_bits_word + (row.own_count + std::size_t{63}) / 64 <= table.own_bits.size());
  }
  for (const auto& pages : table.pages) {
    for (const Storage* page : pages) PLM_CHECK(place.offset + place.bytes() <= page->size());
  }
}

}  // namespace

CpuDevice::CpuDevice(const CpuDeviceOptions& options)
    : kernels_(options.kernels == KernelChoice::fast ? simd_kernels() : reference_kernels()), team_(options.threads) {}

std::string CpuDevice::describe() const { return fmt::format("cpu {}", kernels_.name); }

Result<std::shared_ptr<Storage>> CpuDevice::allocate(std::size_t bytes) {
  PLM_TRY_ASSIGN(AlignedBuffer buffer, AlignedBuffer::allocate(bytes));
  return std::make_shared<OwnedStorage>(std::move(buffer));
}

Result<void> CpuDevice::check_finite(const WeightSource& source) {
  const StorageType& type = *source.type;
  std::atomic<bool> finite{true};
  team_.run([&](int member) {
    const Share blocks = share_of(source.bytes.size() / type.block_bytes, member, team_.size());
    const std::byte* first = source.bytes.data() + blocks.begin * type.block_bytes;
    if (!type.is_finite(first, blocks.end - blocks.begin)) finite.store(false, std::memory_order_relaxed);
  });
  if (finite.load()) return {};
  return fail(ErrorKind::bad_input, "tensor {}: NaN or infinite {}; the file is damaged, download it again",
              source.name, type.block_size == 1 ? "value" : "scale");
}

Result<std::unique_ptr<Weight>> CpuDevice::load_weight(const WeightSource& source) {
  PLM_CHECK(source.inputs % source.type->block_size == 0);
  PLM_CHECK(source.bytes.size() == source.outputs * source.type->row_bytes(source.inputs));
  PLM_TRY(check_finite(source));
  auto weight = std::make_unique<CpuWeight>();
  weight->role = source.role;
  weight->type = source.type;
  weight->outputs = source.outputs;
  weight->inputs = source.inputs;
  weight->bytes = source.bytes;
  if (is_vector(source.role)) {
    PLM_CHECK(source.outputs == 1);
    weight->numbers.resize(source.inputs);
    source.type->unpack(source.bytes.data(), weight->numbers.data(), source.inputs / source.type->block_size);
  } else if (source.role != WeightRole::embedding && kernels_.panels) {
    PLM_TRY(pack(source, *weight));
  }
  return weight;
}

Result<void> CpuDevice::pack(const WeightSource& source, CpuWeight& weight) {
  weight.layout = find_panel_layout(*source.type);
  if (weight.layout == nullptr) return {};
  const std::size_t count = panel_count(source.outputs);
  PLM_TRY_ASSIGN(weight.panels, AlignedBuffer::allocate(count * panel_bytes(*source.type, source.inputs)));
  team_.run([&](int member) {
    pack_panels(*weight.layout, source, share_of(count, member, team_.size()), weight.panels.data());
  });
  return {};
}

void CpuDevice::upload(const View& to, std::span<const std::byte> from) {
  const std::size_t row_bytes = to.type->row_bytes(to.columns);
  PLM_CHECK(from.size() == to.rows * row_bytes);
  std::vector<std::byte> held(from.begin(), from.end());
  const std::byte* first = held.data();
  work_.emplace_back(MoveWork{.from = first,
                              .from_stride = row_bytes,
                              .to = bytes_of(to),
                              .to_stride = to.row_stride,
                              .rows = to.rows,
                              .row_bytes = row_bytes,
                              .indices = {},
                              .held = std::move(held)});
}

void CpuDevice::download(const View& from, std::span<std::byte> to) {
  const std::size_t row_bytes = from.type->row_bytes(from.columns);
  PLM_CHECK(to.size() == from.rows * row_bytes);
  work_.emplace_back(MoveWork{.from = bytes_of(from),
                              .from_stride = from.row_stride,
                              .to = to.data(),
                              .to_stride = row_bytes,
                              .rows = from.rows,
                              .row_bytes = row_bytes,
                              .indices = {},
                              .held = {}});
}

void CpuDevice::copy(Storage& to, const Storage& from) {
  PLM_CHECK(to.size() == from.size());
  work_.emplace_back(MoveWork{.from = bytes_of(from),
                              .from_stride = 0,
                              .to = bytes_of(to),
                              .to_stride = 0,
                              .rows = 1,
                              .row_bytes = to.size(),
                              .indices = {},
                              .held = {}});
}

void CpuDevice::gather_rows(const View& in, std::span<const std::uint32_t> indices, const View& out) {
  PLM_CHECK(in.type == out.type && in.columns == out.columns && indices.size() == out.rows);
  for (const std::uint32_t index : indices) PLM_CHECK(index < in.rows);
  work_.emplace_back(MoveWork{.from = bytes_of(in),
                              .from_stride = in.row_stride,
                              .to = bytes_of(out),
                              .to_stride = out.row_stride,
                              .rows = out.rows,
                              .row_bytes = in.type->row_bytes(in.columns),
                              .indices = indices,
                              .held = {}});
}

void CpuDevice::embed(const Weight& table, std::span<const std::int32_t> ids, const View& out) {
  PLM_CHECK(out.rows == ids.size() && out.columns == table.inputs);
  for (const std::int32_t id : ids) PLM_CHECK(id >= 0 && static_cast<std::size_t>(id) < table.outputs);
  work_.emplace_back(EmbedWork{&weight_of(table), ids, floats_of(out)});
}

void CpuDevice::linear(const Weight& weight, const View& in, const View& out, const Weight* bias) {
  PLM_CHECK(in.columns == weight.inputs && out.columns == weight.outputs && in.rows == out.rows);
  const float* numbers = bias != nullptr ? vector_of(*bias, weight.outputs) : nullptr;
  work_.emplace_back(LinearWork{&weight_of(weight), floats_of(in), floats_of(out), numbers});
}

void CpuDevice::rms_norm(const View& in, const Weight& gain, float epsilon, const View& out) {
  PLM_CHECK(same_shape(in, out));
  work_.emplace_back(RmsNormWork{floats_of(in), vector_of(gain, in.columns), epsilon, floats_of(out)});
}

void CpuDevice::rope(const View& x, std::size_t head_dim, const View& angles, RopeLayout layout) {
  PLM_CHECK(angles.rows == x.rows && x.columns % head_dim == 0);
  PLM_CHECK(angles.columns % 2 == 0 && angles.columns <= head_dim);
  work_.emplace_back(RopeWork{floats_of(x), head_dim, floats_of(angles), layout});
}

void CpuDevice::store_kv(const View& keys, const View& values, const RowTable& table, const KvPlace& place) {
  PLM_CHECK(same_shape(keys, values) && keys.columns == place.kv_heads * place.head_dim);
  check_table(table, place, keys.rows);
  work_.emplace_back(StoreKvWork{floats_of(keys), floats_of(values), table, place});
}

void CpuDevice::attention(const View& queries, const RowTable& table, const KvPlace& place, float scale,
                          const View& out) {
  PLM_CHECK(same_shape(queries, out) && queries.columns % (place.kv_heads * place.head_dim) == 0);
  check_table(table, place, queries.rows);
  PLM_CHECK(queries.rows == 0 || bytes_of(queries) != bytes_of(out));  // sums are gathered in `out`
  work_.emplace_back(AttentionWork{floats_of(queries), table, place, scale, floats_of(out)});
}

void CpuDevice::silu_multiply(const View& gate, const View& up, const View& out) {
  PLM_CHECK(same_shape(gate, up) && same_shape(gate, out));
  work_.emplace_back(SiluMultiplyWork{floats_of(gate), floats_of(up), floats_of(out)});
}

void CpuDevice::add(const View& x, const View& y) {
  PLM_CHECK(same_shape(x, y));
  work_.emplace_back(AddWork{floats_of(x), floats_of(y)});
}

void CpuDevice::all_reduce(const View&) {}  // one device: the sum is already complete

void CpuDevice::statistics(const View& logits, std::span<RowStatistics> statistics) {
  PLM_CHECK(statistics.size() == logits.rows);
  work_.emplace_back(StatisticsWork{floats_of(logits), statistics.data()});
}

void CpuDevice::top_n(const View& logits, std::size_t n, std::span<TokenScore> top) {
  PLM_CHECK(n <= logits.columns && top.size() == logits.rows * n);
  work_.emplace_back(TopNWork{floats_of(logits), n, top.data()});
}

namespace {

void move_rows(const MoveWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const std::size_t source = work.indices.empty() ? r : work.indices[r];
    std::memmove(work.to + r * work.to_stride, work.from + source * work.from_stride, work.row_bytes);
  }
}

// Which function of the table does which work.
struct Runner {
  const KernelTable& kernels;
  int member;
  int members;

  void operator()(const MoveWork& work) const { move_rows(work, share(work)); }
  void operator()(const EmbedWork& work) const { kernels.embed(work, share(work)); }
  void operator()(const LinearWork& work) const { kernels.linear(work, share(work)); }
  void operator()(const RmsNormWork& work) const { kernels.rms_norm(work, share(work)); }
  void operator()(const RopeWork& work) const { kernels.rope(work, share(work)); }
  void operator()(const StoreKvWork& work) const { kernels.store_kv(work, share(work)); }
  void operator()(const AttentionWork& work) const { kernels.attention(work, share(work)); }
  void operator()(const SiluMultiplyWork& work) const { kernels.silu_multiply(work, share(work)); }
  void operator()(const AddWork& work) const { kernels.add(work, share(work)); }
  void operator()(const StatisticsWork& work) const { kernels.statistics(work, share(work)); }
  void operator()(const TopNWork& work) const { kernels.top_n(work, share(work)); }

  template <typename Any>
  [[nodiscard]] Share share(const Any& work) const {
    return share_of(work.units(), member, members, Any::kGrain);
  }
};

}  // namespace

Result<void> CpuDevice::wait() {
  if (work_.empty()) return {};
  team_.run([this](int member) {
    for (const Work& work : work_) {
      std::visit(Runner{kernels_, member, team_.size()}, work);
      team_.barrier();
    }
  });
  work_.clear();
  return {};
}

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options) { return std::make_unique<CpuDevice>(options); }

}  // namespace plm
