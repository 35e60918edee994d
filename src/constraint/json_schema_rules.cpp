#include "constraint/json_schema_rules.h"

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"

namespace plm {
namespace {

template <typename T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Appends what is not there yet; lists of this kind are short.
template <typename T>
void append_new(std::vector<T>& list, const std::vector<T>& more) {
  for (const T& item : more) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string key_of(const std::string& text) { return text; }
std::string key_of(const Decimal& value) { return value.text(); }

template <typename T>
void meet_only(std::optional<std::vector<T>>& only, const std::optional<std::vector<T>>& other) {
  if (!other.has_value()) return;
  if (!only.has_value()) {
    only = other;
    return;
  }
  std::unordered_set<std::string> kept;
  for (const T& item : *other) kept.insert(key_of(item));
  std::erase_if(*only, [&](const T& item) { return !kept.contains(key_of(item)); });
}

template <typename T>
void remove_excluded(std::vector<T>& only, const std::vector<T>& excluded) {
  std::unordered_set<std::string> gone;
  for (const T& item : excluded) gone.insert(key_of(item));
  std::unordered_set<std::string> seen;
  std::erase_if(only, [&](const T& item) { return gone.contains(key_of(item)) || !seen.insert(key_of(item)).second; });
}

bool has_value(const NumberRule& number) {
  if (number.only.has_value()) return !number.only->empty();
  if (!number.lower.has_value() || !number.upper.has_value()) return true;
  if (number.lower->value > number.upper->value) return false;
  return number.lower->value != number.upper->value || !(number.lower->exclusive || number.upper->exclusive);
}

// Whether a property is required that no object may have.
bool misses_required(const ObjectRule& object, SchemaTerm never) {
  if (object.required.empty()) return false;
  std::unordered_set<std::string_view> absent;
  for (const ObjectRule::Members& rule : object.members) {
    if (rule.must == never && !rule.keys->complement) absent.insert(rule.keys->keys.begin(), rule.keys->keys.end());
  }
  for (const std::string& key : object.required) {
    if (absent.contains(key)) return true;
  }
  return std::any_of(object.members.begin(), object.members.end(), [&](const ObjectRule::Members& rule) {
    if (rule.must != never || !rule.keys->complement || !rule.keys->patterns.empty()) return false;
    const std::unordered_set<std::string_view> allowed(rule.keys->keys.begin(), rule.keys->keys.end());
    return !std::all_of(object.required.begin(), object.required.end(),
                        [&](const std::string& key) { return allowed.contains(key); });
  });
}

}  // namespace

void add_term(SchemaTerms& terms, SchemaTerm term) {
  const auto place = std::lower_bound(terms.begin(), terms.end(), term);
  if (place == terms.end() || *place != term) terms.insert(place, term);
}

void NumberRule::meet(const NumberRule& other) {
  const auto tighter = [](const std::optional<Bound>& bound, const std::optional<Bound>& than, bool low) {
    if (!than.has_value()) return bound.has_value();
    if (!bound.has_value()) return false;
    if (bound->value != than->value) return low == (bound->value > than->value);
    return bound->exclusive;
  };
  if (!tighter(lower, other.lower, true) && other.lower.has_value()) lower = other.lower;
  if (!tighter(upper, other.upper, false) && other.upper.has_value()) upper = other.upper;
  append_new(multiples, other.multiples);
  meet_only(only, other.only);
  append(excluded, other.excluded);
}

bool NumberRule::allows(const Decimal& value) const {
  if (lower.has_value() && (value < lower->value || (lower->exclusive && value == lower->value))) return false;
  if (upper.has_value() && (value > upper->value || (upper->exclusive && value == upper->value))) return false;
  if (std::find(excluded.begin(), excluded.end(), value) != excluded.end()) return false;
  return std::all_of(multiples.begin(), multiples.end(),
                     [&](const Multiple& multiple) { return value.is_multiple_of(multiple.step) == multiple.holds; });
}

void StringRule::meet(const StringRule& other) {
  min_length = std::max(min_length, other.min_length);
  max_length = std::min(max_length, other.max_length);
  append_new(patterns, other.patterns);
  append_new(formats, other.formats);
  meet_only(only, other.only);
  append(excluded, other.excluded);
}

void ArrayRule::meet(const ArrayRule& other) {
  append(items, other.items);
  append(contains, other.contains);
  min_items = std::max(min_items, other.min_items);
  max_items = std::min(max_items, other.max_items);
  if (!unique.has_value()) unique = other.unique;
}

void ObjectRule::meet(const ObjectRule& other) {
  append(members, other.members);
  append(some, other.some);
  std::unordered_set<std::string_view> known(required.begin(), required.end());
  std::vector<std::string> added;
  for (const std::string& key : other.required) {
    if (known.insert(key).second) added.push_back(key);
  }
  append(required, added);
  append_new(names, other.names);
  min_properties = std::max(min_properties, other.min_properties);
  max_properties = std::min(max_properties, other.max_properties);
}

void ValueRule::meet(const ValueRule& other) {
  kinds &= other.kinds;
  if ((kinds & kNumber) != 0) number.meet(other.number);
  if ((kinds & kString) != 0) string.meet(other.string);
  if ((kinds & kArray) != 0) array.meet(other.array);
  if ((kinds & kObject) != 0) object.meet(other.object);
}

void ValueRule::settle(SchemaTerm never) {
  if (number.only.has_value() && (kinds & kNumber) != 0) {
    remove_excluded(*number.only, {});
    std::erase_if(*number.only, [&](const Decimal& value) {
      return (kinds & (value.is_integer() ? kInteger : kFraction)) == 0 || !number.allows(value);
    });
  }
  if ((kinds & kNumber) != 0 && !has_value(number)) kinds &= static_cast<std::uint8_t>(~kNumber);
  if (string.only.has_value() && (kinds & kString) != 0) {
    remove_excluded(*string.only, string.excluded);
    std::erase_if(*string.only, [&](const std::string& text) {
      const std::size_t length = character_count(text);
      return length < string.min_length || length > string.max_length;
    });
  }
  const bool no_string = string.min_length > string.max_length || (string.only.has_value() && string.only->empty());
  if (no_string) kinds &= static_cast<std::uint8_t>(~kString);
  if (array.min_items > array.max_items) kinds &= static_cast<std::uint8_t>(~kArray);
  const bool no_object = object.min_properties > object.max_properties ||
                         object.required.size() > object.max_properties || misses_required(object, never);
  if (no_object) kinds &= static_cast<std::uint8_t>(~kObject);
}

}  // namespace plm
