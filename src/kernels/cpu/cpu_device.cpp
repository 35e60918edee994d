#include "kernels/cpu/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "kernels/cpu/attention_cut.h"
#include "kernels/cpu/cpu_storage.h"
#include "kernels/cpu/cpu_views.h"

namespace plm {
namespace {

class OwnedStorage : public CpuStorage {
 public:
  explicit OwnedStorage(AlignedBuffer buffer) : CpuStorage(buffer.data(), buffer.size()), buffer_(std::move(buffer)) {}

 private:
  AlignedBuffer buffer_;
};

// Every row and every page that `table` names exists; with `end` beyond the pages no kernel may be started.
void check_table(const RowTable& table, const KvPlace& place, std::size_t rows) {
  PLM_CHECK(table.rows.size() == rows);
  for (const StorageType* type : {place.types.keys, place.types.values}) {
    PLM_CHECK(place.head_dim % type->block_size == 0);
    PLM_CHECK(type->block_size == 1 || type == &quant_q8_0 || type == &quant_q4_0);
  }
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

// The pages of a table as one run of bytes. It may take in what lies between them, which only costs a barrier.
std::span<const std::byte> pages_of(const RowTable& table) {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  for (const auto& pages : table.pages) {
    for (const Storage* page : pages) {
      const std::byte* first = bytes_of(*page);
      if (begin == nullptr || first < begin) begin = first;
      if (end == nullptr || first + page->size() > end) end = first + page->size();
    }
  }
  return {begin, end};
}

int most_level(Activations activations) {
  switch (activations) {
    case Activations::f32: return 0;
    case Activations::int8: return kMostInt8;
    case Activations::int16: return kMostInt16;
  }
  return 0;
}

std::string_view name_of(Activations activations) {
  switch (activations) {
    case Activations::f32: return "f32";
    case Activations::int8: return "int8";
    case Activations::int16: return "int16";
  }
  return "";
}

// Of `count` floating-point numbers with that many bits of mantissa: those with exponent 0 that are not 0.
template <typename Bits, unsigned MantissaBits>
std::size_t denormals_among(const std::byte* numbers, std::size_t count) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, numbers + i * sizeof bits, sizeof bits);
    const auto magnitude = static_cast<Bits>(bits & (static_cast<Bits>(-1) >> 1));
    found += static_cast<std::size_t>(magnitude != 0 && magnitude >> MantissaBits == 0);
  }
  return found;
}

KernelTable choose_kernels(const CpuDeviceOptions& options) {
  const auto usable = usable_simd_targets();
  if (options.kernels == KernelChoice::reference || usable.empty()) return reference_kernels();
  if (options.simd.has_value()) return simd_kernels(*options.simd);
  const char* wish = std::getenv("PLM_SIMD");
  return simd_kernels(find_simd_target(wish != nullptr ? wish : "").value_or(usable.back()));
}

}  // namespace

CpuDevice::CpuDevice(const CpuDeviceOptions& options)
    : kernels_(choose_kernels(options)), activations_(options.activations), team_(options.threads, options.pin) {}

std::string CpuDevice::describe() const {
  return fmt::format("cpu {}, activations {}", kernels_.name, name_of(activations_));
}

void CpuDevice::enqueue(const Work& work, std::initializer_list<Touch> touches) {
  const Touch source = reads(rounded_.in);
  for (const Touch& touch : touches) {
    if (touch.is_write && touch.meets(source)) rounded_.in = {};
  }
  steps_.push_back({work, order_.must_wait(touches)});
}

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

std::size_t CpuDevice::count_denormals(const WeightSource& source) {
  const bool is_f32 = source.type == &quant_f32;
  if (!is_f32 && source.type != &quant_bf16) return 0;
  std::atomic<std::size_t> count{0};
  team_.run([&](int member) {
    const Share numbers = share_of(source.bytes.size() / source.type->block_bytes, member, team_.size());
    const std::byte* first = source.bytes.data() + numbers.begin * source.type->block_bytes;
    const std::size_t found = is_f32 ? denormals_among<std::uint32_t, 23>(first, numbers.end - numbers.begin)
                                     : denormals_among<std::uint16_t, 7>(first, numbers.end - numbers.begin);
    count.fetch_add(found, std::memory_order_relaxed);
  });
  return count.load();
}

