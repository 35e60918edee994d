// Filters over collections. Declared in filters.h. Tested by tests/text/jinja/test_conformance.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"
#include "text/jinja/text_operations.h"

namespace plm::jinja {
namespace {

std::vector<Value> items(Call& call) { return items_of(call.rendering, call.subject); }

Value generator(Call& call, std::vector<Value> values) {
  call.rendering.spend_steps(values.size());
  return make_sequence(Sequence::Kind::generator, std::move(values));
}

// What `visit` makes of each item, as a generator. Python makes the items one by one when they are asked for, so a
// failure behind the last one that is wanted never happens: it is kept with the generator.
template <typename Visit>
Value generated(Call& call, Visit visit) {
  std::vector<Value> results;
  std::shared_ptr<const Failure> failure;
  try {
    std::vector<Value> given;
    if (Sequence* source = call.subject.sequence(); source != nullptr && source->kind == Sequence::Kind::generator) {
      given = std::exchange(source->items, {});
      failure = source->failure;
      call.rendering.spend_steps(given.size());
    } else {
      given = items(call);
    }
    for (Value& item : given) visit(std::move(item), results);
  } catch (const Failure& met) {
    failure = std::make_shared<const Failure>(met);
  }
  Value sequence = generator(call, std::move(results));
  sequence.sequence()->failure = std::move(failure);
  return sequence;
}

// What sort, min and unique compare: the attribute if one is asked for, texts without regard to case.
Value comparison_key(Call& call, const Value& item, const Value* path, bool is_case_sensitive) {
  Value key = path == nullptr ? item : attribute_path(call.rendering, item, *path);
  if (!is_case_sensitive && key.text() != nullptr) return call.rendering.made(lower(*key.text()));
  return key;
}

Value first(Call& call) {
  if (Sequence* sequence = call.subject.sequence(); sequence != nullptr && !sequence->items.empty()) {
    Value item = sequence->items.front();
    if (sequence->kind == Sequence::Kind::generator) {
      call.rendering.spend_steps(sequence->items.size());
      sequence->items.erase(sequence->items.begin());
    }
    return item;
  }
  std::vector<Value> all = items(call);
  return all.empty() ? Value::undefined("there is no first item in an empty sequence") : all.front();
}

Value last(Call& call) {
  if (const Sequence* sequence = call.subject.sequence()) {
    if (sequence->kind == Sequence::Kind::generator)
      refuse("the last item of a generator is not known; use list first");
    if (!sequence->items.empty()) return sequence->items.back();
  }
  std::vector<Value> all = items(call);
  return all.empty() ? Value::undefined("there is no last item in an empty sequence") : all.back();
}

Value length(Call& call) {
  const auto count = length_of(call.rendering, call.subject);
  if (!count) refuse("a {} has no length", call.subject.type_name());
  return Value(*count);
}

Value list(Call& call) { return call.rendering.made_list(items(call)); }

Value join(Call& call) {
  const MarkedText separator = call.given(0) != nullptr ? printed(call.rendering, call[0]) : MarkedText();
  MarkedText joined;
  bool is_first = true;
  for (const Value& item : items(call)) {
    if (!std::exchange(is_first, false)) {
      call.rendering.spend_text(separator.size());
      joined.append(separator);
    }
    const Value& chosen = item;
    const Value* path = call.given_some(1);
    const MarkedText text =
        printed(call.rendering, path != nullptr ? attribute_path(call.rendering, chosen, *path) : chosen);
    call.rendering.spend_text(text.size());
    joined.append(text);
  }
  return call.rendering.made(std::move(joined));
}

Value reverse(Call& call) {
  if (const MarkedText* text = call.subject.text()) {
    MarkedText backwards;
    const auto starts = character_starts(text->text());
    for (std::size_t i = starts.size() - 1; i > 0; --i) backwards.append(*text, starts[i - 1], starts[i]);
    return call.rendering.made(std::move(backwards));
  }
  call.subject.check_defined();
  std::vector<Value> all = items(call);
  std::reverse(all.begin(), all.end());
  return generator(call, std::move(all));
}

// Sorted by key, equal ones in their order; the reverse of it keeps that order as well.
std::vector<Value> sorted(Call& call, const std::vector<Value>& values, const std::vector<Value>& keys, bool descends) {
  const auto order = stable_order(values.size(), [&](std::size_t a, std::size_t b) {
    return descends ? is_less(call.rendering, keys[b], keys[a]) : is_less(call.rendering, keys[a], keys[b]);
  });
  std::vector<Value> result;
  result.reserve(values.size());
  for (const std::size_t i : order) result.push_back(values[i]);
  return result;
}

// sort(attribute="a,b") compares by several attributes.
Value sort_key(Call& call, const Value& item, const Value* path, bool is_case_sensitive) {
  if (path == nullptr || path->text() == nullptr || path->text()->text().find(',') == std::string::npos) {
    return comparison_key(call, item, path, is_case_sensitive);
  }
  std::vector<Value> parts;
  call.rendering.spend_text(path->text()->size());
  for (MarkedText& part : split(*path->text(), ",", -1)) {
    const Value part_path(std::move(part));
    parts.push_back(comparison_key(call, item, &part_path, is_case_sensitive));
  }
  return make_list(std::move(parts));
}

Value sort(Call& call) {
  const std::vector<Value> all = items(call);
  std::vector<Value> keys;
  for (const Value& item : all) keys.push_back(sort_key(call, item, call.given_some(2), call.flag(1, false)));
  return call.rendering.made_list(sorted(call, all, keys, call.flag(0, false)));
}

Value dictsort(Call& call) {
  const Dictionary* dictionary = call.subject.dictionary();
  call.subject.check_defined();
  if (dictionary == nullptr) refuse("dictsort filters a dict, found a {}", call.subject.type_name());
  const std::string by = call.given(1) != nullptr ? call.text(1).text() : "key";
  if (by != "key" && by != "value") refuse("dictsort sorts by 'key' or by 'value'");
  std::vector<Value> pairs, keys;
  for (const auto& [key, value] : dictionary->entries()) {
    pairs.push_back(make_tuple({key, value}));
    keys.push_back(comparison_key(call, by == "key" ? key : value, nullptr, call.flag(0, false)));
  }
  return call.rendering.made_list(sorted(call, pairs, keys, call.flag(2, false)));
}

Value unique(Call& call) {
  std::unordered_set<std::string> seen;
  return generated(call, [&](Value item, std::vector<Value>& kept) {
    const std::string key = key_spelling(comparison_key(call, item, call.given_some(1), call.flag(0, false)));
    call.rendering.spend_text(key.size());
    if (seen.insert(key).second) kept.push_back(std::move(item));
  });
}

template <bool wants_greatest>
Value extreme(Call& call) {
  std::vector<Value> all = items(call);
  if (all.empty()) return Value::undefined("there is no greatest or least item in an empty sequence");
  std::size_t best = 0;
  Value best_key = comparison_key(call, all[0], call.given_some(1), call.flag(0, false));
  for (std::size_t i = 1; i < all.size(); ++i) {
    Value key = comparison_key(call, all[i], call.given_some(1), call.flag(0, false));
    const bool is_better =
        wants_greatest ? is_less(call.rendering, best_key, key) : is_less(call.rendering, key, best_key);
    if (!is_better) continue;
    best = i;
    best_key = std::move(key);
  }
  return all[best];
}

Value sum(Call& call) {
  Value total = call.given(1) != nullptr ? call[1] : Value(std::int64_t{0});
  if (total.text() != nullptr) refuse("sum cannot add texts; use join");
  const Value* path = call.given_some(0);
  for (const Value& item : items(call)) {
    total =
        arithmetic(call.rendering, "+", total, path != nullptr ? attribute_path(call.rendering, item, *path) : item);
  }
  return total;
}

Value batch(Call& call) {
  const std::int64_t size = call.integer(0);
  std::vector<Value> groups, group;
  for (Value& item : items(call)) {
    if (static_cast<std::int64_t>(group.size()) == size) groups.push_back(make_list(std::exchange(group, {})));
    group.push_back(std::move(item));
  }
  if (!group.empty()) {
    const Value* filler = call.given_some(1);
    if (filler != nullptr && size > 0) {
      call.rendering.spend_steps(static_cast<std::size_t>(size));
      group.resize(std::max(group.size(), static_cast<std::size_t>(size)), *filler);
    }
    groups.push_back(make_list(std::move(group)));
  }
  return generator(call, std::move(groups));
}

Value slice_filter(Call& call) {
  const std::int64_t count = call.integer(0);
  if (count <= 0) refuse("slice needs a number of slices above 0, found {}", count);
  const std::vector<Value> all = items(call);
  const auto slices = static_cast<std::size_t>(count);
  call.rendering.spend_steps(slices);
  const std::size_t size = all.size() / slices, longer = all.size() % slices;
  std::vector<Value> groups;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t end = at + size + (i < longer ? 1 : 0);
    std::vector<Value> group(all.begin() + static_cast<std::ptrdiff_t>(at),
                             all.begin() + static_cast<std::ptrdiff_t>(end));
    if (call.given_some(1) != nullptr && i >= longer) group.push_back(call[1]);
    groups.push_back(make_list(std::move(group)));
    at = end;
  }
  return generator(call, std::move(groups));
}

Value groupby(Call& call) {
  const Value* fallback = call.given_some(1);
  const std::vector<Value> all = items(call);
  std::vector<Value> keys;
  for (const Value& item : all) {
    Value key = attribute_path(call.rendering, item, call[0], fallback);
    if (!call.flag(2, false) && key.text() != nullptr) key = call.rendering.made(lower(*key.text()));
    keys.push_back(std::move(key));
  }
  std::vector<Value> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) numbers.emplace_back(i);
  std::vector<Value> groups;
  const std::vector<Value> order = sorted(call, numbers, keys, false);
  for (std::size_t begin = 0; begin < order.size();) {
    const auto at = [&](std::size_t place) { return static_cast<std::size_t>(*order[place].integer()); };
    std::vector<Value> members;
    std::size_t end = begin;
    while (end < order.size() && is_equal(call.rendering, keys[at(end)], keys[at(begin)]))
      members.push_back(all[at(end++)]);
    const Value name = attribute_path(call.rendering, members.front(), call[0], fallback);
    Value group = make_tuple({name, make_list(std::move(members))});
    group.sequence()->is_group = true;
    groups.push_back(std::move(group));
    begin = std::max(end, begin + 1);
  }
  return call.rendering.made_list(std::move(groups));
}

