// Covers src/constraint/regular.cpp, regular_rows.cpp, regular_search.cpp, byte_set.h and id_table.h.
#include "constraint/regular.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace plm {
namespace {

Regular byte(RegularStore& store, char value) { return store.literal(std::string_view(&value, 1)); }

TEST(Regular, EqualExpressionsAreOne) {
  RegularStore store;
  const Regular a = byte(store, 'a'), b = byte(store, 'b'), c = byte(store, 'c');
  EXPECT_EQ(store.alternate({a, b, a}), store.alternate({b, a}));
  EXPECT_EQ(store.alternate({a, b}), store.bytes(ByteSet::range('a', 'b')));
  EXPECT_EQ(store.concatenate({store.concatenate({a, b}), c}), store.concatenate({a, store.concatenate({b, c})}));
  EXPECT_EQ(store.literal("abc"), store.concatenate({a, b, c}));
  EXPECT_EQ(store.complement(store.complement(a)), a);
  EXPECT_EQ(store.star(store.star(a)), store.star(a));
  EXPECT_EQ(store.repeat(a, 2, 1), Regular::nothing);
  EXPECT_EQ(store.repeat(a, 0, 0), Regular::empty);
  EXPECT_EQ(store.concatenate(a, Regular::nothing), Regular::nothing);
  EXPECT_EQ(store.intersect({a, b}), Regular::nothing);
  EXPECT_EQ(store.intersect({a, store.complement(a)}), Regular::nothing);
}

TEST(Regular, LiteralsAreATree) {
  RegularStore store;
  const Regular words = store.literals({"null", "true", "nil", "", "nullable", "null"});
  for (const char* word : {"null", "true", "nil", "", "nullable"}) EXPECT_TRUE(store.matches(words, word)) << word;
  for (const char* word : {"nul", "nullabl", "n", "trueish"}) EXPECT_FALSE(store.matches(words, word)) << word;
  EXPECT_EQ(*store.texts(words, 5), (std::vector<std::string>{"", "nil", "null", "nullable", "true"}));
  EXPECT_EQ(*store.texts(words, 4), std::nullopt);
}

TEST(Regular, CharactersAreTheirUtf8AndNothingElse) {
  RegularStore store;
  const Regular any = store.any_character();
  std::string text;
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (const unsigned second : {0x00U, 0x7FU, 0x80U, 0x8FU, 0x90U, 0x9FU, 0xA0U, 0xBFU, 0xC0U}) {
      for (const char* rest : {"", "\x80", "\xBF", "\x80\x80", "\xBF\xBF", "\x80\x80\x80"}) {
        text = {static_cast<char>(lead), static_cast<char>(second)};
        text += rest;
        EXPECT_EQ(store.matches(any, text), utf8_character_length(text) == text.size()) << printable(text);
      }
    }
  }
  const Regular letters = store.characters({{'a', 'c'}, {0xE0, 0xFF}, {0x3041, 0x309F}, {0x1F600, 0x1F64F}});
  for (const char* yes : {"a", "\u00e0", "\u00ff", "\u3041", "\u309f", "\U0001F600", "\U0001F64F"}) {
    EXPECT_TRUE(store.matches(letters, yes)) << yes;
  }
  for (const char* no : {"d", "\u00df", "\u0100", "\u3040", "\u30a0", "\U0001F5FF", "\U0001F650", ""}) {
    EXPECT_FALSE(store.matches(letters, no)) << no;
  }
}

TEST(Regular, CountersAreNotWrittenOut) {
  RegularStore store;
  const Regular many = store.repeat(byte(store, 'x'), 2, 1'000'000);
  EXPECT_LT(store.size(), 10U);
  EXPECT_TRUE(store.matches(many, std::string(1000, 'x')));
  EXPECT_FALSE(store.matches(many, "x"));
  EXPECT_LT(store.size(), 3010U);
  EXPECT_FALSE(store.exhausted());
}

// Counters in counters are one counter where no count is left out between, and only there.
TEST(Regular, CountersInCounters) {
  RegularStore store;
  const Regular y = byte(store, 'y');
  EXPECT_EQ(store.repeat(store.repeat(y, 0, 90), 0, 90), store.repeat(y, 0, 8100));
  EXPECT_EQ(store.repeat(store.repeat(y, 2, 2), 3, 3), store.repeat(y, 6, 6));
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = a; b < 5; ++b) {
      for (std::uint32_t c = 0; c < 3; ++c) {
        for (std::uint32_t d = c; d < 4; ++d) {
          const Regular nested = store.repeat(store.repeat(y, a, b), c, d);
          for (std::uint32_t n = 0; n < 20; ++n) {
            bool expected = false;
            for (std::uint32_t k = c; k <= d; ++k) expected |= k * a <= n && n <= k * b;
            EXPECT_EQ(store.matches(nested, std::string(n, 'y')), expected) << a << b << c << d << " " << n;
          }
        }
      }
    }
  }
  RegularStore small({.regular_nodes = 20000});  // where they cannot be joined, the limit ends it
  const Regular z = small.optional(byte(small, 'z'));
  Regular hostile = byte(small, 'y');
  for (int i = 0; i < 3; ++i) hostile = small.repeat(small.concatenate(hostile, z), 0, 90);
  EXPECT_FALSE(small.matches(hostile, std::string(4000, 'y')));
  EXPECT_TRUE(small.exhausted());
}

