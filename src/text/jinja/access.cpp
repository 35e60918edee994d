#include "text/jinja/access.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/callables.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"

namespace plm::jinja {
namespace {

// An attribute that is not an item: of an object, or a method.
std::optional<Value> own_attribute(const Value& value, std::string_view name) {
  if (const Object* object = value.object()) {
    if (auto found = object->attribute(name)) return found;
  }
  if (const Builtin* method = find_method(value, name)) {
    check_container_depth(value.depth() + 1);
    return Value(std::make_shared<BoundMethod>(value, *method));
  }
  if (is_forbidden_method(value, name)) {
    return Value::undefined(fmt::format("{} of a {} changes it, which templates may not do", name, value.type_name()));
  }
  if (const Sequence* sequence = value.sequence(); sequence != nullptr && sequence->is_group) {
    if (name == "grouper") return sequence->items[0];
    if (name == "list") return sequence->items[1];
  }
  return std::nullopt;
}

// The item, if there is one; a key of the wrong type is none.
std::optional<Value> own_item(Rendering& rendering, const Value& value, const Value& key) {
  if (const Dictionary* dictionary = value.dictionary()) {
    const bool is_hashable =
        key.dictionary() == nullptr && (key.sequence() == nullptr || key.sequence()->kind == Sequence::Kind::tuple);
    const Value* found = is_hashable ? find_item(rendering, *dictionary, key) : nullptr;
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  const auto wanted = key.integer();
  const Sequence* sequence = value.sequence();
  const bool is_indexed = value.text() != nullptr || (sequence != nullptr && sequence->is_indexed());
  if (!wanted || !is_indexed) return std::nullopt;
  const auto length = static_cast<std::int64_t>(*length_of(rendering, value));
  const std::int64_t index = *wanted < 0 ? *wanted + length : *wanted;
  if (index < 0 || index >= length) return std::nullopt;
  if (sequence != nullptr) return sequence->items[static_cast<std::size_t>(index)];
  const MarkedText& text = *value.text();
  const std::size_t begin = byte_of_character(text.text(), static_cast<std::size_t>(index));
  return rendering.made(text.slice(begin, character_at(text.text(), begin).end()));
}

// The bounds of a slice for a sequence of `length` items, as Python adjusts them.
struct SliceBounds {
  std::int64_t start, stop, step;
  [[nodiscard]] std::size_t count() const {
    if (step > 0) return start < stop ? static_cast<std::size_t>((stop - start - 1) / step + 1) : 0;
    const std::uint64_t stride = 0 - static_cast<std::uint64_t>(step);  // -step itself may overflow
    return stop < start ? static_cast<std::size_t>(static_cast<std::uint64_t>(start - stop - 1) / stride + 1) : 0;
  }
};

SliceBounds slice_bounds(std::int64_t length, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                         std::int64_t step) {
  const auto adjusted = [&](std::int64_t bound) {
    if (bound < 0) bound = bound < -length ? -1 : bound + length;
    const std::int64_t least = step > 0 ? 0 : -1;
    return std::clamp<std::int64_t>(bound, least, step > 0 ? length : length - 1);
  };
  const std::int64_t first = step > 0 ? 0 : length - 1;
  const std::int64_t last = step > 0 ? length : -1;
  return {start ? adjusted(*start) : first, stop ? adjusted(*stop) : last, step};
}

Value slice_text(Rendering& rendering, const MarkedText& text, const SliceBounds& bounds,
                 const std::vector<std::size_t>& starts) {
  MarkedText part;
  const std::size_t count = bounds.count();
  if (count == 0) return Value(std::move(part));
  if (bounds.step == 1) {
    return rendering.made(
        text.slice(starts[static_cast<std::size_t>(bounds.start)], starts[static_cast<std::size_t>(bounds.stop)]));
  }
  rendering.spend_steps(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(bounds.start + static_cast<std::int64_t>(i) * bounds.step);
    part.append(text, starts[index], starts[index + 1]);
  }
  return rendering.made(std::move(part));
}

std::vector<Value> characters_of(Rendering& rendering, const MarkedText& text) {
  std::vector<Value> items;
  rendering.spend_steps(text.size());
  for (const Character character : Characters(text.text())) {
    items.emplace_back(text.slice(character.begin, character.end()));
  }
  return items;
}

// All that a generator has left; the failure that ended it, if one did, comes up now.
std::vector<Value> take_items(Sequence& generator) {
  if (generator.failure != nullptr) throw Failure(*generator.failure);
  return std::exchange(generator.items, {});
}

}  // namespace

Value missing_attribute(const Value& value, std::string_view name) {
  return Value::undefined(fmt::format("a {} has no '{}'", value.type_name(), printable(name, 80)));
}

Value attribute(Rendering& rendering, const Value& value, std::string_view name) {
  value.check_defined();
  if (auto own = own_attribute(value, name)) return *std::move(own);
  if (auto item = own_item(rendering, value, Value::input(std::string(name)))) return *std::move(item);
  return missing_attribute(value, name);
}

Value subscript(Rendering& rendering, const Value& value, const Value& key) {
  value.check_defined();
  if (auto item = own_item(rendering, value, key)) return *std::move(item);
  if (const MarkedText* name = key.text()) {
    if (auto own = own_attribute(value, name->text())) return *std::move(own);
    return missing_attribute(value, name->text());
  }
  if (const auto index = key.integer()) {
    return Value::undefined(fmt::format("a {} has no item {}", value.type_name(), *index));
  }
  return Value::undefined(fmt::format("a {} has no item whose key is a {}", value.type_name(), key.type_name()));
}

Value slice(Rendering& rendering, const Value& value, const Value& start, const Value& stop, const Value& step) {
  value.check_defined();
  for (const Value* bound : {&start, &stop, &step}) {
    if (!bound->is_none() && !bound->integer()) {
      refuse("a slice needs whole numbers, found a {}", bound->type_name());
    }
  }
  const std::int64_t stride = step.integer().value_or(1);
  if (stride == 0) refuse("the step of a slice cannot be 0");
  if (const MarkedText* text = value.text()) {
    rendering.spend_text(text->size());
    const auto starts = character_starts(text->text());
    const auto length = static_cast<std::int64_t>(starts.size()) - 1;
    return slice_text(rendering, *text, slice_bounds(length, start.integer(), stop.integer(), stride), starts);
  }
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || !sequence->is_indexed()) {
    refuse("a {} cannot be sliced", value.type_name());
  }
  const auto length = static_cast<std::int64_t>(sequence->items.size());
  const SliceBounds bounds = slice_bounds(length, start.integer(), stop.integer(), stride);
  const std::size_t count = bounds.count();
  rendering.spend_steps(count);
  std::vector<Value> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(sequence->items[static_cast<std::size_t>(bounds.start + static_cast<std::int64_t>(i) * stride)]);
  }
  const bool is_tuple = sequence->kind == Sequence::Kind::tuple;
  return make_sequence(is_tuple ? Sequence::Kind::tuple : Sequence::Kind::list, std::move(items));
}

