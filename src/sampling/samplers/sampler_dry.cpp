// dry: a token that would continue a sequence which has stood in the text before becomes less likely, the more the
// longer that sequence is (p-e-w, "DRY: a modern repetition penalty", 2024).
//
// In the window w of the last dry_penalty_last_n tokens, for every earlier place j, len_j is how many tokens before and
// including w[j] equal the end of the window. A token t that followed places with len_j >= allowed_length, M the
// longest of them, loses multiplier * base^(M - allowed_length). Sequences do not reach across a breaker, and a token
// that is a breaker by itself is spared. Lengths come from the Z algorithm over the reversed window, in linear time.
#include <algorithm>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/portable_math.h"
#include "base/utf8.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr std::size_t kMostBreakers = 1024;
constexpr std::size_t kMostBreakerBytes = 40;
constexpr std::size_t kMostTailTokens = 20;

/// A sequence of tokens that ends what may be repeated: its first token, then the others.
struct Breaker {
  std::int32_t head;
  std::vector<std::int32_t> tail;
  auto operator<=>(const Breaker&) const = default;
};
using Breakers = std::vector<Breaker>;  // sorted

struct DryValues {
  double multiplier, base;
  std::int64_t allowed_length, window;
};

std::span<const Breaker> with_head(const Breakers& breakers, std::int32_t head) {
  const auto begin = std::lower_bound(breakers.begin(), breakers.end(), head,
                                      [](const Breaker& breaker, std::int32_t id) { return breaker.head < id; });
  const auto end = std::find_if(begin, breakers.end(), [&](const Breaker& breaker) { return breaker.head != head; });
  return {begin, end};
}

/// How many tokens at the end of the window come after its last breaker.
std::size_t length_after_breaker(std::span<const std::int32_t> window, const Breakers& breakers) {
  for (std::size_t after = 0; after < window.size(); ++after) {
    const auto following = window.last(after);
    const auto candidates = with_head(breakers, window[window.size() - 1 - after]);
    bool is_found = false;
    std::size_t longest = 0;
    for (const Breaker& breaker : candidates) {
      const auto& tail = breaker.tail;
      if (tail.size() > after || !std::equal(tail.begin(), tail.end(), following.begin())) continue;
      is_found = true;
      longest = std::max(longest, tail.size());
    }
    if (is_found) return after - longest;
  }
  return window.size();
}

/// For every distance k > 0 from the end, how many tokens before it equal the end of the window (Z algorithm on the
/// reversed window); [0] is not used.
std::vector<std::uint32_t> matching_lengths(std::span<const std::int32_t> window) {
  const std::size_t size = window.size();
  const auto reversed = [&](std::size_t k) { return window[size - 1 - k]; };
  std::vector<std::uint32_t> lengths(size);
  std::size_t begin = 0, end = 0;  // the match that reaches furthest
  for (std::size_t k = 1; k < size; ++k) {
    std::size_t length = k < end ? std::min<std::size_t>(lengths[k - begin], end - k) : 0;
    while (k + length < size && reversed(k + length) == reversed(length)) ++length;
    lengths[k] = static_cast<std::uint32_t>(length);
    if (k + length > end) {
      begin = k;
      end = k + length;
    }
  }
  return lengths;
}

class Dry : public Sampler {
 public:
  Dry(const DryValues& values, Breakers breakers) : values_(values), breakers_(std::move(breakers)) {
    if (values_.base > 1.000001) {
      most_exponent_ =
          static_cast<std::size_t>(static_cast<double>(portable_math::kExpHighest) / log_f64(values_.base));
    }
  }
  bool is_neutral() const override { return values_.multiplier == 0 || values_.base < 1 || values_.window == 0; }

