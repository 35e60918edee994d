// Questions about regular languages whose answer may need a search through derivatives: where expressions have
// intersections or complements, an expression that is not kNothing may have no text all the same.
// Tested by tests/constraint/test_regular.cpp.
#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>

#include "constraint/regular.h"

namespace plm {
namespace {

tl::unexpected<Error> too_long(const RegularStore& store) {
  return fail(
      ErrorKind::no_room,
      "a regular expression takes more than {} steps to be examined; make its repetitions or exclusions simpler",
      store.limits().search_steps);
}

}  // namespace

std::optional<std::uint32_t> RegularStore::known_shortest(Regular a) const {
  const Node& n = node(a);
  if (n.nullable) return 0;
  if (!n.boolean) return n.minimum;
  const auto found = lengths_.find(a);
  return found == lengths_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::uint32_t> RegularStore::shortest(Regular a) {
  if (const auto known = known_shortest(a)) return *known;
  return search_shortest(a);
}

// Level by level. What is found on the way of the shortest text is remembered, and that a dead expression is dead.
Result<std::uint32_t> RegularStore::search_shortest(Regular a) {
  struct Step {
    Regular at = Regular::nothing;
    std::size_t from = 0;  // into steps
    std::uint32_t depth = 0;
  };
  std::vector<Step> steps{{a, 0, 0}};
  std::unordered_set<Regular> seen{a};
  std::uint32_t best = kNoLength;
  std::size_t best_step = 0;
  for (std::size_t i = 0; i < steps.size() && steps[i].depth < best; ++i) {
    const std::uint32_t depth = steps[i].depth;
    if (const auto known = known_shortest(steps[i].at)) {
      if (*known < best - depth && *known != kNoLength) best = depth + *known, best_step = i;
      continue;
    }
    const auto runs = row(steps[i].at);
    if (exhausted_) return tl::unexpected(exhaustion());
    for (const Run& run : runs) {
      if (run.target != Regular::nothing && seen.insert(run.target).second) steps.push_back({run.target, i, depth + 1});
    }
    if (steps.size() > limits_.search_steps) return too_long(*this);
  }
  if (best == kNoLength) {
    for (const Step& step : steps) lengths_.emplace(step.at, kNoLength);
    return best;
  }
  for (std::size_t i = best_step;; i = steps[i].from) {
    lengths_.emplace(steps[i].at, best - steps[i].depth);
    if (i == 0) return best;
  }
}

Result<bool> RegularStore::is_nothing(Regular a) {
  PLM_TRY_ASSIGN(const std::uint32_t length, shortest(a));
  return length == kNoLength;
}

Result<std::optional<std::string>> RegularStore::shortest_text(Regular a) {
  PLM_TRY_ASSIGN(std::uint32_t length, shortest(a));
  if (length == kNoLength) return std::nullopt;
  std::string text;
  for (; length > 0; --length) {
    if (text.size() > limits_.search_steps) return too_long(*this);
    const auto runs = row(a);
    const Row copy(runs.begin(), runs.end());  // the search below may move the rows
    if (exhausted_) return tl::unexpected(exhaustion());
    unsigned first = 0;
    for (const Run& run : copy) {
      PLM_TRY_ASSIGN(const std::uint32_t rest, shortest(run.target));
      if (rest == length - 1) {
        text.push_back(static_cast<char>(first));
        a = run.target;
        break;
      }
      first = run.last + 1U;
    }
  }
  return text;
}

Result<bool> RegularStore::contains(Regular outer, Regular inner) {
  if (outer == inner) return true;
  const Regular outside = difference(inner, outer);
  if (exhausted_) return tl::unexpected(exhaustion());
  return is_nothing(outside);
}

Result<std::optional<std::vector<std::string>>> RegularStore::texts(Regular a, std::size_t most) {
  std::vector<std::string> found;
  std::vector<std::pair<std::string, Regular>> level{{"", a}}, next;
  for (std::size_t steps = 0; !level.empty();) {
    next.clear();
    for (const auto& [text, at] : level) {
      if (nullable(at)) found.push_back(text);
      const auto runs = row(at);
      const Row copy(runs.begin(), runs.end());
      if (exhausted_) return tl::unexpected(exhaustion());
      unsigned first = 0;
      for (const Run& run : copy) {
        PLM_TRY_ASSIGN(const bool dead, is_nothing(run.target));
        for (unsigned byte = first; !dead && byte <= run.last; ++byte) {
          next.emplace_back(text + static_cast<char>(byte), run.target);
        }
        first = run.last + 1U;
        if (found.size() + next.size() > most) return std::nullopt;
      }
      if (++steps > limits_.search_steps) return too_long(*this);
    }
    std::swap(level, next);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace plm
