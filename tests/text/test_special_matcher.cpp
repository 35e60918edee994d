#include "text/special_matcher.h"

#include <gtest/gtest.h>

#include <string>

#include "base/philox.h"

namespace plm {
namespace {

using Entries = std::vector<SpecialMatcher::Entry>;

struct Found {
  std::size_t begin, end;
  TokenId id;
  bool operator==(const Found&) const = default;
};

std::optional<Found> find(const SpecialMatcher& matcher, std::string_view text, std::size_t from = 0) {
  const auto match = matcher.find(text, from);
  return match ? std::optional(Found{match->begin, match->end, match->id}) : std::nullopt;
}

// Leftmost, then longest, then lowest id; by trying everything everywhere.
std::optional<Found> naive(const Entries& entries, std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    std::optional<Found> best;
    for (const auto& [entry, id] : entries) {
      if (entry.empty() || !text.substr(at).starts_with(entry)) continue;
      const std::size_t end = at + entry.size();
      if (!best || end > best->end || (end == best->end && id < best->id)) best = Found{at, end, id};
    }
    if (best) return best;
  }
  return std::nullopt;
}

TEST(SpecialMatcher, LeftmostThenLongest) {
  const SpecialMatcher matcher({{"<s>", 1}, {"<s>>", 2}, {"s>>x", 3}, {"", 4}});
  EXPECT_EQ(find(matcher, "a<s>b"), (Found{1, 4, 1}));
  EXPECT_EQ(find(matcher, "a<s>>x"), (Found{1, 5, 2}));
  EXPECT_EQ(find(matcher, "a<s>b", 2), std::nullopt);
  EXPECT_EQ(find(matcher, "<s"), std::nullopt);
  EXPECT_EQ(find(matcher, ""), std::nullopt);
  EXPECT_EQ(find(SpecialMatcher(), "abc"), std::nullopt);
  EXPECT_EQ(find(SpecialMatcher({{"\xFF", 7}, {"\xFF", 6}}), "a\xFF"), (Found{1, 2, 6}));
}

TEST(SpecialMatcher, AgreesWithTryingEverything) {
  std::uint32_t draw = 0;
  const auto random = [&draw](std::uint32_t limit) { return philox4x32({draw++, 0, 0, 0}, {7, 0})[0] % limit; };
  const auto random_text = [&](std::size_t most) {
    std::string text;
    for (std::size_t length = random(static_cast<std::uint32_t>(most) + 1); text.size() < length;) {
      text.push_back("ab<"[random(3)]);
    }
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 6; ++i) texts.push_back(random_text(4));
    Entries entries;
    for (std::size_t i = 0; i < texts.size(); ++i) entries.emplace_back(texts[i], static_cast<TokenId>(i));
    const SpecialMatcher matcher(entries);
    const std::string text = random_text(30);
    for (std::size_t from = 0; from <= text.size(); ++from) {
      EXPECT_EQ(find(matcher, text, from), naive(entries, text, from)) << text << " from " << from;
    }
  }
}

}  // namespace
}  // namespace plm
