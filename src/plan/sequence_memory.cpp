#include "plan/sequence_memory.h"

#include <algorithm>
#include <string>

namespace plm {
namespace {

constexpr std::uint64_t kPaddedCells = 256;  // a unit of the padded policy

struct MixerBytes {
  std::uint64_t tokens;
  const SequenceOptions& options;

  Result<SequenceBytes> operator()(const AttentionMixer& m) const {
    if (m.borrows_kv) return SequenceBytes{};
    PLM_TRY_ASSIGN(const std::uint64_t keys, stored_bytes(options.keys, m.kv_heads * m.head_size));
    const std::uint64_t value_size = m.value_size > 0 ? m.value_size : m.head_size;
    PLM_TRY_ASSIGN(const std::uint64_t values, stored_bytes(options.values, m.kv_heads * value_size));
    return SequenceBytes{.cells = kept_cells(tokens, m.window, options) * (keys + values)};
  }

  Result<SequenceBytes> operator()(const LatentMixer& m) const {
    if (options.latent == LatentForm::latent) {
      PLM_TRY_ASSIGN(const std::uint64_t row, stored_bytes(options.keys, m.kv_rank + m.rope_size));
      return SequenceBytes{.cells = tokens * row};
    }
    PLM_TRY_ASSIGN(const std::uint64_t keys, stored_bytes(options.keys, m.q_heads * (m.plain_size + m.rope_size)));
    PLM_TRY_ASSIGN(const std::uint64_t values, stored_bytes(options.values, m.q_heads * m.value_size));
    return SequenceBytes{.cells = tokens * (keys + values)};
  }

  // `channels` inputs of a convolution of `taps`, of which the last is always new, and the numbers of a scan.
  [[nodiscard]] Result<SequenceBytes> recurrent(std::uint64_t channels, std::uint64_t taps, std::uint64_t scan) const {
    PLM_TRY_ASSIGN(const std::uint64_t bytes, stored_bytes(options.state, (taps - 1) * channels + scan));
    return SequenceBytes{.recurrent = bytes};
  }