TEST(Regular, BooleanOperationsAreExact) {
  RegularStore store;
  const Regular lower = store.star(store.bytes(ByteSet::range('a', 'z')));
  const Regular has_x = store.concatenate({lower, byte(store, 'x'), lower});
  const Regular short_text = store.repeat(store.any_character(), 0, 3);
  const Regular both = store.intersect({has_x, short_text, store.complement(store.literal("x"))});
  for (const char* yes : {"ax", "xa", "xxx", "axb"}) EXPECT_TRUE(store.matches(both, yes)) << yes;
  for (const char* no : {"x", "ab", "axbc", "x1"}) EXPECT_FALSE(store.matches(both, no)) << no;
  EXPECT_EQ(*store.shortest(both), 2U);
  EXPECT_EQ(*store.shortest_text(both), "ax");
  EXPECT_TRUE(*store.contains(lower, has_x));
  EXPECT_FALSE(*store.contains(has_x, lower));
  EXPECT_TRUE(*store.disjoint(both, store.literal("x")));
  EXPECT_FALSE(*store.disjoint(both, store.literal("xy")));
  const Regular long_text = store.intersect({has_x, store.repeat(store.any_character(), 1000, kUnbounded)});
  EXPECT_EQ(*store.shortest(long_text), 1000U);
  const Regular none =
      store.intersect({store.repeat(store.literal("ab"), 1, kUnbounded), store.plus(byte(store, 'a'))});
  EXPECT_TRUE(*store.is_nothing(none));
  EXPECT_EQ(*store.shortest_text(none), std::nullopt);
}

// Random expressions against std::regex, and De Morgan's laws as texts see them.
TEST(Regular, AgreesWithAnotherEngine) {
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return random() % n; };
  for (int round = 0; round < 150; ++round) {
    RegularStore store;
    std::vector<std::pair<Regular, std::string>> pool{{byte(store, 'a'), "a"}, {byte(store, 'b'), "b"}};
    for (int i = 0; i < 6; ++i) {
      const auto& [x, x_text] = pool[below(pool.size())];
      const auto& [y, y_text] = pool[below(pool.size())];
      switch (below(4)) {
        case 0: pool.emplace_back(store.concatenate(x, y), x_text + y_text); break;
        case 1: pool.emplace_back(store.alternate({x, y}), "(?:" + x_text + "|" + y_text + ")"); break;
        case 2: pool.emplace_back(store.star(x), "(?:" + x_text + ")*"); break;
        default: pool.emplace_back(store.repeat(x, 1, 3), "(?:" + x_text + "){1,3}"); break;
      }
    }
    const auto& [x, x_text] = pool[pool.size() - 1];
    const auto& [y, y_text] = pool[pool.size() - 2];
    const std::regex x_regex(x_text), y_regex(y_text);
    const Regular both = store.intersect({x, y});
    const Regular neither = store.intersect({store.complement(x), store.complement(y)});
    EXPECT_TRUE(*store.disjoint(neither, store.alternate({x, y})));
    EXPECT_TRUE(*store.contains(x, both));
    for (unsigned code = 0; code < 127; ++code) {  // all texts of a and b up to 6 characters, in binary
      std::string text;
      for (unsigned bits = code + 1; bits > 1; bits >>= 1U) text += (bits & 1U) != 0 ? 'b' : 'a';
      const bool in_x = std::regex_match(text, x_regex), in_y = std::regex_match(text, y_regex);
      EXPECT_EQ(store.matches(x, text), in_x) << x_text << " on " << text;
      EXPECT_EQ(store.matches(both, text), in_x && in_y) << x_text << " and " << y_text << " on " << text;
      EXPECT_EQ(store.matches(neither, text), !in_x && !in_y) << text;
    }
  }
}

TEST(Regular, LimitsEndASearch) {
  RegularStore store({.regular_nodes = 2000, .search_steps = 300});
  const Regular a = byte(store, 'a'), any = store.bytes(ByteSet::range('a', 'b'));
  const Regular late = store.concatenate({store.star(any), a, store.repeat(any, 12, 12)});
  const Regular early = store.concatenate({store.star(any), byte(store, 'b'), store.repeat(any, 12, 12)});
  const auto answer = store.is_nothing(store.intersect({late, early}));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, ErrorKind::no_room);
  RegularStore small({.regular_nodes = 20});
  EXPECT_EQ(small.literal("a text that is longer than twenty"), Regular::nothing);
  EXPECT_TRUE(small.exhausted());
  EXPECT_NE(small.exhaustion().message.find("20"), std::string::npos);
}

}  // namespace
}  // namespace plm