// Calls the filter or test that the arguments name first, with the others.
Value call_named(Call& call, const Builtin* (*find)(std::string_view), const Value& item, std::size_t place) {
  const Value& name = call.rest.positional[place];
  if (name.text() == nullptr) refuse("{} needs the name of what to apply, found a {}", call.name, name.type_name());
  const Builtin* builtin = find(name.text()->text());
  if (builtin == nullptr) refuse("{}: there is no '{}'", call.name, name.text()->text());
  Arguments arguments;
  arguments.positional.assign(call.rest.positional.begin() + static_cast<std::ptrdiff_t>(place + 1),
                              call.rest.positional.end());
  arguments.keywords = call.rest.keywords;
  call.rendering.spend_steps(1 + arguments.positional.size());
  return apply(*builtin, call.rendering, item, std::move(arguments));
}

Value map(Call& call) {
  const Value *path = nullptr, *fallback = nullptr;
  if (call.rest.positional.empty()) {
    for (const auto& [name, value] : call.rest.keywords) {
      if (name != "attribute" && name != "default") refuse("map does not take the argument '{}'", name);
      (name == "attribute" ? path : fallback) = &value;
    }
    if (path == nullptr) refuse("map needs the name of a filter, or attribute=...");
  }
  if (fallback != nullptr && fallback->is_none()) fallback = nullptr;
  if (!call.subject.is_true()) return generator(call, {});
  return generated(call, [&](const Value& item, std::vector<Value>& results) {
    results.push_back(path != nullptr ? attribute_path(call.rendering, item, *path, fallback)
                                      : call_named(call, find_filter, item, 0));
  });
}

