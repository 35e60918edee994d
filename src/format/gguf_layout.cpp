#include "format/gguf_layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/utf8.h"

namespace plm {
namespace {

bool is_all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0}; });
}

class Layout {
 public:
  Layout(std::span<const std::byte> bytes, GgufHeader& header, GgufWarnings& warnings)
      : bytes_(bytes), header_(header), warnings_(warnings) {}

  Result<void> place();

 private:
  [[nodiscard]] std::string name(std::uint32_t i) const { return printable(header_.tensors[i].name); }
  [[nodiscard]] std::uint64_t begin(std::uint32_t i) const { return data_begin_ + header_.ranges[i].offset; }
  [[nodiscard]] std::uint64_t end(std::uint32_t i) const { return begin(i) + header_.ranges[i].size; }
  // First byte after the padding of something that ends at `at`; may lie past the end of the file.
  [[nodiscard]] std::uint64_t padded(std::uint64_t at) const { return *checked_round_up(at, header_.alignment); }

  Result<void> place_one(std::uint32_t i);
  Result<void> check_neighbours();
  Result<void> check_ends();
  [[nodiscard]] bool is_zero_between(std::uint64_t first, std::uint64_t last) const;
  void look_for_missing_data();

  std::span<const std::byte> bytes_;
  GgufHeader& header_;
  GgufWarnings& warnings_;
  std::uint64_t data_begin_ = 0;
  std::vector<std::uint32_t> order_;  // tensors by the place of their data
  bool has_dirty_padding_ = false;
};

// Of the range, what the file has.
bool Layout::is_zero_between(std::uint64_t first, std::uint64_t last) const {
  const std::uint64_t size = bytes_.size();
  first = std::min(first, size);
  return is_all_zero(bytes_.subspan(first, std::min(last, size) - first));
}

Result<void> Layout::place() {
  data_begin_ = padded(header_.size);
  const auto count = static_cast<std::uint32_t>(header_.tensors.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (auto placed = place_one(i); !placed) {
      return tl::unexpected(placed.error().within(fmt::format("tensor {}", name(i))));
    }
  }
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::sort(order_, {}, [this](std::uint32_t i) { return header_.ranges[i].offset; });
  PLM_TRY(check_neighbours());
  PLM_TRY(check_ends());
  if (has_dirty_padding_) warnings_.add("padding: some bytes between the tensors are not zero");
  if (!std::ranges::is_sorted(order_)) {
    warnings_.add("tensor offsets: the data are stored in another order than the tensor table lists them");
  }
  look_for_missing_data();
  return {};
}

Result<void> Layout::place_one(std::uint32_t i) {
  const auto [offset, size] = header_.ranges[i];
  if (offset % header_.alignment != 0) {
    return fail(ErrorKind::bad_input, "offset {} is not a multiple of the alignment, {}", offset, header_.alignment);
  }
  const std::uint64_t data_bytes = bytes_.size() - std::min<std::uint64_t>(data_begin_, bytes_.size());
  if (offset > data_bytes || size > data_bytes - offset) {
    return fail(ErrorKind::bad_input,
                "{} bytes at offset {} pass the end of the {} bytes of data in the file; it is truncated or damaged, "
                "download it again",
                size, offset, data_bytes);
  }
  header_.tensors[i].bytes = bytes_.subspan(data_begin_ + offset, size);
  return {};
}

Result<void> Layout::check_neighbours() {
  std::uint64_t free_from = data_begin_;  // where the next tensor should begin
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::uint32_t i = order_[k];
    if (k > 0 && begin(i) < end(order_[k - 1])) {
      return fail(ErrorKind::bad_input,
                  "tensor {}: offset {} lies inside tensor {}; the file is damaged, download it again", name(i),
                  header_.ranges[i].offset, name(order_[k - 1]));
    }
    if (begin(i) > free_from) {
      warnings_.add("tensor {}: a hole of {} bytes lies before its data", name(i), begin(i) - free_from);
    }
    free_from = padded(end(i));
    if (!is_zero_between(end(i), free_from)) has_dirty_padding_ = true;
  }
  return {};
}

// What lies between the tensor table and the data, and after the last tensor.
Result<void> Layout::check_ends() {
  const std::uint64_t data_end = order_.empty() ? data_begin_ : padded(end(order_.back()));
  const bool is_followed = bytes_.size() > data_end;
  const bool is_table_followed = !is_zero_between(header_.size, data_begin_);
  // A table longer than its count says goes on in the padding, and the data of its last tensors follow all others.
  if (is_followed && is_table_followed) {
    return fail(
        ErrorKind::bad_input,
        "n_tensors: is {}, but the tensor table goes on and {} bytes of data belong to no tensor; the file is damaged",
        order_.size(), bytes_.size() - data_end);
  }
  if (is_table_followed) has_dirty_padding_ = true;
  if (is_followed) {
    warnings_.add("file size: {} bytes after the last tensor belong to nothing", bytes_.size() - data_end);
  } else if (bytes_.size() < data_end) {
    warnings_.add("tensor data: the last {} bytes of padding are missing", data_end - bytes_.size());
  }
  return {};
}

// A download that reserved its space and stopped leaves zeros. A weight matrix has none in a row, so a few places of a
// few matrices tell, the last one above all; reading more would cost disk time on every start.
void Layout::look_for_missing_data() {
  constexpr std::size_t kMatrices = 16;
  constexpr std::size_t kProbeBytes = 256;
  std::vector<std::uint32_t> matrices;
  std::ranges::copy_if(order_, std::back_inserter(matrices), [this](std::uint32_t i) {
    return header_.tensors[i].rank >= 2 && header_.tensors[i].bytes.size() >= kProbeBytes;
  });
  const std::size_t probes = std::min(kMatrices, matrices.size());
  for (std::size_t k = 1; k <= probes; ++k) {
    const std::uint32_t i = matrices[k * matrices.size() / probes - 1];
    const auto data = header_.tensors[i].bytes;
    const auto middle = data.subspan(data.size() / 2, std::min(kProbeBytes, data.size() - data.size() / 2));
    if (is_all_zero(middle) && is_all_zero(data.first(kProbeBytes)) && is_all_zero(data.last(kProbeBytes))) {
      warnings_.add(
          "tensor {}: its data are all zero where looked at; if the file was downloaded, it may be incomplete",
          name(i));
      return;
    }
  }
}

}  // namespace

Result<void> place_tensors(std::span<const std::byte> bytes, GgufHeader& header, GgufWarnings& warnings) {
  return Layout(bytes, header, warnings).place();
}

}  // namespace plm
