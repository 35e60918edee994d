// The tests of the template language: what stands behind `is`. Declared in builtin.h. Tested by
// tests/text/jinja/test_conformance.cpp.
#include <array>
#include <cstdint>
#include <string_view>

#include "text/jinja/access.h"
#include "text/jinja/builtin.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"

namespace plm::jinja {
namespace {

template <char16_t first, char16_t second>
Value compare(Call& call) {
  constexpr char kSign[] = {static_cast<char>(first), static_cast<char>(second)};
  const std::string_view sign(kSign, second == 0 ? 1 : 2);
  return Value(compares(call.rendering, sign, call.subject, call[0]));
}

Value boolean(Call& call) { return Value(call.subject.boolean() != nullptr); }
Value callable(Call& call) { return Value(call.subject.object() != nullptr && call.subject.object()->is_callable()); }
Value defined(Call& call) { return Value(!call.subject.is_undefined()); }
Value undefined(Call& call) { return Value(call.subject.is_undefined()); }
Value none(Call& call) { return Value(call.subject.is_none()); }
Value number(Call& call) { return Value(call.subject.number().has_value()); }
Value real(Call& call) { return Value(call.subject.real() != nullptr); }
Value integer(Call& call) { return Value(call.subject.integer() && call.subject.boolean() == nullptr); }
Value string(Call& call) { return Value(call.subject.text() != nullptr); }
Value mapping(Call& call) { return Value(call.subject.dictionary() != nullptr); }
Value iterable(Call& call) { return Value(is_iterable(call.subject)); }
Value is_this_true(Call& call) { return Value(call.subject.boolean() != nullptr && *call.subject.boolean()); }
Value is_this_false(Call& call) { return Value(call.subject.boolean() != nullptr && !*call.subject.boolean()); }
Value escaped(Call& /*call*/) { return Value(false); }

Value sequence(Call& call) {
  const Sequence* items = call.subject.sequence();
  return Value(call.subject.is_undefined() || call.subject.text() != nullptr || call.subject.dictionary() != nullptr ||
               (items != nullptr && items->is_indexed()));
}

template <int wanted>
Value has_remainder(Call& call) {
  const Value remainder = arithmetic(call.rendering, "%", call.subject, Value(std::int64_t{2}));
  return Value(is_equal(call.rendering, remainder, Value(std::int64_t{wanted})));
}

Value divisibleby(Call& call) {
  const Value remainder = arithmetic(call.rendering, "%", call.subject, call[0]);
  return Value(is_equal(call.rendering, remainder, Value(std::int64_t{0})));
}

Value in(Call& call) { return Value(contains(call.rendering, call[0], call.subject)); }
Value sameas(Call& call) {
  if (call.subject.text() != nullptr) call.rendering.spend_text(call.subject.text()->size());
  return Value(call.subject.is_same(call[0]));
}

template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value cased(Call& call) {
  const MarkedText text = printed(call.rendering, call.subject);
  call.rendering.spend_text(text.size());
  bool has_any = false;
  for (const Character character : Characters(text.text())) {
    if (other(character.code)) return Value(false);
    has_any |= wanted(character.code);
  }
  return Value(has_any);
}

template <const Builtin* (*find)(std::string_view)>
Value is_known(Call& call) {
  return Value(call.subject.text() != nullptr && find(call.subject.text()->text()) != nullptr);
}

constexpr std::array<Builtin, 39> kTests = {{
    {"!=", "other", compare<'!', '='>},
    {"<", "other", compare<'<', 0>},
    {"<=", "other", compare<'<', '='>},
    {"==", "other", compare<'=', '='>},
    {">", "other", compare<'>', 0>},
    {">=", "other", compare<'>', '='>},
    {"boolean", "", boolean},
    {"callable", "", callable},
    {"defined", "", defined},
    {"divisibleby", "num", divisibleby},
    {"eq", "other", compare<'=', '='>},
    {"equalto", "other", compare<'=', '='>},
    {"escaped", "", escaped},
    {"even", "", has_remainder<0>},
    {"false", "", is_this_false},
    {"filter", "", is_known<find_filter>},
    {"float", "", real},
    {"ge", "other", compare<'>', '='>},
    {"greaterthan", "other", compare<'>', 0>},
    {"gt", "other", compare<'>', 0>},
    {"in", "seq", in},
    {"integer", "", integer},
    {"iterable", "", iterable},
    {"le", "other", compare<'<', '='>},
    {"lessthan", "other", compare<'<', 0>},
    {"lower", "", cased<is_lower, is_upper>},
    {"lt", "other", compare<'<', 0>},
    {"mapping", "", mapping},
    {"ne", "other", compare<'!', '='>},
    {"none", "", none},
    {"number", "", number},
    {"odd", "", has_remainder<1>},
    {"sameas", "other", sameas},
    {"sequence", "", sequence},
    {"string", "", string},
    {"test", "", is_known<find_test>},
    {"true", "", is_this_true},
    {"undefined", "", undefined},
    {"upper", "", cased<is_upper, is_lower>},
}};

}  // namespace

const Builtin* find_test(std::string_view name) { return find_builtin(kTests, name); }

}  // namespace plm::jinja
