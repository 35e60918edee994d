#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/limits.h"
#include "text/seeded_hash.h"

namespace plm::jinja {
namespace {

constexpr std::size_t kMostTupleKey = 1U << 16;  // bytes spelled; a tuple may hold another many times over

}  // namespace

Value Value::undefined(std::string reason) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(reason))};
  return value;
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* integer = std::get_if<std::int64_t>(&data_)) return *integer;
  if (const auto* flag = boolean()) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const auto* real_number = real()) return *real_number;
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

const MarkedText* Value::text() const {
  const auto* pointer = std::get_if<TextPointer>(&data_);
  return pointer == nullptr ? nullptr : pointer->get();
}

Sequence* Value::sequence() const {
  const auto* pointer = std::get_if<SequencePointer>(&data_);
  return pointer == nullptr ? nullptr : pointer->get();
}

const Dictionary* Value::dictionary() const {
  const auto* pointer = std::get_if<DictionaryPointer>(&data_);
  return pointer == nullptr ? nullptr : pointer->get();
}

Object* Value::object() const {
  const auto* pointer = std::get_if<ObjectPointer>(&data_);
  return pointer == nullptr ? nullptr : pointer->get();
}

bool Value::is_true() const {
  if (is_undefined() || is_none()) return false;
  if (const auto* real_number = real()) return *real_number != 0;
  if (const auto whole = integer()) return *whole != 0;
  if (const auto* string = text()) return !string->empty();
  if (const auto* items = sequence()) return items->kind == Sequence::Kind::generator || !items->items.empty();
  if (const auto* entries = dictionary()) return entries->size() != 0;
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean() != nullptr) return "bool";
  if (real() != nullptr) return "float";
  if (integer()) return "int";
  if (text() != nullptr) return "str";
  if (dictionary() != nullptr) return "dict";
  if (const auto* thing = object()) return thing->type_name();
  switch (sequence()->kind) {
    case Sequence::Kind::list: return "list";
    case Sequence::Kind::tuple: return "tuple";
    case Sequence::Kind::range: return "range";
    case Sequence::Kind::keys: return "dict_keys";
    case Sequence::Kind::values: return "dict_values";
    case Sequence::Kind::items: return "dict_items";
    case Sequence::Kind::generator: break;
  }
  return "generator";
}

std::size_t Value::depth() const {
  if (const auto* items = sequence()) return items->depth;
  if (const auto* entries = dictionary()) return entries->depth();
  if (const auto* thing = object()) return thing->depth();
  return 0;
}

void Value::check_defined() const {
  const auto* missing = std::get_if<Undefined>(&data_);
  if (missing == nullptr) return;
  refuse("{}", missing->reason == nullptr ? std::string("an undefined value is used") : *missing->reason);
}

bool Value::is_same(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_undefined()) return true;
  if (is_none()) return true;
  if (const auto* real_number = real()) return *real_number == *other.real();
  if (const auto whole = integer()) return *whole == *other.integer();
  if (const auto* string = text()) return string == other.text() || string->text() == other.text()->text();
  if (const auto* items = sequence()) return items == other.sequence();
  if (const auto* entries = dictionary()) return entries == other.dictionary();
  return object() == other.object();
}

void check_container_depth(std::size_t depth) {
  constexpr std::size_t kMost = Limits{}.container_depth;
  if (depth > kMost) refuse("lists and dictionaries nest deeper than {} levels", kMost);
}

Value make_sequence(Sequence::Kind kind, std::vector<Value> items) {
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  for (const Value& item : items) sequence->depth = std::max(sequence->depth, item.depth() + 1);
  check_container_depth(sequence->depth);
  sequence->items = std::move(items);
  return Value(std::move(sequence));
}

std::string key_spelling(const Value& key) {
  if (const auto* string = key.text()) return "s" + string->text();
  if (key.is_none()) return "n";
  if (const auto whole = key.integer()) return "i" + std::to_string(*whole);
  if (const auto* real_number = key.real()) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    const bool is_whole = std::abs(*real_number) <= kExact && std::trunc(*real_number) == *real_number;
    if (is_whole) return "i" + std::to_string(static_cast<std::int64_t>(*real_number));
    return fmt::format("f{}", *real_number);
  }
  if (const auto* items = key.sequence(); items != nullptr && items->kind == Sequence::Kind::tuple) {
    std::string spelled = "t";
    for (const Value& item : items->items) {
      const std::string part = key_spelling(item);
      spelled += fmt::format("{}:{}", part.size(), part);
      if (spelled.size() > kMostTupleKey) refuse("a tuple is too long to be the key of a dictionary");
    }
    return spelled;
  }
  if (key.is_undefined()) return "u";
  if (const auto* thing = key.object()) return fmt::format("o{}", static_cast<const void*>(thing));
  refuse("a {} cannot be the key of a dictionary", key.type_name());
}

std::size_t Dictionary::Hash::operator()(std::string_view text) const {
  static const std::uint64_t seed = hash_seed(&seed);
  return hash_text(text, seed);
}

void Dictionary::set(Value key, Value value) {
  depth_ = std::max({depth_, value.depth() + 1, key.depth() + 1});
  check_container_depth(depth_);
  const auto [place, is_new] = index_.try_emplace(key_spelling(key), entries_.size());
  if (is_new) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
}

const Value* Dictionary::find_spelled(const std::string& spelled) const {
  const auto found = index_.find(spelled);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dictionary::find(const Value& key) const { return find_spelled(key_spelling(key)); }

const Value* Dictionary::find(std::string_view key) const { return find_spelled("s" + std::string(key)); }

}  // namespace plm::jinja
