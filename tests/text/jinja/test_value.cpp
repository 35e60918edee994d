#include "text/jinja/value.h"

#include <gtest/gtest.h>

#include "text/jinja/failure.h"

namespace plm::jinja {
namespace {

Value text(std::string_view characters) { return Value::input(std::string(characters)); }

TEST(JinjaValue, EqualNumbersAreOneKey) {
  Dictionary dictionary;
  dictionary.set(Value(std::int64_t{1}), text("a"));
  dictionary.set(Value(true), text("b"));
  dictionary.set(Value(1.0), text("c"));
  ASSERT_EQ(dictionary.size(), 1U);
  EXPECT_EQ(dictionary.find(Value(std::int64_t{1}))->text()->text(), "c");
}

TEST(JinjaValue, DifferentKeysHaveDifferentSpellings) {
  const std::vector<Value> keys = {None{},
                                   Value(),
                                   text("n"),
                                   text("1"),
                                   Value(std::int64_t{1}),
                                   Value(1.5),
                                   make_tuple({}),
                                   make_tuple({text("a"), text("b")}),
                                   make_tuple({text("a1:sb")}),
                                   make_tuple({make_tuple({text("a")})})};
  Dictionary dictionary;
  for (const Value& key : keys) dictionary.set(key, key);
  EXPECT_EQ(dictionary.size(), keys.size());
  EXPECT_THROW(dictionary.set(make_list({}), Value()), Failure);
}

TEST(JinjaValue, KeepsTheOrderOfKeys) {
  Dictionary dictionary;
  for (const char* key : {"b", "a", "c", "a"}) dictionary.set(text(key), text(key));
  std::string order;
  for (const auto& [key, value] : dictionary.entries()) order += key.text()->text();
  EXPECT_EQ(order, "bac");
  EXPECT_NE(dictionary.find("c"), nullptr);
  EXPECT_EQ(dictionary.find("d"), nullptr);
}

TEST(JinjaValue, NestingIsCountedAndBounded) {
  Value value = make_list({});
  EXPECT_EQ(value.depth(), 1U);
  value = make_tuple({value, text("x")});
  EXPECT_EQ(value.depth(), 2U);
  EXPECT_THROW(for (int i = 0; i < 1000; ++i) value = make_list({value}), Failure);
}

TEST(JinjaValue, TruthIsPythons) {
  for (const Value& value : {Value(), Value(None{}), Value(false), Value(std::int64_t{0}), Value(0.0), text(""),
                             make_list({}), make_tuple({})}) {
    EXPECT_FALSE(value.is_true()) << value.type_name();
  }
  for (const Value& value : {Value(true), Value(std::int64_t{-1}), Value(0.1), text(" "), make_list({Value()})}) {
    EXPECT_TRUE(value.is_true()) << value.type_name();
  }
}

TEST(JinjaValue, UseOfAnUndefinedValueSaysWhy) {
  try {
    Value::undefined("'x' is undefined").check_defined();
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.reason(), "'x' is undefined");
  }
}

}  // namespace
}  // namespace plm::jinja
