#include "constraint/json_schema_number.h"

#include <algorithm>

#include "constraint/digit_automaton.h"

namespace plm {
namespace {

constexpr std::size_t kFewIntegers = 256;  // that a bounded multiple is listed for instead of counted

// Whether a rule looks at nothing but the sign of a number.
bool only_sign(const NumberRule& rule) {
  const auto at_zero = [](const std::optional<NumberRule::Bound>& bound) {
    return !bound.has_value() || bound->value.is_zero();
  };
  return at_zero(rule.lower) && at_zero(rule.upper) && rule.multiples.empty() && rule.excluded.empty();
}

}  // namespace

Result<Regular> SchemaNumbers::texts(const NumberRule& rule, std::uint8_t kinds) {
  const bool looks_inside = rule.only.has_value() || !rule.multiples.empty() || !rule.excluded.empty();
  if (const auto list = looks_inside ? listed(rule, kinds, kFewIntegers) : std::nullopt; list.has_value()) {
    std::vector<std::string> texts;
    for (const Decimal& value : *list) texts.push_back(value.text());
    return store_.literals(std::move(texts));
  }
  const Regular integer =
      store_.alternate({store_.literal("0"), store_.concatenate({digit('1', '9'), digits(0, kUnbounded)})});
  const bool fractions = (kinds & kFraction) != 0;
  Regular magnitude = fractions ? store_.concatenate({integer, any_fraction()}) : integer;
  if (fractions && only_sign(rule) && (kinds & kInteger) != 0) {
    const Regular exponent = store_.concatenate(
        {store_.bytes(ByteSet::range('E', 'E') | ByteSet::range('e', 'e')),
         store_.optional(store_.bytes(ByteSet::range('+', '+') | ByteSet::range('-', '-'))), digits(1, kUnbounded)});
    magnitude = store_.concatenate({magnitude, store_.optional(exponent)});
  }
  std::vector<Regular> parts = {signed_text(magnitude)};
  if (rule.lower.has_value()) parts.push_back(at_least(*rule.lower));
  if (rule.upper.has_value()) parts.push_back(at_most(*rule.upper));
  for (const Decimal& value : rule.excluded) {
    const Regular same = equal_to(value);
    parts.push_back(store_.complement(value.is_zero() ? signed_text(same) : same));
  }
  for (const NumberRule::Multiple& multiple : rule.multiples) {
    PLM_TRY_ASSIGN(const Regular counted, multiples(multiple));
    parts.push_back(counted);
  }
  if (kinds == kFraction) {  // a digit after the point that is not 0
    parts.push_back(signed_text(store_.concatenate(
        {integer, store_.literal("."), store_.star(store_.literal("0")), digit('1', '9'), digits(0, kUnbounded)})));
  }
  return parts.size() == 1 ? parts.front() : store_.intersect(parts);
}

std::optional<std::vector<Decimal>> SchemaNumbers::listed(const NumberRule& rule, std::uint8_t kinds,
                                                          std::size_t most) {
  if (rule.only.has_value()) {
    std::vector<Decimal> kept;
    for (const Decimal& value : *rule.only) {
      if ((kinds & (value.is_integer() ? kInteger : kFraction)) != 0 && rule.allows(value)) kept.push_back(value);
    }
    return kept;
  }
  if (kinds != kInteger || !rule.lower.has_value() || !rule.upper.has_value()) return std::nullopt;
  const auto low = Decimal::parse(rule.lower->value.text().substr(0, rule.lower->value.text().find('.')));
  const auto high = Decimal::parse(rule.upper->value.text().substr(0, rule.upper->value.text().find('.')));
  const auto first = low.has_value() ? low->small_integer() : std::nullopt;
  const auto last = high.has_value() ? high->small_integer() : std::nullopt;
  if (!first.has_value() || !last.has_value()) return std::nullopt;
  std::int64_t step = 1;
  for (const NumberRule::Multiple& multiple : rule.multiples) {
    if (multiple.holds) step = std::max(step, multiple.step.small_integer().value_or(1));
  }
  if ((*last - *first) / step > static_cast<std::int64_t>(most)) return std::nullopt;
  std::vector<Decimal> kept;
  for (std::int64_t value = *first - 1 - (*first - 1) % step - (step > 1 ? step : 0); value <= *last + 1;
       value += step) {
    if (rule.allows(Decimal(value))) kept.emplace_back(value);
    if (kept.size() > most) return std::nullopt;
  }
  return kept;
}

Regular SchemaNumbers::digit(char first, char last) {
  return first > last ? Regular::nothing
                      : store_.bytes(ByteSet::range(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last)));
}

