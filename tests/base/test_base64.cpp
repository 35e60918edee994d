#include "base/base64.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

// RFC 4648, section 10.
TEST(Base64, DecodesTheExamplesOfItsStandard) {
  EXPECT_EQ(base64_decode(""), "");
  EXPECT_EQ(base64_decode("Zg=="), "f");
  EXPECT_EQ(base64_decode("Zm8="), "fo");
  EXPECT_EQ(base64_decode("Zm9v"), "foo");
  EXPECT_EQ(base64_decode("Zm9vYmFy"), "foobar");
  EXPECT_EQ(base64_decode("+/+/"), "\xFB\xFF\xBF");
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "Zm9*", "Z=9v", "Zm9v\n"})
    EXPECT_FALSE(base64_decode(text)) << text;
}

}  // namespace
}  // namespace plm