  Result<void> apply(Candidates& candidates, const SampleContext& context) const override {
    if (is_neutral()) return {};
    const auto window = context.history.last(values_.window);
    const auto allowed = static_cast<std::size_t>(values_.allowed_length);
    if (window.size() <= allowed) return {};
    const std::size_t reach = length_after_breaker(window, breakers_);
    if (reach < allowed) return {};

    struct Continuation {
      std::int32_t id;
      std::size_t length;
    };
    std::vector<Continuation> found;
    const auto lengths = matching_lengths(window);
    for (std::size_t k = 1; k < window.size(); ++k) {
      const std::size_t length = std::min<std::size_t>(lengths[k], reach);
      if (length >= allowed) found.push_back({window[window.size() - k], length});
    }
    std::sort(found.begin(), found.end(), [](const Continuation& a, const Continuation& b) {
      return a.id != b.id ? a.id < b.id : a.length > b.length;
    });
    std::vector<std::int32_t> ids;
    std::vector<double> penalties;
    for (const Continuation& continuation : found) {
      if ((!ids.empty() && ids.back() == continuation.id) || is_breaker(continuation.id)) continue;
      ids.push_back(continuation.id);
      penalties.push_back(penalty(continuation.length - allowed));
    }
    return candidates.adjust(ids, [&](std::size_t k, float logit) {
      constexpr double kMost = std::numeric_limits<float>::max();
      return within_float(std::clamp(static_cast<double>(logit) - penalties[k], -kMost, kMost));  // never a mask
    });
  }

 private:
  [[nodiscard]] bool is_breaker(std::int32_t id) const {
    const auto same_head = with_head(breakers_, id);
    return !same_head.empty() && same_head.front().tail.empty();  // the shortest comes first
  }
  [[nodiscard]] double penalty(std::size_t excess) const {
    const auto exponent = static_cast<double>(std::min(excess, most_exponent_));
    return values_.multiplier * pow_f64(values_.base, exponent);
  }

  DryValues values_;
  Breakers breakers_;
  std::size_t most_exponent_ = std::numeric_limits<std::size_t>::max();  // beyond it float32 has no number
};

// The token sequences in whose text the string stands: a token that holds all of it, or one that ends with its
// beginning, followed by the tokens of the rest.
void add_spellings(Breakers& breakers, const TokenTexts& texts, std::int32_t id, const std::string& text,
                   const std::string& string) {
  if (text.find(string) != std::string::npos) {
    breakers.push_back({id, {}});
    return;
  }
  for (std::size_t at = text.find(string[0]); at != std::string::npos; at = text.find(string[0], at + 1)) {
    const std::size_t length = text.size() - at;
    if (length >= string.size() || text.compare(at, length, string, 0, length) != 0) continue;
    auto tail = texts.encode(std::string_view(string).substr(length));
    tail.resize(std::min(tail.size(), kMostTailTokens));
    breakers.push_back({id, std::move(tail)});
  }
}

tl::unexpected<Error> not_breakers(std::string_view found) {
  return fail(ErrorKind::usage,
              "dry_sequence_breakers: found \"{}\", expected a JSON array of texts or of arrays of token ids, a single "
              "text, or none",
              printable(found, 80));
}

Result<std::vector<Json>> parse_breakers(const std::string& text) {
  if (text.empty() || text == "none") return std::vector<Json>{};
  if (!text.starts_with('[')) return std::vector<Json>{Json(text)};
  const auto json = parse_json(text, "dry_sequence_breakers", {.bytes = 1U << 20});
  if (!json) return not_breakers(text);
  if (json->size() > kMostBreakers) {
    return fail(ErrorKind::usage, "dry_sequence_breakers: {} of them, at most {} are possible", json->size(),
                kMostBreakers);
  }
  return std::vector<Json>(json->begin(), json->end());
}

Result<Breakers> resolve(const std::vector<Json>& entries, const TokenTexts& texts) {
  Breakers breakers;
  std::set<std::string> strings;
  for (const Json& entry : entries) {
    const bool is_ids =
        entry.is_array() && !entry.empty() && std::all_of(entry.begin(), entry.end(), [](const Json& id) {
          return id.is_number_integer() && id >= 0 && id <= std::numeric_limits<std::int32_t>::max();
        });
    if (is_ids) {
      auto ids = entry.get<std::vector<std::int32_t>>();
      const std::int32_t head = ids.front();
      ids.erase(ids.begin());
      ids.resize(std::min(ids.size(), kMostTailTokens));
      breakers.push_back({head, std::move(ids)});
    } else if (entry.is_string() && !entry.get_ref<const std::string&>().empty()) {
      strings.insert(entry.get<std::string>().substr(0, kMostBreakerBytes));
    } else {
      return not_breakers(json_text(entry));
    }
  }
  for (std::size_t id = 0; !strings.empty() && id < texts.size(); ++id) {
    const std::string text = texts.text(static_cast<std::int32_t>(id));
    for (const std::string& string : strings) {
      add_spellings(breakers, texts, static_cast<std::int32_t>(id), text, string);
    }
  }
  std::sort(breakers.begin(), breakers.end());
  breakers.erase(std::unique(breakers.begin(), breakers.end()), breakers.end());
  return breakers;
}