Regular SchemaNumbers::digits(std::size_t min, std::size_t max) {
  return store_.repeat(digit('0', '9'), static_cast<std::uint32_t>(min), static_cast<std::uint32_t>(max));
}

Regular SchemaNumbers::any_fraction() {
  return store_.optional(store_.concatenate({store_.literal("."), digits(1, kUnbounded)}));
}

Regular SchemaNumbers::signed_text(Regular magnitude) {
  return store_.concatenate({store_.optional(store_.literal("-")), magnitude});
}

// Texts without sign and exponent of at least (more than) `bound`, which is not negative.
Regular SchemaNumbers::above(const Decimal& bound, bool exclusive) {
  const std::string integer = bound.integer_digits();
  std::vector<Regular> ways;
  ways.push_back(store_.concatenate({digit('1', '9'), digits(integer.size(), kUnbounded), any_fraction()}));
  for (std::size_t i = 0; i < integer.size(); ++i) {
    const char next = static_cast<char>(integer[i] + 1);
    ways.push_back(store_.concatenate({store_.literal(integer.substr(0, i)), digit(next, '9'),
                                       digits(integer.size() - i - 1, integer.size() - i - 1), any_fraction()}));
  }
  ways.push_back(store_.concatenate({store_.literal(integer), fraction_above(bound.fraction_digits(), exclusive)}));
  return store_.alternate(ways);
}

Regular SchemaNumbers::fraction_above(const std::string& bound, bool exclusive) {
  const Regular more = store_.concatenate({digits(0, kUnbounded), digit('1', '9'), digits(0, kUnbounded)});
  const Regular point = store_.literal(".");
  if (bound.empty()) return exclusive ? store_.concatenate({point, more}) : any_fraction();
  std::vector<Regular> ways;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    ways.push_back(store_.concatenate(
        {store_.literal(bound.substr(0, i)), digit(static_cast<char>(bound[i] + 1), '9'), digits(0, kUnbounded)}));
  }
  ways.push_back(store_.concatenate({store_.literal(bound), exclusive ? more : digits(0, kUnbounded)}));
  return store_.concatenate({point, store_.alternate(ways)});
}

Regular SchemaNumbers::below(const Decimal& bound, bool exclusive) {
  const std::string integer = bound.integer_digits();
  std::vector<Regular> ways;
  if (integer.size() > 1) {
    ways.push_back(store_.concatenate({store_.literal("0"), any_fraction()}));
    ways.push_back(store_.concatenate({digit('1', '9'), digits(0, integer.size() - 2), any_fraction()}));
  }
  for (std::size_t i = 0; i < integer.size(); ++i) {
    const char least = i == 0 && integer.size() > 1 ? '1' : '0';
    ways.push_back(
        store_.concatenate({store_.literal(integer.substr(0, i)), digit(least, static_cast<char>(integer[i] - 1)),
                            digits(integer.size() - i - 1, integer.size() - i - 1), any_fraction()}));
  }
  ways.push_back(store_.concatenate({store_.literal(integer), fraction_below(bound.fraction_digits(), exclusive)}));
  return store_.alternate(ways);
}

