// infill: for filling a gap. Either the text goes on with a token that is clearly likely, or it ends (llama.cpp).
//
// With n candidates, E the mass of the tokens that end a text and T that of the others: if 3 n E > T only the former
// stay. Otherwise tokens whose text begins alike share their mass, held by the likelier; of the others those with at
// least 0.2 stay, and of the m that do, with what is left made 1, those with at least 1 / (m + 1). If none does, the
// text ends. Only the mass that decides is shared: logits stay as they are. The kMostCandidates likeliest are looked
// at; this sampler is meant to come after one that cuts. Without a vocabulary it does nothing.
#include <algorithm>
#include <vector>

#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr std::size_t kMostCandidates = 512;

struct Text {
  std::uint32_t index = 0;  // of the candidate
  bool ends = false;
  double p = 0;
  std::string bytes;
  bool is_merged = false;  // into another
};

class Infill : public Sampler {
 public:
  explicit Infill(const TokenTexts& texts) : texts_(&texts), end_tokens_(texts.end_tokens()) {
    std::sort(end_tokens_.begin(), end_tokens_.end());
  }
  bool is_neutral() const override { return texts_->size() == 0; }

  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    if (is_neutral()) return {};
    candidates.keep_top(std::min(candidates.size(), kMostCandidates));
    std::vector<Text> all = texts_of(candidates);
    double text_mass = 0, end_mass = 0;
    for (const Text& text : all) (text.ends ? end_mass : text_mass) += text.p;
    if (3 * end_mass * static_cast<double>(all.size()) > text_mass) {
      std::erase_if(all, [](const Text& text) { return !text.ends; });
    } else {
      merge_prefixes(all);
      std::erase_if(all, [](const Text& text) { return text.is_merged; });
      keep_likely(all, 0.2);
      const auto going_on = std::count_if(all.begin(), all.end(), [](const Text& text) { return !text.ends; });
      if (going_on == 0) {
        end_text(all, candidates);
      } else {
        keep_likely(all, 1.0 / static_cast<double>(going_on + 1));
      }
    }
    keep(candidates, all);
    return {};
  }

 private:
  // By descending probability; masked candidates are no part of it.
  [[nodiscard]] std::vector<Text> texts_of(Candidates& candidates) const {
    const auto [weights, total] = candidates.weigh();
    std::vector<Text> all;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates.logits()[i] == -std::numeric_limits<float>::infinity()) continue;
      const std::int32_t id = candidates.id(i);
      const bool is_known = static_cast<std::size_t>(id) < texts_->size();
      all.push_back({.index = static_cast<std::uint32_t>(i),
                     .ends = std::binary_search(end_tokens_.begin(), end_tokens_.end(), id),
                     .p = static_cast<double>(weights[i]) / total,
                     .bytes = is_known ? texts_->text(id) : std::string()});
    }
    std::sort(all.begin(), all.end(),
              [](const Text& a, const Text& b) { return a.p != b.p ? a.p > b.p : a.index < b.index; });
    return all;
  }

  static void merge_prefixes(std::vector<Text>& all) {
    for (Text& one : all) {
      for (Text& other : all) {
        if (one.is_merged) break;
        if (&one == &other || other.is_merged || one.bytes.empty() || !other.bytes.starts_with(one.bytes)) continue;
        Text& heir = other.p > one.p ? other : one;
        Text& merged = other.p > one.p ? one : other;
        heir.p += merged.p;
        merged.p = 0;
        merged.is_merged = true;
      }
    }
  }

  static void keep_likely(std::vector<Text>& all, double least) {
    std::erase_if(all, [&](const Text& text) { return !text.ends && text.p < least; });
    double total = 0;
    for (const Text& text : all) total += text.p;
    for (Text& text : all) text.p /= total;
  }

  // The vocabulary's own end of text if it is a candidate, else the likeliest token that ends, else the likeliest.
  void end_text(std::vector<Text>& all, Candidates& candidates) const {
    const auto end_of_text = texts_->end_of_text();
    const auto preferred = std::find_if(all.begin(), all.end(), [&](const Text& text) {
      return end_of_text.has_value() && candidates.id(text.index) == *end_of_text;
    });
    if (preferred != all.end()) all = {*preferred};
    if (all.empty()) all.push_back({.index = first_in_order(candidates)});
    all.resize(1);
  }

  static std::uint32_t first_in_order(const Candidates& candidates) {
    return static_cast<std::uint32_t>(*candidates.index_of(candidates.top(1).front().id));
  }

  static void keep(Candidates& candidates, const std::vector<Text>& texts) {
    std::vector<std::uint32_t> kept;
    for (const Text& text : texts) kept.push_back(text.index);
    std::sort(kept.begin(), kept.end());
    candidates.keep(kept);
  }

  const TokenTexts* texts_;
  std::vector<std::int32_t> end_tokens_;  // sorted
};

}  // namespace

extern const SamplerDefinition sampler_infill;
constinit const SamplerDefinition sampler_infill = {
    .head = {.name = "infill",
             .summary = "goes on with a clearly likely token or ends the text, for filling gaps",
             .source = "datasheet part V; llama.cpp"},
    .rule =
        "with E the mass of the end tokens and T the rest's: only end tokens if 3 n E > T; else tokens with p >= 0.2, "
        "then with p >= 1 / (m + 1)",
    .create = [](const Settings&, const TokenTexts& texts) -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Infill>(texts);
    },
};

}  // namespace plm
