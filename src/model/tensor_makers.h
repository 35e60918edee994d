// How tensors of a Hugging Face folder become those of a GGUF file where bytes must move: rows in another order, parts
// in another order, experts behind one another, MXFP4's codes beside their scales. Each is a TensorMaker: it fills the
// bytes of one tensor when they are read. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "format/huggingface_folder.h"
#include "model/huggingface_form.h"
#include "model/plain_numbers.h"

namespace plm {

/// How the rows of a tensor change on their way.
struct RowChange {
  std::size_t skipped = 0;  // rows left out at the beginning
  std::size_t heads = 0;    // whose rows are brought from halves to pairs; 0: rows stay in their order
  bool to_float = false;

  [[nodiscard]] bool is_none() const { return skipped == 0 && heads == 0 && !to_float; }
};

/// Makes a tensor from the rows of another.
class RowMaker {
 public:
  RowMaker(std::shared_ptr<const HuggingFaceFolder> folder, const FolderTensor& tensor, std::size_t rows,
           const RowChange& change)
      : folder_(std::move(folder)), tensor_(tensor), rows_(rows), change_(change) {}

  void operator()(std::span<std::byte> out) const {
    const PlainNumbers numbers(*folder_, tensor_);
    const std::span<const std::byte> in = numbers.bytes();
    const std::size_t count = rows_ - change_.skipped;
    const std::size_t in_bytes = in.size() / rows_, out_bytes = out.size() / count;
    for (std::size_t row = 0; row < count; ++row) {
      const auto source = in.subspan((change_.skipped + source_row(row)) * in_bytes, in_bytes);
      put(source, out.subspan(row * out_bytes, out_bytes));
    }
  }

 private:
  // Row 2i + h of a head comes from row i of its half h.
  [[nodiscard]] std::size_t source_row(std::size_t row) const {
    if (change_.heads == 0) return row;
    const std::size_t size = rows_ / change_.heads, head = row / size, within = row % size;
    return head * size + within % 2 * (size / 2) + within / 2;
  }

  void put(std::span<const std::byte> from, std::span<std::byte> to) const {
    if (!change_.to_float) {
      std::memcpy(to.data(), from.data(), to.size());
      return;
    }
    for (std::size_t i = 0; i < to.size() / sizeof(float); ++i) {
      const float value = safetensors_float(plain_dtype(tensor_), from, i);
      std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
    }
  }

  std::shared_ptr<const HuggingFaceFolder> folder_;
  FolderTensor tensor_;
  std::size_t rows_;
  RowChange change_;
};

/// Makes a tensor from some of the numbers of another (TensorCut).
class CutMaker {
 public:
  CutMaker(std::shared_ptr<const HuggingFaceFolder> folder, const FolderTensor& tensor, TensorCut cut, bool to_float)
      : folder_(std::move(folder)), tensor_(tensor), cut_(std::move(cut)), to_float_(to_float) {}

  void operator()(std::span<std::byte> out) const {
    const PlainNumbers numbers(*folder_, tensor_);
    const std::span<const std::byte> in = numbers.bytes();
    const std::size_t in_bytes = plain_dtype(tensor_) == SafetensorsDtype::f32 ? 4 : 2;
    const std::size_t out_bytes = to_float_ ? sizeof(float) : in_bytes;
    const auto dim = [&](std::size_t i) { return i < cut_.dims.size() ? cut_.dims[i] : 1; };
    std::byte* to = out.data();
    for (std::uint64_t m = 0; m < dim(2); ++m) {
      for (std::uint64_t o = 0; o < dim(1); ++o) {
        const std::uint64_t row = cut_.first + m * cut_.matrix_step + o * cut_.row_step;
        for (std::uint64_t i = 0; i < dim(0); ++i, to += out_bytes) {
          const std::uint64_t at = row + i * cut_.step;
          if (to_float_) {
            const float value = safetensors_float(plain_dtype(tensor_), in, at);
            std::memcpy(to, &value, sizeof value);
          } else {
            std::memcpy(to, in.data() + at * in_bytes, in_bytes);
          }
        }
      }
    }
  }

 private:
  std::shared_ptr<const HuggingFaceFolder> folder_;
  FolderTensor tensor_;
  TensorCut cut_;
  bool to_float_;
};

inline constexpr std::size_t kBlockNumbers = 32, kCodeBytes = 16;  // of MXFP4

/// Puts scales and codes together as GGUF has them: there a byte holds numbers i and i + 16 of a block, here 2i and 2i
/// + 1.
class Mxfp4Maker {
 public:
  Mxfp4Maker(std::shared_ptr<const HuggingFaceFolder> folder, const FolderTensor& codes, const FolderTensor& scales,
             TensorCut cut)
      : folder_(std::move(folder)), codes_(codes), scales_(scales), cut_(std::move(cut)) {}

  void operator()(std::span<std::byte> out) const {
    std::byte* to = out.data();
    for (std::uint64_t m = 0; m < cut_.dims[2]; ++m) {
      for (std::uint64_t o = 0; o < cut_.dims[1]; ++o) {
        const std::uint64_t block = (cut_.first + m * cut_.matrix_step + o * cut_.row_step) / kBlockNumbers;
        for (std::uint64_t b = 0; b < cut_.dims[0] / kBlockNumbers; ++b, to += 1 + kCodeBytes) put_block(block + b, to);
      }
    }
    for (const FolderTensor* tensor : {&codes_, &scales_}) {
      if (const auto& map = folder_->shards()[tensor->shard]->mapped()) map->release(tensor->entry->bytes);
    }
  }

 private:
  void put_block(std::uint64_t block, std::byte* to) const {
    const std::byte* codes = codes_.entry->bytes.data() + block * kCodeBytes;
    to[0] = scales_.entry->bytes[block];
    const auto code = [&](std::size_t i) { return (codes[i / 2] >> (i % 2 * 4)) & std::byte{15}; };
    for (std::size_t i = 0; i < kCodeBytes; ++i) to[1 + i] = code(i) | code(i + kCodeBytes) << 4;
  }

  std::shared_ptr<const HuggingFaceFolder> folder_;
  FolderTensor codes_, scales_;
  TensorCut cut_;
};

/// Puts the tensors of all experts behind one another.
class StackMaker {
 public:
  StackMaker(std::shared_ptr<const HuggingFaceFolder> folder, std::vector<const FolderTensor*> tensors)
      : folder_(std::move(folder)), tensors_(std::move(tensors)) {}

  void operator()(std::span<std::byte> out) const {
    std::byte* to = out.data();
    for (const FolderTensor* tensor : tensors_) {
      const PlainNumbers numbers(*folder_, *tensor);
      std::memcpy(to, numbers.bytes().data(), numbers.bytes().size());
      to += numbers.bytes().size();
    }
  }

 private:
  std::shared_ptr<const HuggingFaceFolder> folder_;  // has the tensors
  std::vector<const FolderTensor*> tensors_;
};

}  // namespace plm
