#include "model/diffusion_traits.h"

#include <limits>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::string_view kMaskKeys[] = {"diffusion.mask_token_id", "tokenizer.ggml.mask_token_id"};

bool has_key(const GgufFile& file, std::string_view key) { return file.find(key) != nullptr; }

Result<void> read_flag(const GgufFile& file, std::string_view key, bool& flag) {
  if (!has_key(file, key)) return {};
  PLM_TRY_ASSIGN(flag, file.boolean_value(key));
  return {};
}

Result<void> read_attention(const GgufFile& file, DiffusionTraits& traits) {
  constexpr std::string_view kKey = "diffusion.attention";
  if (!has_key(file, kKey)) return {};
  PLM_TRY_ASSIGN(const std::string_view name, file.string_value(kKey));
  if (name == "full") {
    traits.attention = DiffusionAttention::full;
  } else if (name == "block_causal") {
    traits.attention = DiffusionAttention::block_causal;
  } else if (name == "causal_context") {
    traits.attention = DiffusionAttention::causal_context;
    traits.is_causal_too = true;
  } else {
    return fail(ErrorKind::bad_input, "{}: {} = \"{}\"; this version knows full, block_causal, causal_context",
                file.path(), kKey, printable(name, 80));
  }
  return {};
}

Result<void> read_token(const GgufFile& file, std::string_view key, std::int32_t& token) {
  if (!has_key(file, key)) return {};
  PLM_TRY_ASSIGN(const std::uint64_t id, file.unsigned_value(key));
  if (id > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::bad_input, "{}: {} = {}: no token has that number", file.path(), key, id);
  }
  token = static_cast<std::int32_t>(id);
  return {};
}

Result<void> read_mask_token(const GgufFile& file, DiffusionTraits& traits) {
  for (const std::string_view key : kMaskKeys) {
    if (has_key(file, key)) return read_token(file, key, traits.mask_token);
  }
  if (traits.noise == DiffusionNoise::uniform) return {};
  return fail(ErrorKind::bad_input, "{}: {} is missing, but the model fills masks; set it with --override", file.path(),
              kMaskKeys[1]);
}

// Whether the file's name is one of those by which its architecture knows checkpoints that correct what they see.
Result<bool> is_editor_by_name(const GgufFile& file, const DiffusionTraits& traits) {
  constexpr std::string_view kName = "general.name";
  if (traits.editing_name.empty() || !has_key(file, kName)) return false;
  PLM_TRY_ASSIGN(const std::string_view name, file.string_value(kName));
  std::string plain;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '.') plain += lower;
  }
  return plain.find(traits.editing_name) != std::string::npos;
}

Result<void> read_kind(const GgufFile& file, DiffusionTraits& traits) {
  constexpr std::string_view kKind = "diffusion.kind";
  if (!has_key(file, kKind)) {
    PLM_TRY_ASSIGN(const bool is_editor, is_editor_by_name(file, traits));
    traits.edits = traits.edits || is_editor;
    return {};
  }
  PLM_TRY_ASSIGN(const std::string_view kind, file.string_value(kKind));
  if (kind != "mask" && kind != "uniform" && kind != "edit") {
    return fail(ErrorKind::bad_input, "{}: {} = \"{}\"; this version knows mask, uniform, edit", file.path(), kKind,
                printable(kind, 80));
  }
  traits.edits = kind == "edit";
  traits.noise = kind == "uniform" ? DiffusionNoise::uniform : DiffusionNoise::mask;
  return {};
}

}  // namespace

Result<std::optional<DiffusionTraits>> read_diffusion_traits(const GgufFile& file,
                                                             const DiffusionTraits* of_architecture) {
  constexpr std::string_view kKind = "diffusion.kind", kBlock = "diffusion.block_length";
  if (of_architecture == nullptr && !has_key(file, kKind)) return std::nullopt;
  DiffusionTraits traits = of_architecture != nullptr ? *of_architecture : DiffusionTraits{};
  PLM_TRY(read_kind(file, traits));
  PLM_TRY(read_attention(file, traits));
  PLM_TRY(read_flag(file, "diffusion.shift_logits", traits.shifts_logits));
  // Networks that refine a canvas say how long it is, under the name of their architecture.
  std::vector<std::string> lengths = {std::string(kBlock)};
  if (has_key(file, "general.architecture")) {
    PLM_TRY_ASSIGN(const std::string_view architecture, file.string_value("general.architecture"));
    lengths.push_back(fmt::format("{}.diffusion.canvas_length", architecture));
  }
  for (const std::string& key : lengths) {
    if (!has_key(file, key)) continue;
    PLM_TRY_ASSIGN(const std::uint64_t length, file.unsigned_value(key));
    if (length == 0 || length > (1U << 20)) {
      return fail(ErrorKind::bad_input, "{}: {} = {}: must be from 1 to {}", file.path(), key, length, 1U << 20);
    }
    traits.block_length = length;
    break;
  }
  PLM_TRY(read_mask_token(file, traits));
  PLM_TRY(read_token(file, "diffusion.expand_token_id", traits.expand_token));
  PLM_TRY(read_token(file, "diffusion.delete_token_id", traits.delete_token));
  return traits;
}

}  // namespace plm
