// The texts of the numbers that a rule allows, exactly: bounds are compared digit by digit, multiples are counted by an
// automaton over remainders.
//
// Integers are written without fraction and exponent. Other numbers have an exponent only where no bound, multiple or
// exclusion looks at their value (but its sign): with one, comparing is not regular.
// Tested by tests/constraint/test_json_schema_number.cpp.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "constraint/json_schema_logic.h"
#include "constraint/json_schema_rules.h"
#include "constraint/regular.h"

namespace plm {

class SchemaNumbers {
 public:
  SchemaNumbers(RegularStore& store, SchemaRefusals& refusals) : store_(store), refusals_(refusals) {}

  /// The texts of the numbers of `kinds` (kInteger, kFraction) that `rule` allows. Errors: bad_input (a multiple that
  /// is not supported).
  Result<Regular> texts(const NumberRule& rule, std::uint8_t kinds);
  /// The numbers themselves where there are at most `most`; nullopt otherwise.
  [[nodiscard]] static std::optional<std::vector<Decimal>> listed(const NumberRule& rule, std::uint8_t kinds,
                                                                  std::size_t most);

 private:
  [[nodiscard]] Regular digits(std::size_t min, std::size_t max);
  [[nodiscard]] Regular digit(char first, char last);
  [[nodiscard]] Regular any_fraction();
  [[nodiscard]] Regular above(const Decimal& bound, bool exclusive);
  [[nodiscard]] Regular below(const Decimal& bound, bool exclusive);
  [[nodiscard]] Regular fraction_above(const std::string& bound, bool exclusive);
  [[nodiscard]] Regular fraction_below(const std::string& bound, bool exclusive);
  [[nodiscard]] Regular at_least(const NumberRule::Bound& bound);
  [[nodiscard]] Regular at_most(const NumberRule::Bound& bound);
  [[nodiscard]] Regular equal_to(const Decimal& value);
  [[nodiscard]] Regular signed_text(Regular magnitude);
  Result<Regular> multiples(const NumberRule::Multiple& multiple);

  RegularStore& store_;
  SchemaRefusals& refusals_;
  std::map<std::pair<std::string, bool>, Regular> multiples_;
};

}  // namespace plm
