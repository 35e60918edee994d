// A decimal number exactly as JSON writes it, of any length: bounds and multiples of a schema are compared as written,
// never as binary fractions.
// Tested by tests/constraint/test_decimal.cpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plm {

class Decimal {
 public:
  /// Digits in the plain form of a number that is still handled; 1e400 is, 1e9999 is not.
  static constexpr std::size_t kMostDigits = 400;

  Decimal() = default;  ///< zero
  explicit Decimal(std::int64_t value);
  /// nullopt: not a JSON number, or more digits than kMostDigits when written without an exponent.
  static std::optional<Decimal> parse(std::string_view text);

  [[nodiscard]] bool is_zero() const { return digits_.empty(); }
  [[nodiscard]] bool is_negative() const { return negative_; }
  [[nodiscard]] bool is_integer() const { return exponent_ >= 0; }
  /// Without the sign.
  [[nodiscard]] Decimal magnitude() const;
  /// Digits before the point without leading zeros, "0" if there are none.
  [[nodiscard]] std::string integer_digits() const;
  /// Digits after the point without trailing zeros, "" if there are none.
  [[nodiscard]] std::string fraction_digits() const;
  /// "-12.5": without an exponent, the shortest such text.
  [[nodiscard]] std::string text() const;
  /// An integer multiple of `step`, which is greater than zero.
  [[nodiscard]] bool is_multiple_of(const Decimal& step) const;
  /// The value, if it is an integer of at most 18 digits.
  [[nodiscard]] std::optional<std::int64_t> small_integer() const;
  /// This times 10^power.
  [[nodiscard]] Decimal shifted(std::int64_t power) const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);

 private:
  void normalise();

  bool negative_ = false;
  std::string digits_;         // without leading and trailing zeros; "" is zero
  std::int64_t exponent_ = 0;  // the value is digits_ * 10^exponent_
};

}  // namespace plm
