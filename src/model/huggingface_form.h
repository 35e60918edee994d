// What an architecture says about its checkpoints in Hugging Face's layout: which classes of config.json are its own,
// which setting becomes which key of GGUF, which tensor takes which name there. The tables stand in arch_<name>.cpp,
// beside the network that reads the result; model/checkpoint.cpp applies them. What a table cannot say is done by
// `complete`. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/config_reader.h"
#include "format/gguf_writer.h"

namespace plm {

/// A class of the transformers library and the model_type that goes with it.
struct CheckpointClass {
  std::string_view name;        ///< in "architectures": "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  /// Gives scores instead of text: it has no head over the vocabulary, and tensors of a head of its own, which GGUF
  /// calls "cls". Other classes of the family may store such tensors as well, and do not use them.
  bool scores = false;
};

enum class SettingKind : std::uint8_t { integer, real };

/// A setting that becomes a key, its value unchanged.
struct SettingRule {
  std::string_view from;  ///< in config.json
  std::string_view to;    ///< without the architecture's prefix: "block_count"
  SettingKind kind = SettingKind::integer;
  bool required = true;
  double min = 1;  ///< of integers, inclusive; reals are above 0
  double max = 1U << 20;
};

/// What becomes of every number of a tensor; but for `none` the result is float32. (Some families store gains of norms
/// less one.)
enum class NumberChange : std::uint8_t { none, to_float, plus_one, minus_exp };

/// Which rows of its source a tensor consists of, and factors on them. The source's dimensions but the last make rows.
struct RowMap {
  std::vector<std::uint32_t> source = {};  ///< for each row, the row that it is; empty: all, in their order
  std::vector<float> factors = {};         ///< one for each row, or one for all; empty: none
};

/// For TensorRule::folded: a matrix of one column.
inline constexpr std::string_view kOneColumn = "1";

/// A part of a tensor, in another order: number i of row o of matrix m is the one at
/// first + m * matrix_step + o * row_step + i * step of the tensor in the folder.
struct TensorCut {
  std::vector<std::uint64_t> dims;  ///< of what is written, dims[0] varies fastest
  std::uint64_t first = 0;
  std::uint64_t step = 1;
  std::uint64_t row_step = 0;
  std::uint64_t matrix_step = 0;
};

/// A tensor that takes another name. "{}" in both names stands for the number of a layer, a second one in `from` for
/// that of an expert: the tensors of all experts are put behind one another.
struct TensorRule {
  std::string_view from;
  std::string_view to;
  /// Not empty: the rows of each head stand in halves and are brought into pairs, as rotary positions in GGUF's llama
  /// want them. The setting that counts the heads.
  std::string_view heads = {};
  NumberChange numbers = NumberChange::none;
  /// Where rows move, are left out or get factors. Several rules may take rows of one tensor. Errors name the setting.
  Result<RowMap> (*rows)(const ConfigReader& config, std::size_t count) = nullptr;
  /// Of a vector that becomes a matrix: the setting that says how many rows it is folded to, or kOneColumn.
  std::string_view folded = {};
  bool is_float32 = false;  ///< stored so whatever it was, as tensors of one dimension always are
  /// The tensor holds codes of MXFP4, [matrices, rows, blocks, 16 bytes], and one of the same name with "_scales" for
  /// "_blocks" their scales. `cut` counts numbers, 32 a block, and takes whole rows.
  bool is_mxfp4 = false;
  /// Not null: what is taken of a tensor of this shape [outermost first]. Errors name the setting.
  Result<TensorCut> (*cut)(const ConfigReader& config, std::span<const std::uint64_t> shape) = nullptr;
  /// Not null: whether the rule counts for this checkpoint.
  bool (*applies)(const ConfigReader& config) = nullptr;
};

/// The file that a folder is becoming, for what the tables cannot say.
struct CheckpointDraft {
  const ConfigReader& config;
  std::string_view architecture;  ///< prefix of its keys
  const CheckpointClass& kind;
  GgufWriter& keys;

  /// A tensor that no file holds, or one that is not the folder's own; float32.
  struct Extra {
    std::string name;
    std::vector<float> values;
    std::vector<std::uint64_t> dims = {};  ///< dims[0] varies fastest; empty: a vector
  };
  std::vector<Extra> extra = {};
  /// Rows at the beginning of a tensor, by its new name, that are left out.
  std::map<std::string, std::size_t, std::less<>> skipped_rows = {};

  [[nodiscard]] std::string key(std::string_view name) const { return fmt::format("{}.{}", architecture, name); }
};

/// Two tables as one.
template <typename Rule, std::size_t A, std::size_t B>
[[nodiscard]] constexpr std::array<Rule, A + B> joined(const std::array<Rule, A>& a, const std::array<Rule, B>& b) {
  std::array<Rule, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

struct HuggingFaceForm {
  std::span<const CheckpointClass> classes;
  std::span<const SettingRule> settings;
  std::span<const TensorRule> tensors;      ///< in the order in which they are written, layer after layer
  std::span<const TensorRule> shared = {};  ///< likewise, behind these, for what they do not name
  /// What may stand in front of all names or be left out: "model." where a checkpoint holds the inner network alone.
  std::span<const std::string_view> prefixes = {};
  /// Tensors that may be missing when the embedding is tied to the head: these are ignored then, and demanded else.
  std::string_view head = {};
  bool tied_by_default = false;
  std::string_view quant_method = {};  ///< of quantised checkpoints that the rules can read; empty: none
  /// Adds keys and tensors, refuses what the network does not do. Errors name the setting.
  Result<void> (*complete)(CheckpointDraft& draft) = nullptr;
};

}  // namespace plm