Result<std::unique_ptr<Weight>> CpuDevice::load_weight(const WeightSource& source) {
  PLM_CHECK(source.inputs % source.type->block_size == 0);
  PLM_CHECK(source.bytes.size() == source.count * source.outputs * source.type->row_bytes(source.inputs));
  PLM_TRY(check_finite(source));
  auto weight = std::make_unique<CpuWeight>();
  weight->role = source.role;
  weight->type = source.type;
  weight->outputs = source.outputs;
  weight->inputs = source.inputs;
  weight->count = source.count;
  weight->denormals = count_denormals(source);
  if (is_vector(source.role)) {
    PLM_CHECK(source.outputs == 1);
    weight->numbers.resize(source.count * source.inputs);
    source.type->unpack(source.bytes.data(), weight->numbers.data(), weight->numbers.size() / source.type->block_size);
  } else if (source.role == WeightRole::convolution) {
    weight->numbers = tap_major(source);
  } else if (source.role != WeightRole::embedding && kernels_.panels) {
    PLM_TRY(pack(source, *weight));
  }
  if (weight->numbers.empty() && weight->panel == nullptr) {
    weight->bytes = source.bytes;
    weight->owner = source.owner;
  }
  return weight;
}

Result<void> CpuDevice::pack(const WeightSource& source, CpuWeight& weight) {
  weight.panel = find_panel_type(*source.type);
  if (weight.panel == nullptr) return {};
  const std::size_t panels = panel_count(source.outputs);
  const std::size_t bytes = panels * panel_bytes(weight.panel->form, part_count(source.inputs));  // of one matrix
  PLM_TRY_ASSIGN(weight.panels, weight_memory_.take(source.count * bytes));
  team_.run([&](int member) {
    WeightSource one = source;
    for (std::size_t m = 0; m < source.count; ++m) {
      one.bytes = source.bytes.subspan(m * source.bytes.size() / source.count, source.bytes.size() / source.count);
      pack_panels(*weight.panel, one, share_of(panels, member, team_.size()), weight.panels.bytes.data() + m * bytes);
    }
  });
  return {};
}

const std::byte* CpuDevice::Uploads::take(std::span<const std::byte> from) {
  if (count == taken.size()) taken.emplace_back();
  taken[count].assign(from.begin(), from.end());
  return taken[count++].data();
}

void CpuDevice::upload(const View& to, std::span<const std::byte> from) {
  const std::size_t row_bytes = to.type->row_bytes(to.columns);
  PLM_CHECK(from.size() == to.rows * row_bytes);
  enqueue(MoveWork{.from = uploads_.take(from),
                   .from_stride = row_bytes,
                   .to = bytes_of(to),
                   .to_stride = to.row_stride,
                   .rows = to.rows,
                   .row_bytes = row_bytes,
                   .indices = {}},
          {writes(touched_by(to))});
}

void CpuDevice::download(const View& from, std::span<std::byte> to) {
  const std::size_t row_bytes = from.type->row_bytes(from.columns);
  PLM_CHECK(to.size() == from.rows * row_bytes);
  enqueue(MoveWork{.from = bytes_of(from),
                   .from_stride = from.row_stride,
                   .to = to.data(),
                   .to_stride = row_bytes,
                   .rows = from.rows,
                   .row_bytes = row_bytes,
                   .indices = {}},
          {reads(touched_by(from)), writes(to)});
}

void CpuDevice::copy(Storage& to, const Storage& from) {
  PLM_CHECK(to.size() == from.size());
  const std::span<const std::byte> source(bytes_of(from), from.size()), target(bytes_of(to), to.size());
  enqueue(MoveWork{.from = source.data(),
                   .from_stride = 0,
                   .to = bytes_of(to),
                   .to_stride = 0,
                   .rows = 1,
                   .row_bytes = to.size(),
                   .indices = {}},
          {reads(source), writes(target)});
}

