// plm inspect: what a model file says, without loading it. Tested by tests/cli/test_plm.py.
#include <map>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"
#include "model/checkpoint.h"
#include "model/parameter_counts.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "json",
     .summary = "one JSON object, with nothing cut short",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "all", .summary = "long texts and arrays in full", .type = ParameterType::boolean, .tag = Tag::pipe},
    kModelFlag,
};
constexpr Argument kArguments[] = {kModelArgument};
constexpr std::size_t kShownElements = 6;
constexpr std::size_t kShownBytes = 34;

Json scalar_json(const MetaValue& value) {
  if (const auto text = value.as_string()) return std::string(*text);
  if (const auto truth = value.as_boolean()) return *truth;
  if (const auto whole = value.as_integer()) return *whole;
  if (const auto large = value.as_unsigned()) return *large;
  if (const auto real = value.as_real()) return *real;
  return nullptr;
}

// The first `most` elements; 0: all.
template <typename Elements>
Json first_elements(const Elements& elements, std::size_t most) {
  Json list = Json::array();
  for (const auto& element : elements) {
    if (most > 0 && list.size() == most) break;
    list.push_back(element);
  }
  return list;
}

Json value_json(const MetaValue& value, std::size_t most) {
  if (!value.is_array()) return scalar_json(value);
  Json list = Json::array();
  if (const auto strings = value.as_strings()) list = first_elements(*strings, most);
  if (const auto reals = value.as_reals()) list = first_elements(*reals, most);
  if (const auto whole = value.as_integers()) list = first_elements(*whole, most);
  return list;
}

struct Totals {
  std::uint64_t tensors = 0, numbers = 0, bytes = 0;
};

std::map<std::string, Totals> totals_by_type(const GgufFile& file) {
  std::map<std::string, Totals> totals;
  for (const TensorEntry& tensor : file.tensors()) {
    Totals& total = totals[std::string(tensor.type->name)];
    ++total.tensors;
    total.numbers += tensor.element_count();
    total.bytes += tensor.byte_count();
  }
  return totals;
}

Totals sum_of(const std::map<std::string, Totals>& totals) {
  Totals sum;
  for (const auto& [name, total] : totals) {
    sum.tensors += total.tensors;
    sum.numbers += total.numbers;
    sum.bytes += total.bytes;
  }
  return sum;
}

Json as_json(const GgufFile& file) {
  Json metadata = Json::object();
  for (const MetaEntry& entry : file.metadata()) {
    metadata[std::string(entry.key)] = value_json(entry.value, 0);
  }
  Json tensors = Json::array();
  for (const TensorEntry& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"type", tensor.type->name}, {"bytes", tensor.byte_count()}});
    tensors.back()["shape"] = std::vector<std::uint64_t>(tensor.shape().begin(), tensor.shape().end());
  }
  Json types = Json::object();
  const auto totals = totals_by_type(file);
  for (const auto& [name, total] : totals) {
    types[name] = {{"tensors", total.tensors}, {"parameters", total.numbers}, {"bytes", total.bytes}};
  }
  const Totals sum = sum_of(totals);
  const ParameterCounts counts = count_parameters(file);
  return {{"file", file.path()},
          {"version", file.parts().front().version},
          {"parameters", sum.numbers},
          {"active_parameters", counts.active},
          {"experts", counts.experts},
          {"used_experts", counts.used_experts},
          {"tensor_bytes", sum.bytes},
          {"storage_types", types},
          {"metadata", metadata},
          {"tensors", tensors},
          {"warnings", std::vector<std::string>(file.warnings().begin(), file.warnings().end())}};
}

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string metadata_line(const MetaEntry& entry, bool whole) {
  std::string value = json_text(value_json(entry.value, whole ? 0 : kShownElements));
  if (entry.value.is_array()) {
    const bool is_cut = !whole && entry.value.count() > kShownElements;
    if (is_cut) value.replace(value.size() - 1, 1, ",...]");
    value = fmt::format("array of {}: {}", entry.value.count(), value);
  }
  return fmt::format("  {:<38} {}\n", printable(entry.key), printable(value, whole ? value.size() * 8 : kShownBytes));
}

std::string as_text(const GgufFile& file, bool whole) {
  const auto totals = totals_by_type(file);
  const Totals sum = sum_of(totals);
  std::string text = fmt::format("{}\nGGUF version {}, {} parameters in {} tensors, {:.1f} MiB of weights\n",
                                 printable(file.path()), file.parts().front().version, grouped(sum.numbers),
                                 sum.tensors, static_cast<double>(sum.bytes) / (1 << 20));
  const ParameterCounts counts = count_parameters(file);
  if (counts.experts > 0) {
    text += fmt::format("{} of them active for a token: {} of {} experts a layer are used\n", grouped(counts.active),
                        counts.used_experts, counts.experts);
  }
  text += fmt::format("\nstorage{:>11}{:>19}{:>19}\n", "tensors", "parameters", "bytes");
  for (const auto& [name, total] : totals) {
    text +=
        fmt::format("  {:<8}{:>8}{:>19}{:>19}\n", name, total.tensors, grouped(total.numbers), grouped(total.bytes));
  }
  text += "\nmetadata\n";
  for (const MetaEntry& entry : file.metadata()) text += metadata_line(entry, whole);
  text += "\ntensors\n";
  for (const TensorEntry& tensor : file.tensors()) {
    text += fmt::format("  {:<38} {:<6} [{}]\n", printable(tensor.name), tensor.type->name,
                        fmt::join(tensor.shape(), ", "));
  }
  return text;
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto file, open_checkpoint(path, CheckpointUse::inspection));
  for (const std::string& sentence : file->warnings()) call.terminal.warning(sentence);
  const bool as_one_object = call.settings.boolean("json");
  call.terminal.data(as_one_object ? json_text(as_json(*file)) + "\n" : as_text(*file, call.settings.boolean("all")));
  return 0;
}

}  // namespace

extern constinit const Command command_inspect = {
    .head = {.name = "inspect",
             .summary = "shows a model file's metadata, tensors and storage",
             .source = "GGUF specification",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
