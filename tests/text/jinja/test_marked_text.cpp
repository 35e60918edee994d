#include "text/jinja/marked_text.h"

#include <gtest/gtest.h>

#include "text/jinja/renderings.h"

namespace plm::jinja {
namespace {

MarkedText sample() {
  MarkedText text("<|", Origin::template_text);
  text.append("user", Origin::input);
  text.append("|>", Origin::template_text);
  return text;
}

TEST(MarkedText, RemembersTheOriginOfEachByte) {
  const MarkedText text = sample();
  EXPECT_EQ(text.text(), "<|user|>");
  EXPECT_EQ(marked(text), "<|«user»|>");
  for (std::size_t at = 0; at < text.size(); ++at) EXPECT_EQ(text.is_from_template(at), at < 2 || at >= 6) << at;
  EXPECT_TRUE(text.is_from_template(0, 2));
  EXPECT_FALSE(text.is_from_template(1, 3));
  EXPECT_FALSE(text.is_from_template(0, 8));
  EXPECT_TRUE(text.is_from_template(6, 8));
  EXPECT_TRUE(text.is_from_template(3, 3));
}

TEST(MarkedText, RunsAreMaximalAndCoverTheText) {
  MarkedText text = sample();
  text.append("", Origin::input);
  text.append("\n", Origin::template_text);
  text.append(MarkedText());
  ASSERT_EQ(text.runs().size(), 3U);
  EXPECT_EQ(text.runs()[0], (MarkedText::Run{0, 2, Origin::template_text}));
  EXPECT_EQ(text.runs()[1], (MarkedText::Run{2, 6, Origin::input}));
  EXPECT_EQ(text.runs()[2], (MarkedText::Run{6, 9, Origin::template_text}));
  EXPECT_TRUE(MarkedText().runs().empty());
  EXPECT_TRUE(MarkedText("", Origin::input).runs().empty());
}

TEST(MarkedText, EverySliceKeepsItsMarks) {
  const MarkedText text = sample();
  for (std::size_t begin = 0; begin <= text.size(); ++begin) {
    for (std::size_t end = begin; end <= text.size(); ++end) {
      const MarkedText part = text.slice(begin, end);
      ASSERT_EQ(part.text(), text.text().substr(begin, end - begin));
      for (std::size_t at = 0; at < part.size(); ++at) {
        ASSERT_EQ(part.is_from_template(at), text.is_from_template(begin + at));
      }
    }
  }
}

TEST(MarkedText, SlicesPutTogetherAreTheWhole) {
  const MarkedText text = sample();
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    MarkedText whole = text.slice(0, cut);
    whole.append(text, cut, text.size());
    EXPECT_EQ(whole, text);
  }
}

}  // namespace
}  // namespace plm::jinja
