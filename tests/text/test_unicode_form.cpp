#include "text/unicode_form.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(UnicodeForm, ComposesWhatCanBeComposed) {
  EXPECT_EQ(to_nfc("e\u0301"), "é");
  EXPECT_EQ(to_nfc("a\u0301\u0301"), "á\u0301");
  EXPECT_EQ(to_nfc("\u1112\u1161\u11ab"), "한");
  EXPECT_EQ(to_nfc("\u212B"), "Å");
  EXPECT_EQ(to_nfc("a\u0315\u0300"), "à\u0315") << "marks are sorted by class first";
}

TEST(UnicodeForm, LeavesComposedTextAlone) {
  for (const std::string text : {"", "plain", "déjà vu", "中文 🙂", "x\u0338", "\uFB01"}) EXPECT_EQ(to_nfc(text), text);
  EXPECT_EQ(to_nfc(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(UnicodeForm, DoesNotSortEndlessMarks) {
  std::string text = "e\u0301";
  for (int i = 0; i < 200'000; ++i) text += i < 100'000 ? "\u0301" : "\u0327";
  EXPECT_EQ(to_nfc(text), text);
}

}  // namespace
}  // namespace plm