  Result<SequenceBytes> operator()(const StateSpaceMixer& m) const {
    return recurrent(m.inner_size + 2 * m.groups * m.state_size, m.taps, m.inner_size * m.state_size);
  }
  Result<SequenceBytes> operator()(const DeltaMixer& m) const {
    const std::uint64_t keys = m.key_heads * m.key_size, values = m.value_heads * m.value_size;
    return recurrent(2 * keys + values, m.taps, values * m.key_size);
  }
  Result<SequenceBytes> operator()(const ChannelDeltaMixer& m) const {
    return recurrent(3 * m.heads * m.head_size, m.taps, m.heads * m.head_size * m.head_size);
  }
  Result<SequenceBytes> operator()(const ShortConvMixer& m) const { return recurrent(m.width, m.taps, 0); }
};

struct MixerName {
  std::string operator()(const AttentionMixer& m) const {
    const std::string_view kind = m.kv_heads == m.q_heads ? "MHA" : m.kv_heads == 1 ? "MQA" : "GQA";
    std::string name = fmt::format("{} {}:{} heads of {}", kind, m.q_heads, m.kv_heads, m.head_size);
    if (m.window > 0) name += fmt::format(", window {}", m.window);
    if (m.borrows_kv) name += ", keys of an earlier layer";
    return name;
  }
  std::string operator()(const LatentMixer& m) const {
    return fmt::format("MLA {} heads, latent {} + {} rotated", m.q_heads, m.kv_rank, m.rope_size);
  }
  std::string operator()(const StateSpaceMixer& m) const {
    return fmt::format("Mamba-2 state {} x {}", m.inner_size, m.state_size);
  }
  std::string operator()(const DeltaMixer& m) const {
    return fmt::format("gated DeltaNet, {} heads of {} x {}", m.value_heads, m.key_size, m.value_size);
  }
  std::string operator()(const ChannelDeltaMixer& m) const {
    return fmt::format("Kimi delta, {} heads of {} x {}", m.heads, m.head_size, m.head_size);
  }
  std::string operator()(const ShortConvMixer& m) const { return fmt::format("short convolution of {}", m.taps); }
};

// Whether forks may share what the mixer keeps of their common past.
bool shares_cells(const Mixer& mixer) {
  const auto* attention = std::get_if<AttentionMixer>(&mixer);
  return std::holds_alternative<LatentMixer>(mixer) || (attention != nullptr && attention->window == 0);
}

template <typename Visit>
Result<void> for_each_mixer(const ModelSketch& sketch, const Visit& visit) {
  if (!sketch.is_causal) return {};
  for (const std::uint32_t kind : sketch.layers) {
    for (const Mixer& mixer : sketch.kinds[kind].mixers) PLM_TRY(visit(mixer));
  }
  return {};
}

}  // namespace

std::uint64_t kept_cells(std::uint64_t tokens, std::uint64_t window, const SequenceOptions& options) {
  if (window == 0) return tokens;
  switch (options.windows) {
    case WindowPolicy::exact: return std::min(tokens, window);
    case WindowPolicy::chunk: return std::min(tokens, window - 1 + options.chunk);
    case WindowPolicy::padded: {
      const std::uint64_t context = options.context > 0 ? options.context : tokens;
      const std::uint64_t cells = std::min(context, window * options.sequences + options.chunk);
      return (cells + kPaddedCells - 1) / kPaddedCells * kPaddedCells;
    }
    case WindowPolicy::full: return tokens;
  }
  return tokens;
}

Result<SequenceBytes> mixer_bytes(const Mixer& mixer, std::uint64_t tokens, const SequenceOptions& options) {
  return std::visit(MixerBytes{tokens, options}, mixer);
}

Result<SequenceBytes> sequence_bytes(const ModelSketch& sketch, std::uint64_t tokens, const SequenceOptions& options) {
  SequenceBytes sum;
  PLM_TRY(for_each_mixer(sketch, [&](const Mixer& mixer) -> Result<void> {
    PLM_TRY_ASSIGN(const SequenceBytes one, mixer_bytes(mixer, tokens, options));
    sum.cells += one.cells;
    sum.recurrent += one.recurrent;
    return {};
  }));
  return sum;
}

Result<std::uint64_t> bytes_of_next_thousand(const ModelSketch& sketch, std::uint64_t tokens,
                                             const SequenceOptions& options) {
  PLM_TRY_ASSIGN(const SequenceBytes now, sequence_bytes(sketch, tokens, options));
  PLM_TRY_ASSIGN(const SequenceBytes then, sequence_bytes(sketch, tokens + 1000, options));
  return then.total() - now.total();
}

Result<ForkBytes> fork_bytes(const ModelSketch& sketch, const ForkSizes& sizes, const SequenceOptions& options) {
  PLM_TRY_ASSIGN(const SequenceBytes whole, sequence_bytes(sketch, sizes.prefix + sizes.suffix, options));
  ForkBytes fork{.apart = whole.total() * sizes.branches, .branches = sizes.branches};
  PLM_TRY(for_each_mixer(sketch, [&](const Mixer& mixer) -> Result<void> {
    PLM_TRY_ASSIGN(const SequenceBytes all, mixer_bytes(mixer, sizes.prefix + sizes.suffix, options));
    fork.per_branch += all.total();
    if (!shares_cells(mixer)) return {};
    PLM_TRY_ASSIGN(const SequenceBytes common, mixer_bytes(mixer, sizes.prefix, options));
    fork.shared += common.cells;
    fork.per_branch -= common.cells;
    return {};
  }));
  return fork;
}

std::string mixer_name(const Mixer& mixer) { return std::visit(MixerName{}, mixer); }

Result<std::vector<MixerShare>> mixer_shares(const ModelSketch& sketch, std::uint64_t tokens,
                                             const SequenceOptions& options) {
  std::vector<MixerShare> shares;
  PLM_TRY(for_each_mixer(sketch, [&](const Mixer& mixer) -> Result<void> {
    const std::string name = mixer_name(mixer);
    auto share = std::ranges::find(shares, name, &MixerShare::name);
    if (share == shares.end()) share = shares.insert(shares.end(), {.name = name, .layers = 0, .bytes = {}});
    PLM_TRY_ASSIGN(const SequenceBytes now, mixer_bytes(mixer, tokens, options));
    PLM_TRY_ASSIGN(const SequenceBytes next, mixer_bytes(mixer, tokens + 1, options));
    ++share->layers;
    share->per_token += next.cells - now.cells;
    share->bytes.cells += now.cells;
    share->bytes.recurrent += now.recurrent;
    return {};
  }));
  return shares;
}

}  // namespace plm
