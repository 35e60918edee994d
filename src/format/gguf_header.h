// The part of a GGUF file before its tensor data: magic, version, counts, metadata, tensor table.
//
// `parse_gguf_header` checks each field alone and against the bytes that are left; where the tensors lie is checked by
// gguf_layout. Private to this room: callers see GgufFile. Tested by tests/format/test_gguf_header.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"

namespace plm {

/// Where a tensor says its bytes are, from the start of the tensor data. `size` follows from shape and type.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;  // bytes; the format's default
  std::vector<MetaEntry> metadata;
  NameIndex<MetaEntry, &MetaEntry::key> metadata_index;
  std::vector<TensorEntry> tensors;  // `bytes` and `part` are not set yet
  std::vector<ByteRange> ranges;     // one a tensor
  std::uint64_t size = 0;            // bytes up to the end of the tensor table
};

/// Sentences about what is odd but usable. A file cannot make the list long.
class GgufWarnings {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (sentences_.size() < kMost) sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] std::span<const std::string> sentences() const { return sentences_; }

 private:
  static constexpr std::size_t kMost = 20;
  std::vector<std::string> sentences_;
};

/// Errors (bad_input) name the field; the caller adds the file.
Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes, const GgufLimits& limits,
                                     GgufWarnings& warnings);

}  // namespace plm
