#include "model/diffusion_traits.h"

#include <limits>

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
  return fail(ErrorKind::bad_input, "{}: {} is missing, but the model fills masks; set it with --override", file.path(),
              kMaskKeys[1]);
}

}  // namespace

Result<std::optional<DiffusionTraits>> read_diffusion_traits(const GgufFile& file,
                                                             const DiffusionTraits* of_architecture) {
  constexpr std::string_view kKind = "diffusion.kind", kBlock = "diffusion.block_length";
  if (of_architecture == nullptr && !has_key(file, kKind)) return std::nullopt;
  DiffusionTraits traits = of_architecture != nullptr ? *of_architecture : DiffusionTraits{};
  if (has_key(file, kKind)) {
    PLM_TRY_ASSIGN(const std::string_view kind, file.string_value(kKind));
    if (kind != "mask" && kind != "edit") {
      return fail(ErrorKind::bad_input, "{}: {} = \"{}\"; this version knows mask, edit", file.path(), kKind,
                  printable(kind, 80));
    }
    traits.edits = kind == "edit";
  }
  PLM_TRY(read_attention(file, traits));
  PLM_TRY(read_flag(file, "diffusion.shift_logits", traits.shifts_logits));
  if (has_key(file, kBlock)) {
    PLM_TRY_ASSIGN(const std::uint64_t length, file.unsigned_value(kBlock));
    if (length == 0 || length > (1U << 20)) {
      return fail(ErrorKind::bad_input, "{}: {} = {}: must be from 1 to {}", file.path(), kBlock, length, 1U << 20);
    }
    traits.block_length = length;
  }
  PLM_TRY(read_mask_token(file, traits));
  PLM_TRY(read_token(file, "diffusion.expand_token_id", traits.expand_token));
  PLM_TRY(read_token(file, "diffusion.delete_token_id", traits.delete_token));
  return traits;
}

}  // namespace plm
