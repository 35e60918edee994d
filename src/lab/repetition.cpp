#include "lab/repetition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <vector>

namespace plm {
namespace {

// The suffixes of a text in order (Manber and Myers: ranks by the first 1, 2, 4, ... tokens), and how many tokens each
// has in common with the one before it (Kasai et al.).
struct Suffixes {
  std::vector<std::size_t> order;
  std::vector<std::size_t> common;

  explicit Suffixes(Tokens tokens) : order(tokens.size()), common(tokens.size(), 0) {
    const std::size_t n = tokens.size();
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::int64_t> rank(tokens.begin(), tokens.end()), next(n);
    for (std::size_t width = 1; n > 1; width *= 2) {
      const auto key = [&](std::size_t at) {
        return std::pair(rank[at], at + width < n ? rank[at + width] + (std::int64_t{1} << 32) : std::int64_t{-1});
      };
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const auto left = key(a), right = key(b);
        return left != right ? left < right : a < b;
      });
      next[order[0]] = 0;
      for (std::size_t i = 1; i < n; ++i) next[order[i]] = next[order[i - 1]] + (key(order[i - 1]) < key(order[i]));
      rank = next;
      if (rank[order[n - 1]] == static_cast<std::int64_t>(n) - 1) break;
    }
    find_common(tokens);
  }

 private:
  void find_common(Tokens tokens) {
    const std::size_t n = tokens.size();
    std::vector<std::size_t> place(n);
    for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
    std::size_t length = 0;
    for (std::size_t at = 0; at < n; ++at) {
      if (place[at] == 0) {
        length = 0;
        continue;
      }
      const std::size_t before = order[place[at] - 1];
      while (at + length < n && before + length < n && tokens[at + length] == tokens[before + length]) ++length;
      common[place[at]] = length;
      if (length > 0) --length;
    }
  }
};

// Whether a span of that length stands at two places that do not overlap.
bool repeats_apart(const Suffixes& suffixes, std::size_t length) {
  std::size_t first = 0, last = 0;
  for (std::size_t i = 0; i < suffixes.order.size(); ++i) {
    const std::size_t at = suffixes.order[i];
    const bool goes_on = i > 0 && suffixes.common[i] >= length;
    first = goes_on ? std::min(first, at) : at;
    last = goes_on ? std::max(last, at) : at;
    if (last - first >= length) return true;
  }
  return false;
}

}  // namespace

std::optional<double> repeated_ngrams(Tokens tokens, std::size_t n) {
  if (n == 0 || tokens.size() < n) return std::nullopt;
  std::set<std::vector<std::int32_t>> seen;
  const std::size_t count = tokens.size() - n + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Tokens gram = tokens.subspan(i, n);
    seen.emplace(gram.begin(), gram.end());
  }
  return 1 - static_cast<double>(seen.size()) / static_cast<double>(count);
}

std::optional<double> repeated_tokens(Tokens tokens, std::size_t window) {
  if (tokens.empty()) return std::nullopt;
  std::unordered_map<std::int32_t, std::size_t> last;  // where each was seen
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto found = last.find(tokens[i]);
    if (found != last.end() && i - found->second <= window) ++repeated;
    last[tokens[i]] = i;
  }
  return static_cast<double>(repeated) / static_cast<double>(tokens.size());
}

std::size_t longest_repeat(Tokens tokens, bool may_overlap) {
  if (tokens.size() < 2) return 0;
  const Suffixes suffixes(tokens);
  const std::size_t longest = *std::ranges::max_element(suffixes.common);
  if (may_overlap) return longest;
  std::size_t least = 0, most = std::min(longest, tokens.size() / 2);
  while (least < most) {
    const std::size_t middle = (least + most + 1) / 2;
    if (repeats_apart(suffixes, middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

std::optional<TailLoop> tail_loop(Tokens tokens, const LoopRule& rule) {
  const std::size_t n = tokens.size();
  for (std::size_t period = 1; period <= std::min(rule.most_period, n); ++period) {
    std::size_t run = 0;
    while (run < n - period && tokens[n - 1 - run] == tokens[n - 1 - run - period]) ++run;
    if (run == 0) continue;
    const std::size_t cover = run + period;
    if (cover / period >= rule.least_copies && cover >= rule.least_cover) {
      return TailLoop{.period = period, .copies = cover / period, .cover = cover};
    }
  }
  return std::nullopt;
}

std::optional<WorstWindow> most_repeated_window(Tokens tokens, std::size_t n, std::size_t window) {
  if (n == 0 || window < n || tokens.size() < window) return std::nullopt;
  const std::size_t grams = window - n + 1, count = tokens.size() - n + 1;
  std::map<std::vector<std::int32_t>, std::size_t> inside;
  const auto gram = [&](std::size_t at) {
    return std::vector<std::int32_t>(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                     tokens.begin() + static_cast<std::ptrdiff_t>(at + n));
  };
  WorstWindow worst;
  for (std::size_t end = 0; end < count; ++end) {
    ++inside[gram(end)];
    if (end + 1 < grams) continue;
    const double share = 1 - static_cast<double>(inside.size()) / static_cast<double>(grams);
    if (share > worst.share) worst = {share, end + 1 - grams};
    const auto oldest = inside.find(gram(end + 1 - grams));
    if (--oldest->second == 0) inside.erase(oldest);
  }
  return worst;
}

}  // namespace plm
