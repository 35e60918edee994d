#include "sampling/order.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

std::string names(const std::vector<OrderItem>& order) {
  std::string joined;
  for (const OrderItem& item : order) {
    joined += joined.empty() ? "" : ";";
    joined += item.definition->head.name;
    if (!item.value.empty()) joined += "=" + item.value;
  }
  return joined;
}

TEST(Order, ReadsNamesAndTheirAliases) {
  UnknownSamplers unknown;
  EXPECT_EQ(names(*order_of_names("top-k;nucleus;typ_p;temp;top_k=3;dist", unknown)),
            "top_k;top_p;typical_p;temperature;top_k=3;dist");
  EXPECT_EQ(names(*order_of_names("", unknown)), "");
}

TEST(Order, ReadsLlamasLetters) {
  UnknownSamplers unknown;
  EXPECT_EQ(names(*order_of_letters("edskypmxt", unknown)),
            "penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;temperature");
  EXPECT_EQ(names(*order_of_letters("ia", unknown)), "infill;adaptive_p");
}

TEST(Order, ReadsKoboldsNumbers) {
  for (const char* text : {"6,0,1,3,4,2,5", "[6, 0, 1, 3, 4, 2, 5]"}) {
    EXPECT_EQ(names(*order_of_numbers(text)),
              "penalties;top_k;top_a;tfs;typical_p;top_p;min_p;temperature;smoothing;top_n_sigma");
  }
  EXPECT_EQ(names(*order_of_numbers("5,2")), "temperature;smoothing;top_n_sigma;top_p;min_p");
  for (const char* text : {"7", "-1", "1,1", "1,,2", "a", "1;2", "[1"}) EXPECT_FALSE(order_of_numbers(text)) << text;
}

TEST(Order, SkipsTheUnknownWhereAsked) {
  UnknownSamplers unknown{.are_skipped = true};
  EXPECT_EQ(names(*order_of_names("bogus;top_k", unknown)), "top_k");
  EXPECT_EQ(names(*order_of_letters("k?t", unknown)), "top_k;temperature");
  EXPECT_EQ(unknown.skipped, (std::vector<std::string>{"bogus", "?"}));
}

TEST(Order, RefusesTheUnknownWithTheKnown) {
  UnknownSamplers unknown;
  for (const char* text : {"bogus", ";", "top_k;;top_p", " top_k", "top_k=", "greedy=3"}) {
    EXPECT_FALSE(order_of_names(text, unknown)) << text;
  }
  const auto letters = order_of_letters("kz", unknown);
  ASSERT_FALSE(letters);
  EXPECT_NE(letters.error().message.find("k=top_k"), std::string::npos);
}

TEST(Order, HasALimit) {
  UnknownSamplers unknown;
  EXPECT_TRUE(order_of_letters(std::string(kMostSamplers, 'k'), unknown));
  EXPECT_FALSE(order_of_letters(std::string(kMostSamplers + 1, 'k'), unknown));
}

}  // namespace
}  // namespace plm
