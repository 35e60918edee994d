#include "text/unicode_form.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>

#include "base/philox.h"

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

// The stretches between ASCII characters are formed one by one: the same as all at once.
TEST(UnicodeForm, IsThatOfTheWholeText) {
  constexpr std::string_view kCharacters[] = {"a",      "e",      "x",      " ",      "é",      "ß",
                                              "\u0301", "\u0323", "\u0338", "\u1112", "\u1161", "\u11AB",
                                              "한",     "\u212B", "\uFB01", "²",      "中",     "😀"};
  const std::pair<UnicodeForm, int> forms[] = {{UnicodeForm::nfc, UTF8PROC_COMPOSE},
                                               {UnicodeForm::nfd, UTF8PROC_DECOMPOSE},
                                               {UnicodeForm::nfkc, UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                                               {UnicodeForm::nfkd, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
  for (std::uint32_t round = 0; round < 4000; ++round) {
    std::string text;
    for (std::uint32_t i = 0; i < round % 16; ++i) {
      text += kCharacters[philox4x32({round, i, 0, 0}, {13, 0})[0] % std::size(kCharacters)];
    }
    for (const auto& [form, options] : forms) {
      utf8proc_uint8_t* whole = nullptr;
      const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &whole,
                                     static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
      ASSERT_GE(size, 0);
      const std::string expected(reinterpret_cast<const char*>(whole), static_cast<std::size_t>(size));
      std::free(whole);
      EXPECT_EQ(to_unicode_form(form, text), expected) << text;
    }
  }
}

TEST(UnicodeForm, DoesNotSortEndlessMarks) {
  std::string text = "e\u0301";
  for (int i = 0; i < 200'000; ++i) text += i < 100'000 ? "\u0301" : "\u0327";
  EXPECT_EQ(to_nfc(text), text);
}

}  // namespace
}  // namespace plm