template <bool by_attribute, bool wanted>
Value choose(Call& call) {
  const std::vector<Value>& arguments = call.rest.positional;
  constexpr std::size_t kTest = by_attribute ? 1 : 0;
  if (!call.subject.is_true()) return generator(call, {});
  if (by_attribute && arguments.empty()) refuse("{} needs the name of an attribute", call.name);
  return generated(call, [&](Value item, std::vector<Value>& kept) {
    const Value looked_at = by_attribute ? attribute_path(call.rendering, item, arguments[0]) : item;
    const bool passes =
        arguments.size() > kTest ? call_named(call, find_test, looked_at, kTest).is_true() : looked_at.is_true();
    if (passes == wanted) kept.push_back(std::move(item));
  });
}

Value item_pairs(Call& call) {
  if (call.subject.is_undefined()) return generator(call, {});
  const Dictionary* dictionary = call.subject.dictionary();
  if (dictionary == nullptr) refuse("items filters a dict, found a {}", call.subject.type_name());
  std::vector<Value> pairs;
  for (const auto& [key, value] : dictionary->entries()) pairs.push_back(make_tuple({key, value}));
  return generator(call, std::move(pairs));
}

constexpr std::array<Builtin, 22> kFilters = {{
    {"batch", "linecount fill_with?", batch},
    {"count", "", length},
    {"dictsort", "case_sensitive? by? reverse?", dictsort},
    {"first", "", first},
    {"groupby", "attribute default? case_sensitive?", groupby},
    {"items", "", item_pairs},
    {"join", "d? attribute?", join},
    {"last", "", last},
    {"length", "", length},
    {"list", "", list},
    {"map", "*", map},
    {"max", "case_sensitive? attribute?", extreme<true>},
    {"min", "case_sensitive? attribute?", extreme<false>},
    {"reject", "*", choose<false, false>},
    {"rejectattr", "*", choose<true, false>},
    {"reverse", "", reverse},
    {"select", "*", choose<false, true>},
    {"selectattr", "*", choose<true, true>},
    {"slice", "slices fill_with?", slice_filter},
    {"sort", "reverse? case_sensitive? attribute?", sort},
    {"sum", "attribute? start?", sum},
    {"unique", "case_sensitive? attribute?", unique},
}};

}  // namespace

std::span<const Builtin> sequence_filters() { return kFilters; }

}  // namespace plm::jinja
