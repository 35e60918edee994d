#include "constraint/digit_automaton.h"

#include <cstdint>

namespace plm {
namespace {

constexpr std::uint64_t kSmallModulus = 512;  // one automaton up to here
constexpr std::uint32_t kNone = RegularStore::kNoState;

// Coprime factors of `number`, each at most kMostRemainders; nullopt if there is a larger prime power.
std::optional<std::vector<std::uint64_t>> coprime_factors(std::uint64_t number) {
  if (number <= kSmallModulus) return std::vector<std::uint64_t>{number};
  std::vector<std::uint64_t> factors;
  for (std::uint64_t prime = 2; prime <= kMostRemainders && prime * prime <= number; ++prime) {
    std::uint64_t power = 1;
    for (; number % prime == 0; number /= prime) power *= prime;
    if (power > kMostRemainders) return std::nullopt;
    if (power > 1) factors.push_back(power);
  }
  if (number > kMostRemainders) return std::nullopt;
  if (number > 1) factors.push_back(number);
  return factors;
}

// States: 0 start, 1 after the sign, 2 too fine (a digit beyond the places), then the remainders of the integer part,
// then those after the point with 0 to `places` digits.
class Remainders {
 public:
  Remainders(std::uint64_t modulus, std::size_t places, bool multiple)
      : modulus_(modulus), places_(places), multiple_(multiple) {}

  [[nodiscard]] std::vector<RegularStore::State> states() const {
    std::vector<RegularStore::State> states;
    states.push_back(from_digits(false, '-', 1, [&](unsigned digit) { return state(0, digit % modulus_); }));
    states.push_back(from_digits(false, 0, 0, [&](unsigned digit) { return state(0, digit % modulus_); }));
    states.push_back(from_digits(!multiple_, 0, 0, [&](unsigned) { return multiple_ ? kNone : 2U; }));
    for (std::size_t row = 0; row <= places_ + 1; ++row) {
      for (std::uint64_t rest = 0; rest < modulus_; ++rest) states.push_back(counted(row, rest));
    }
    return states;
  }

 private:
  // Row 0: before the point; row 1 + n: n digits after it.
  [[nodiscard]] std::uint32_t state(std::size_t row, std::uint64_t rest) const {
    return static_cast<std::uint32_t>(3 + row * modulus_ + rest);
  }

  [[nodiscard]] RegularStore::State counted(std::size_t row, std::uint64_t rest) const {
    const std::size_t seen = row == 0 ? 0 : row - 1;
    std::uint64_t scaled = rest;
    for (std::size_t i = seen; i < places_; ++i) scaled = scaled * 10 % modulus_;
    const auto next = [&](unsigned digit) {
      const std::uint64_t longer = (rest * 10 + digit) % modulus_;
      if (row == 0) return state(0, longer);
      if (seen < places_) return state(row + 1, longer);
      return digit == 0 ? state(row, rest) : 2U;
    };
    return from_digits((scaled == 0) == multiple_, row == 0 ? '.' : 0, state(1, rest), next);
  }

  // A state that goes on with `mark` ("-" or ".", or none) and with digits.
  template <typename Next>
  [[nodiscard]] RegularStore::State from_digits(bool accepts, char mark, std::uint32_t after_mark, Next next) const {
    RegularStore::State made{.accepts = accepts};
    if (mark != 0) {
      made.runs.push_back({static_cast<std::uint8_t>(mark - 1), kNone});
      made.runs.push_back({static_cast<std::uint8_t>(mark), after_mark});
    }
    made.runs.push_back({'0' - 1, kNone});
    for (unsigned digit = 0; digit < 10; ++digit) {
      made.runs.push_back({static_cast<std::uint8_t>('0' + digit), next(digit)});
    }
    made.runs.push_back({255, kNone});
    return made;
  }

  std::uint64_t modulus_;
  std::size_t places_;
  bool multiple_;
};

}  // namespace

std::optional<std::vector<std::vector<RegularStore::State>>> digit_automata(const Decimal& step, bool multiple) {
  const std::size_t places = step.fraction_digits().size();
  const auto whole = step.shifted(static_cast<std::int64_t>(places)).small_integer();
  if (!whole.has_value()) return std::nullopt;
  const auto factors = coprime_factors(static_cast<std::uint64_t>(*whole));
  if (!factors.has_value()) return std::nullopt;
  std::vector<std::vector<RegularStore::State>> automata;
  for (const std::uint64_t factor : *factors) {
    if (factor * (places + 2) > 2 * kMostRemainders) return std::nullopt;
    automata.push_back(Remainders(factor, places, multiple).states());
  }
  return automata;
}

}  // namespace plm
