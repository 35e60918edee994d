#include "text/short_text.h"

#include <gtest/gtest.h>

#include <string>

namespace plm {
namespace {

TEST(ShortText, EveryByteCounts) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(37 * i + 200));
    const std::string copy = text;
    EXPECT_TRUE(same_texts(text, copy)) << size;
    EXPECT_FALSE(same_texts(text, text + "x")) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ 1);
      EXPECT_FALSE(same_texts(text, other)) << size << " " << at;
      if (size > 8) continue;
      EXPECT_NE(short_word(text.data(), size), short_word(other.data(), size)) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace plm