void CpuDevice::copy(const View& to, const View& from) {
  PLM_CHECK(same_shape(to, from) && to.type == from.type);
  enqueue(MoveWork{.from = bytes_of(from),
                   .from_stride = from.row_stride,
                   .to = bytes_of(to),
                   .to_stride = to.row_stride,
                   .rows = to.rows,
                   .row_bytes = to.type->row_bytes(to.columns),
                   .indices = {}},
          {reads(touched_by(from)), writes(touched_by(to))});
}

void CpuDevice::gather_rows(const View& in, std::span<const std::uint32_t> indices, const View& out) {
  PLM_CHECK(in.type == out.type && in.columns == out.columns && indices.size() == out.rows);
  for (const std::uint32_t index : indices) PLM_CHECK(index < in.rows);
  enqueue(MoveWork{.from = bytes_of(in),
                   .from_stride = in.row_stride,
                   .to = bytes_of(out),
                   .to_stride = out.row_stride,
                   .rows = out.rows,
                   .row_bytes = in.type->row_bytes(in.columns),
                   .indices = indices},
          {reads(touched_by(in)), writes(touched_by(out))});
}

void CpuDevice::embed(const Weight& table, std::span<const std::int32_t> ids, const View& out, float factor) {
  PLM_CHECK(out.rows == ids.size() && out.columns == table.inputs);
  for (const std::int32_t id : ids) PLM_CHECK(id >= 0 && static_cast<std::size_t>(id) < table.outputs);
  enqueue(EmbedWork{&weight_of(table), ids, floats_of(out), factor}, {writes(floats_of(out))});
}

void CpuDevice::linear(const Weight& weight, const View& in, const View& out, const Weight* bias) {
  PLM_CHECK(in.columns == weight.inputs && out.columns == weight.outputs && in.rows == out.rows && weight.count == 1);
  const float* numbers = bias != nullptr ? vector_of(*bias, weight.outputs) : nullptr;
  const Floats from = floats_of(in), to = floats_of(out);
  if (!rounds_for(weight)) {
    return enqueue(LinearWork{&weight_of(weight), from, to, numbers}, {reads(from), writes(to)});
  }
  if (!round_or_fail(from)) return;
  enqueue(IntegerLinearWork{&weight_of(weight), rounded_.out, to, numbers},
          {reads(rounded_.memory.bytes()), writes(to)});
}

bool CpuDevice::rounds_for(const Weight& weight) const {
  return activations_ != Activations::f32 && weight.type->group_size != 0;
}

bool CpuDevice::round_or_fail(const Floats& in) {
  std::optional<Error> error = round(in);
  if (!error.has_value()) return true;
  failure_ = std::move(error);
  return false;
}

std::optional<Error> CpuDevice::round(const Floats& in) {
  const bool is_there = rounded_.in.data == in.data && rounded_.in.rows == in.rows &&
                        rounded_.in.columns == in.columns && rounded_.in.stride == in.stride;
  if (is_there) return std::nullopt;
  const std::size_t parts = part_count(in.columns);
  const std::size_t bytes = RoundedRows::bytes(in.rows, parts);
  if (bytes > rounded_.memory.size()) {
    auto memory = AlignedBuffer::allocate(bytes);
    if (!memory.has_value()) return memory.error();
    rounded_.outgrown.push_back(std::exchange(rounded_.memory, std::move(*memory)));
  }
  rounded_.out = RoundedRows::at(rounded_.memory.data(), most_level(activations_), in.rows, parts);
  enqueue(RoundWork{in, rounded_.out}, {reads(in), writes(rounded_.memory.bytes())});
  rounded_.in = in;
  return std::nullopt;
}

void CpuDevice::rms_norm(const View& in, const Weight& gain, float epsilon, const View& out) {
  PLM_CHECK(same_shape(in, out));
  const Floats from = floats_of(in), to = floats_of(out);
  enqueue(RmsNormWork{from, vector_of(gain, in.columns), epsilon, to}, {reads(from), writes(to)});
}

