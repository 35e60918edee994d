// The numbers of a tensor in a Hugging Face folder: as they lie there, or, of matrices in eight-bit floats with a scale
// for each block of rows and columns (DeepSeek-V3, arXiv 2412.19437; the -FP8 checkpoints of Qwen3), as bfloat16, which
// is what their makers expand them to. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/huggingface_folder.h"

namespace plm {

/// What quantization_config calls such checkpoints.
inline constexpr std::string_view kFp8Method = "fp8";
inline constexpr std::string_view kFp8Scales = "_scale_inv";  ///< behind the name of the matrix

/// The type of the numbers that PlainNumbers gives.
[[nodiscard]] inline SafetensorsDtype plain_dtype(const FolderTensor& tensor) {
  return tensor.entry->dtype == SafetensorsDtype::f8_e4m3 ? SafetensorsDtype::bf16 : tensor.entry->dtype;
}

/// Error (bad_input): a matrix of eight-bit floats without scales that fit it, or of blocks of no known size.
[[nodiscard]] Result<void> check_plain_numbers(const HuggingFaceFolder& folder, const FolderTensor& tensor);

/// Lives as long as the numbers are needed; gives mapped memory back to the system in the end.
class PlainNumbers {
 public:
  /// `tensor` has passed the check.
  PlainNumbers(const HuggingFaceFolder& folder, const FolderTensor& tensor);
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;
  ~PlainNumbers();

  /// Of type plain_dtype(tensor), rows one after another.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return expanded_.empty() ? tensor_.entry->bytes : std::as_bytes(std::span(expanded_));
  }

 private:
  void expand(const FolderTensor& scales);

  const HuggingFaceFolder& folder_;
  const FolderTensor& tensor_;
  std::vector<std::uint16_t> expanded_;
};

}  // namespace plm
