#include "format/name_index.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

struct Named {
  std::string_view name;
  int value;
};
using Index = NameIndex<Named, &Named::name>;

TEST(NameIndex, FindsEveryEntryAndNothingElse) {
  const std::vector<Named> entries{{"b", 0}, {"", 1}, {"ab", 2}, {"a", 3}};
  const auto index = Index::of(entries, "key");
  ASSERT_TRUE(index);
  for (const Named& entry : entries) EXPECT_EQ(index->find(entries, entry.name), &entry);
  for (const std::string_view absent : {"aa", "c", "abc", "B"}) EXPECT_EQ(index->find(entries, absent), nullptr);
  EXPECT_EQ(Index().find({}, "a"), nullptr);
}

TEST(NameIndex, NamesTheTwin) {
  const std::vector<Named> entries{{"x", 0}, {"a\x1b", 1}, {"y", 2}, {"a\x1b", 3}};
  const auto index = Index::of(entries, "key");
  ASSERT_FALSE(index);
  EXPECT_NE(index.error().message.find("key a\\x1b: stands twice"), std::string::npos) << index.error().message;
}

}  // namespace
}  // namespace plm
