// The sketch of a network from the header of its file: tensor names and shapes say what each layer is, keys the rest.
// Nothing is loaded, and no architecture has to be known; what the names do not tell is not counted.
// Tested by tests/plan/test_gguf_sketch.cpp.
#pragma once

#include <string>
#include <vector>

#include "format/gguf.h"
#include "plan/model_sketch.h"
#include "plan/parameter_counting.h"

namespace plm {

/// The key ARCHITECTURE.NAME of a file, or of every layer where the file has a list; 0 where it has neither.
class SizeKeys {
 public:
  explicit SizeKeys(const GgufFile& file);
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise = 0) const;
  [[nodiscard]] std::uint64_t of_layer(std::string_view name, std::size_t layer, std::uint64_t otherwise = 0) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const MetaValue* find(std::string_view name) const;
  [[nodiscard]] const std::string& family() const { return family_; }

 private:
  const GgufFile& file_;
  std::string family_;
};

/// Errors (bad_input): no architecture, no layers, or sizes beyond SketchLimits.
[[nodiscard]] Result<ModelSketch> sketch_of(const GgufFile& file);

/// By the tensor table, exactly. Experts are told by the names of their tensors.
[[nodiscard]] CountedParameters count_tensors(const GgufFile& file);

/// Tensors of one storage type.
struct TypeShare {
  std::string_view type;
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};
/// The largest share first.
[[nodiscard]] std::vector<TypeShare> type_shares(const GgufFile& file);

}  // namespace plm