constexpr Parameter kParameters[] = {
    {
        .name = "dry_multiplier",
        .summary = "strength of the penalty on continuing a repeated sequence; 0: off",
        .type = ParameterType::real,
        .standard = 0.0,
        .neutral = 0.0,
        .min = -1e30,
        .max = 1e30,
    },
    {
        .name = "dry_base",
        .summary = "factor by which it grows with every token of the sequence; below 1: off",
        .type = ParameterType::real,
        .standard = 1.75,
        .min = 0,
        .max = 1e6,
    },
    {
        .name = "dry_allowed_length",
        .summary = "length of a repeated sequence from which it is penalised",
        .type = ParameterType::integer,
        .standard = std::int64_t{2},
        .min = 0,
        .max = 2147483647,
        .unit = "tokens",
    },
    {
        .name = "dry_penalty_last_n",
        .aliases = "dry_range",
        .summary = "length of the window that is searched; 0: off, -1: everything",
        .type = ParameterType::integer,
        .standard = std::int64_t{64},
        .min = -1,
        .max = 2147483647,
        .unit = "tokens",
    },
    {
        .name = "dry_sequence_breakers",
        .aliases = "dry_sequence_breaker",
        .summary = "texts across which no sequence reaches, as a JSON array; none: there are none",
        .type = ParameterType::text,
        .standard = std::string_view(R"(["\n",":","\"","*"])"),
        .unit = "TEXTS",
    },
};

constexpr ControlNote kNotes[] = {
    {"dry_multiplier", "verbatim repetition of sequences: down; copying of the prompt (quotes, code, names): harmed",
     "koboldcpp, llama.cpp, textgen: dry_multiplier"},
    {"dry_base", "long repetitions are punished more steeply", "koboldcpp, llama.cpp, textgen: dry_base"},
    {"dry_allowed_length", "longer repetitions pass unpunished", "koboldcpp, llama.cpp, textgen: dry_allowed_length"},
    {"dry_penalty_last_n", "repetitions farther back are found; time: linear in the window",
     "textgen: dry_range; koboldcpp: dry_penalty_last_n, 0 is the whole context"},
    {"dry_sequence_breakers", "more breakers: fewer and shorter sequences count as repeated", ""},
};

}  // namespace

extern const SamplerDefinition sampler_dry;
constinit const SamplerDefinition sampler_dry = {
    .head = {.name = "dry",
             .summary = "penalises tokens that would continue a repeated sequence",
             .source = "datasheet part V; p-e-w 2024",
             .parameters = kParameters},
    .rule =
        "z' = z - multiplier base^(M - allowed_length), M: tokens before that stood there before, at least "
        "allowed_length",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts& texts) -> Result<std::unique_ptr<Sampler>> {
      const DryValues values{.multiplier = settings.real("dry_multiplier"),
                             .base = settings.real("dry_base"),
                             .allowed_length = settings.integer("dry_allowed_length"),
                             .window = settings.integer("dry_penalty_last_n")};
      PLM_TRY_ASSIGN(const auto entries, parse_breakers(settings.text("dry_sequence_breakers")));
      const bool acts = values.multiplier != 0 && values.base >= 1 && values.window != 0;
      // Resolving texts looks at the whole vocabulary: only for a sampler that acts.
      PLM_TRY_ASSIGN(Breakers breakers, resolve(entries, acts ? texts : unknown_texts()));
      return std::make_unique<Dry>(values, std::move(breakers));
    },
};

}  // namespace plm