bool is_iterable(const Value& value) {
  return value.text() != nullptr || value.sequence() != nullptr || value.dictionary() != nullptr ||
         value.is_undefined() || value.as<LoopState>() != nullptr;
}

std::vector<Value> items_of(Rendering& rendering, const Value& value) {
  if (const MarkedText* text = value.text()) return characters_of(rendering, *text);
  if (Sequence* sequence = value.sequence()) {
    rendering.spend_steps(sequence->items.size());
    if (sequence->kind == Sequence::Kind::generator) return take_items(*sequence);
    return sequence->items;
  }
  if (const Dictionary* dictionary = value.dictionary()) {
    rendering.spend_steps(dictionary->size());
    std::vector<Value> keys;
    keys.reserve(dictionary->size());
    for (const auto& [key, item] : dictionary->entries()) keys.push_back(key);
    return keys;
  }
  if (value.is_undefined()) return {};
  refuse("a {} cannot be iterated", value.type_name());
}

std::optional<std::size_t> length_of(Rendering& rendering, const Value& value) {
  if (const MarkedText* text = value.text()) {
    rendering.spend_text(text->size());
    return count_characters(text->text());
  }
  if (const Sequence* sequence = value.sequence(); sequence != nullptr && sequence->kind != Sequence::Kind::generator) {
    return sequence->items.size();
  }
  if (const Dictionary* dictionary = value.dictionary()) return dictionary->size();
  if (value.is_undefined()) return 0;
  return std::nullopt;
}

}  // namespace plm::jinja