Regular SchemaNumbers::fraction_below(const std::string& bound, bool exclusive) {
  const Regular zeros = store_.star(store_.literal("0"));
  const Regular point = store_.literal(".");
  if (bound.empty()) {
    if (exclusive) return Regular::nothing;
    return store_.optional(store_.concatenate({point, store_.plus(store_.literal("0"))}));
  }
  std::vector<Regular> ways;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (i > 0) ways.push_back(store_.literal(bound.substr(0, i)));  // ends early, so it is less
    ways.push_back(store_.concatenate(
        {store_.literal(bound.substr(0, i)), digit('0', static_cast<char>(bound[i] - 1)), digits(0, kUnbounded)}));
  }
  if (!exclusive) ways.push_back(store_.concatenate({store_.literal(bound), zeros}));
  return store_.optional(store_.concatenate({point, store_.alternate(ways)}));
}

namespace {

Regular with_exponent(RegularStore& store, Regular mantissa) {
  // Only meets the texts that the kind of number allows, so that it says nothing where no exponent may stand.
  const Regular mark = store.bytes(ByteSet::range('E', 'E') | ByteSet::range('e', 'e'));
  return store.concatenate(
      {mantissa, store.optional(store.concatenate({mark, store.star(store.bytes(ByteSet::all()))}))});
}

}  // namespace

Regular SchemaNumbers::at_least(const NumberRule::Bound& bound) {
  const Regular minus = store_.literal("-");
  const Decimal zero;
  if (bound.value > zero) return above(bound.value, bound.exclusive);
  if (bound.value == zero) {
    const Regular positive = with_exponent(store_, above(zero, bound.exclusive));
    if (bound.exclusive) return positive;
    return store_.alternate({positive, store_.concatenate({minus, with_exponent(store_, equal_to(zero))})});
  }
  return store_.alternate(
      {above(zero, false), store_.concatenate({minus, below(bound.value.magnitude(), bound.exclusive)})});
}

Regular SchemaNumbers::at_most(const NumberRule::Bound& bound) {
  const Regular minus = store_.literal("-");
  const Decimal zero;
  if (bound.value < zero) return store_.concatenate({minus, above(bound.value.magnitude(), bound.exclusive)});
  if (bound.value == zero) {
    const Regular negative = store_.concatenate({minus, with_exponent(store_, above(zero, bound.exclusive))});
    return bound.exclusive ? negative : store_.alternate({negative, with_exponent(store_, equal_to(zero))});
  }
  return store_.alternate({below(bound.value, bound.exclusive), store_.concatenate({minus, above(zero, false)})});
}

// Every text without exponent of this value. Zero has both signs; here without one, as part of a longer text.
Regular SchemaNumbers::equal_to(const Decimal& value) {
  const Regular zeros = store_.star(store_.literal("0"));
  const std::string fraction = value.fraction_digits();
  const Regular tail =
      fraction.empty() ? store_.optional(store_.concatenate({store_.literal("."), store_.plus(store_.literal("0"))}))
                       : store_.concatenate({store_.literal("." + fraction), zeros});
  const Regular magnitude = store_.concatenate({store_.literal(value.integer_digits()), tail});
  return value.is_negative() ? store_.concatenate({store_.literal("-"), magnitude}) : magnitude;
}

Result<Regular> SchemaNumbers::multiples(const NumberRule::Multiple& multiple) {
  const auto key = std::pair(multiple.step.text(), multiple.holds);
  if (const auto known = multiples_.find(key); known != multiples_.end()) return known->second;
  const auto automata = digit_automata(multiple.step, multiple.holds);
  if (!automata.has_value()) {
    PLM_TRY(refusals_.refuse(multiple.origin, "multipleOf",
                             fmt::format("{} needs more than {} remainders; give minimum and maximum as well, or a "
                                         "rounder number",
                                         multiple.step.text(), kMostRemainders),
                             ErrorKind::no_room));
    return store_.star(store_.bytes(ByteSet::all()));
  }
  std::vector<Regular> parts;
  for (const auto& states : *automata) parts.push_back(store_.automaton(states));
  const Regular counted = multiple.holds ? store_.intersect(parts) : store_.alternate(parts);
  multiples_.emplace(key, counted);
  return counted;
}

}  // namespace plm