void CpuDevice::rope(const View& x, std::size_t head_dim, const View& angles, RopeLayout layout) {
  PLM_CHECK(angles.rows == x.rows && (x.columns % head_dim == 0 || x.columns % head_dim >= angles.columns));
  PLM_CHECK(angles.columns % 2 == 0 && angles.columns <= head_dim);
  enqueue(RopeWork{floats_of(x), head_dim, floats_of(angles), layout},
          {writes(floats_of(x)), reads(floats_of(angles))});
}

void CpuDevice::hadamard(const View& x, std::size_t block) {
  PLM_CHECK(std::has_single_bit(block) && x.columns % block == 0);
  enqueue(HadamardWork{floats_of(x), block}, {writes(floats_of(x))});
}

void CpuDevice::store_kv(const View& keys, const View& values, const RowTable& table, const KvPlace& place) {
  PLM_CHECK(place.latent_dim > 0 ? values.rows == 0 : same_shape(keys, values));
  PLM_CHECK(keys.columns == place.kv_heads * place.head_dim);
  check_table(table, place, keys.rows);
  enqueue(StoreKvWork{floats_of(keys), floats_of(values), table, place},
          {reads(floats_of(keys)), reads(floats_of(values)), writes(pages_of(table))});
}

void CpuDevice::attention(const View& queries, const RowTable& table, const KvPlace& place, ScoreRule rule,
                          const View& out) {
  PLM_CHECK(queries.rows == out.rows && queries.columns % (place.kv_heads * place.head_dim) == 0);
  PLM_CHECK(out.columns / place.value_dim() == queries.columns / place.head_dim);
  PLM_CHECK(out.columns % place.value_dim() == 0 && place.value_dim() <= place.head_dim);
  check_table(table, place, queries.rows);
  PLM_CHECK(queries.rows == 0 || bytes_of(queries) != bytes_of(out));  // sums are gathered in `out`
  const float* sinks = rule.sinks != nullptr ? vector_of(*rule.sinks, queries.columns / place.head_dim) : nullptr;
  AttentionWork work{floats_of(queries), table, place, rule, sinks, floats_of(out)};
  cut_attention(work, team_.size());
  if (work.page_count == 0) return enqueue(work, {reads(work.queries), reads(pages_of(table)), writes(work.out)});
  const std::span<const std::byte> sums = std::as_bytes(std::span(&page_sums_, 1));  // its contents may yet move
  work.part = AttentionWork::Part::pages;
  work.page_sums = &page_sums_;
  page_sums_.resize(std::max(page_sums_.size(), work.page_sums_size()));
  enqueue(work, {reads(work.queries), reads(pages_of(table)), writes(sums)});
  work.part = AttentionWork::Part::total;
  enqueue(work, {reads(sums), writes(work.out)});
}

void CpuDevice::gate_multiply(const View& gate, const View& up, Activation activation, const View& out) {
  PLM_CHECK(same_shape(gate, up) && same_shape(gate, out));
  enqueue(GateWork{floats_of(gate), floats_of(up), activation, floats_of(out)},
          {reads(floats_of(gate)), reads(floats_of(up)), writes(floats_of(out))});
}

void CpuDevice::soft_cap(const View& x, float cap) {
  PLM_CHECK(cap > 0);
  enqueue(SoftCapWork{floats_of(x), cap}, {writes(floats_of(x))});
}

void CpuDevice::add(const View& x, const View& y) {
  PLM_CHECK(same_shape(x, y));
  enqueue(AddWork{floats_of(x), floats_of(y)}, {writes(floats_of(x)), reads(floats_of(y))});
}

void CpuDevice::layer_norm(const View& in, const Weight& gain, const Weight* bias, float epsilon, const View& out) {
  PLM_CHECK(same_shape(in, out));
  const Floats from = floats_of(in), to = floats_of(out);
  const float* numbers = bias != nullptr ? vector_of(*bias, in.columns) : nullptr;
  enqueue(LayerNormWork{from, vector_of(gain, in.columns), numbers, epsilon, to}, {reads(from), writes(to)});
}

void CpuDevice::apply(const View& x, Curve curve) { enqueue(CurveWork{floats_of(x), curve}, {writes(floats_of(x))}); }

