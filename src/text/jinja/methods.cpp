#include "text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/callables.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

Value count_of_items(Call& call) {
  const auto& items = call.subject.sequence()->items;
  return Value(static_cast<std::size_t>(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return is_equal(call.rendering, item, call[0]); })));
}

Value index_of_item(Call& call) {
  const auto& items = call.subject.sequence()->items;
  const auto length = static_cast<std::int64_t>(items.size());
  const auto bound = [&](std::size_t place, std::int64_t fallback) {
    const std::int64_t given = call.integer(place, fallback);
    return std::clamp<std::int64_t>(given < 0 && given >= -length ? given + length : given, 0, length);
  };
  for (std::int64_t i = bound(1, 0); i < bound(2, length); ++i) {
    if (is_equal(call.rendering, items[static_cast<std::size_t>(i)], call[0])) return Value(i);
  }
  refuse("index: the item is not in the {}", call.subject.type_name());
}

Value copy(Call& call) { return call.subject; }

Value get(Call& call) {
  const Value* found = find_item(call.rendering, *call.subject.dictionary(), call[0]);
  if (found != nullptr) return *found;
  return call.given(1) != nullptr ? call[1] : Value(None{});
}

template <Sequence::Kind kind>
Value entries(Call& call) {
  const Dictionary& dictionary = *call.subject.dictionary();
  call.rendering.spend_steps(dictionary.size());
  std::vector<Value> items;
  items.reserve(dictionary.size());
  for (const auto& [key, value] : dictionary.entries()) {
    items.push_back(kind == Sequence::Kind::keys     ? key
                    : kind == Sequence::Kind::values ? value
                                                     : make_tuple({key, value}));
  }
  return make_sequence(kind, std::move(items));
}

Value cycle(Call& call) {
  if (!call.rest.keywords.empty()) refuse("cycle takes no named arguments");
  return call.subject.as<LoopState>()->cycle(call.rest.positional);
}

Value changed(Call& call) {
  return Value(call.subject.as<LoopState>()->changed(call.rendering, std::move(call.rest.positional)));
}

Value next(Call& call) { return call.subject.as<Cycler>()->next(); }

Value reset(Call& call) {
  call.subject.as<Cycler>()->reset();
  return None{};
}

Value is_whole(Call& call) { return Value(std::trunc(*call.subject.real()) == *call.subject.real()); }

constexpr std::array<Builtin, 3> kListMethods = {{
    {"copy", "", copy},
    {"count", "value", count_of_items},
    {"index", "value start? stop?", index_of_item},
}};
constexpr std::array<Builtin, 5> kDictionaryMethods = {{
    {"copy", "", copy},
    {"get", "key default?", get},
    {"items", "", entries<Sequence::Kind::items>},
    {"keys", "", entries<Sequence::Kind::keys>},
    {"values", "", entries<Sequence::Kind::values>},
}};
constexpr std::array<Builtin, 2> kLoopMethods = {{{"changed", "*", changed}, {"cycle", "*", cycle}}};
constexpr std::array<Builtin, 2> kCyclerMethods = {{{"next", "", next}, {"reset", "", reset}}};
constexpr std::array<Builtin, 1> kRealMethods = {{{"is_integer", "", is_whole}}};

constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kDictionaryChanges = {"clear", "pop", "popitem", "setdefault", "update"};

// The methods of the subject's type; `is_list` tells lists from tuples and ranges, which cannot be copied.
std::span<const Builtin> methods_of(const Value& subject) {
  if (subject.text() != nullptr) return text_methods();
  if (subject.dictionary() != nullptr) return kDictionaryMethods;
  if (subject.real() != nullptr) return kRealMethods;
  if (const Sequence* sequence = subject.sequence()) {
    if (!sequence->is_indexed()) return {};
    return std::span(kListMethods).subspan(sequence->kind == Sequence::Kind::list ? 0 : 1);
  }
  if (subject.as<LoopState>() != nullptr) return kLoopMethods;
  if (subject.as<Cycler>() != nullptr) return kCyclerMethods;
  return {};
}

}  // namespace

const Builtin* find_method(const Value& subject, std::string_view name) {
  return find_builtin(methods_of(subject), name);
}

bool is_forbidden_method(const Value& subject, std::string_view name) {
  const auto among = [name](auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (subject.dictionary() != nullptr) return among(kDictionaryChanges);
  return subject.sequence() != nullptr && subject.sequence()->kind == Sequence::Kind::list && among(kListChanges);
}

}  // namespace plm::jinja
