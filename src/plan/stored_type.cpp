#include "plan/stored_type.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "format/ggml_type.h"

namespace plm {
namespace {

// Types of other files, and of GGUF files that this version does not open.
constexpr StoredType kOthers[] = {{"f8_e4m3", 1, 1}, {"q2_0", 64, 18}};

struct OtherName {
  std::string_view name, type;
};
constexpr OtherName kOtherNames[] = {{"fp32", "f32"},      {"float32", "f32"}, {"fp16", "f16"},   {"float16", "f16"},
                                     {"bfloat16", "bf16"}, {"fp8", "f8_e4m3"}, {"f8", "f8_e4m3"}, {"int8", "i8"}};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

std::vector<StoredType> make_types() {
  // Names in lower case live as long as the program.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const GgmlType& type : ggml_types()) list.push_back(lower(type.name));
    return list;
  }();
  std::vector<StoredType> types;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const GgmlType& type = ggml_types()[i];
    types.push_back({names[i], type.block_elements, type.block_bytes});
  }
  types.insert(types.end(), std::begin(kOthers), std::end(kOthers));
  return types;
}

}  // namespace

Result<StoredType> find_stored_type(std::string_view name) {
  static const std::vector<StoredType> types = make_types();
  std::string wanted = lower(name);
  const auto* other = std::ranges::find(kOtherNames, wanted, &OtherName::name);
  if (other != std::end(kOtherNames)) wanted = other->type;
  const auto found = std::ranges::find(types, wanted, &StoredType::name);
  if (found != types.end()) return *found;
  std::string known;
  for (const StoredType& type : types) known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
  return fail(ErrorKind::usage, "storage type: \"{}\" is not known; there are {}", printable(name, 40), known);
}

Result<std::uint64_t> stored_bytes(const StoredType& type, std::uint64_t numbers) {
  if (numbers % type.block_numbers == 0) return numbers / type.block_numbers * type.block_bytes;
  return fail(ErrorKind::usage, "{}: stores blocks of {} numbers, which do not divide a row of {}; choose another type",
              type.name, type.block_numbers, numbers);
}

}  // namespace plm