void CpuDevice::scale(const View& x, float factor) { enqueue(ScaleWork{floats_of(x), factor}, {writes(floats_of(x))}); }

void CpuDevice::all_reduce(const View&) {}  // one device: the sum is already complete

void CpuDevice::statistics(const View& logits, std::span<RowStatistics> statistics) {
  PLM_CHECK(statistics.size() == logits.rows);
  enqueue(StatisticsWork{floats_of(logits), statistics.data()},
          {reads(floats_of(logits)), writes(std::as_bytes(statistics))});
}

void CpuDevice::top_n(const View& logits, std::size_t n, std::span<TokenScore> top) {
  PLM_CHECK(n <= logits.columns && top.size() == logits.rows * n);
  enqueue(TopNWork{floats_of(logits), n, top.data()}, {reads(floats_of(logits)), writes(std::as_bytes(top))});
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
  void operator()(const HeadLinearWork& work) const { multiply_heads(kernels, work, share(work)); }
  void operator()(const RoundWork& work) const { kernels.round(work, share(work)); }
  void operator()(const IntegerLinearWork& work) const { kernels.integer_linear(work, share(work)); }
  void operator()(const RmsNormWork& work) const { kernels.rms_norm(work, share(work)); }
  void operator()(const RopeWork& work) const { kernels.rope(work, share(work)); }
  void operator()(const HadamardWork& work) const { kernels.hadamard(work, share(work)); }
  void operator()(const StoreKvWork& work) const { kernels.store_kv(work, share(work)); }
  void operator()(const AttentionWork& work) const { kernels.attention(work, share(work)); }
  void operator()(const GateWork& work) const { kernels.gate_multiply(work, share(work)); }
  void operator()(const SoftCapWork& work) const { kernels.soft_cap(work, share(work)); }
  void operator()(const AddWork& work) const { kernels.add(work, share(work)); }
  void operator()(const LayerNormWork& work) const { kernels.layer_norm(work, share(work)); }
  void operator()(const CurveWork& work) const { kernels.apply(work, share(work)); }
  void operator()(const ScaleWork& work) const { kernels.scale(work, share(work)); }
  void operator()(const ConvWork& work) const { kernels.causal_conv(work, share(work)); }
  void operator()(const StateSpaceWork& work) const { kernels.state_space_scan(work, share(work)); }
  void operator()(const DeltaRuleWork& work) const { kernels.delta_rule_scan(work, share(work)); }
  void operator()(const StatisticsWork& work) const { kernels.statistics(work, share(work)); }
  void operator()(const TopNWork& work) const { kernels.top_n(work, share(work)); }
  void operator()(const RouteWork& work) const { kernels.route(work, share(work)); }
  void operator()(const ExpertListWork& work) const {
    if (member == 0) work.lists->fill(work.routing, work.experts);
  }
  void operator()(const ExpertRowsWork& work) const { copy_expert_rows(work, share(work)); }
  void operator()(const ExpertLinearWork& work) const { multiply_experts(kernels, work, member, members); }
  void operator()(const ExpertSumWork& work) const { kernels.sum_experts(work, share(work)); }
  void operator()(const AddGatedWork& work) const { kernels.add_gated(work, share(work)); }

  template <typename Any>
  [[nodiscard]] Share share(const Any& work) const {
    return share_of(work.units(), member, members, Any::kGrain);
  }
};

}  // namespace

Result<void> CpuDevice::wait() {
  const std::optional<Error> failure = std::exchange(failure_, std::nullopt);
  if (!failure.has_value() && !steps_.empty()) {
    team_.run([this](int member) {
      for (const Step& step : steps_) {
        if (step.waits) team_.barrier();
        std::visit(Runner{kernels_, member, team_.size()}, step.work);
      }
    });
  }
  steps_.clear();
  order_.clear();
  uploads_.count = 0;
  rounded_.in = {};
  rounded_.outgrown.clear();
  if (failure.has_value()) return tl::unexpected<Error>(*failure);
  return {};
}

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options) { return std::make_unique<CpuDevice>(options); }

}  // namespace plm
