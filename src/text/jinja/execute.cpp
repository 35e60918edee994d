// What statements do: the nodes of syntax.h execute themselves.
// Tested by tests/text/jinja/test_conformance.cpp and test_template.cpp.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/access.h"
#include "text/jinja/callables.h"
#include "text/jinja/failure.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"

namespace plm::jinja {
namespace {

ScopePointer inner_scope(const Rendering& rendering) { return std::make_shared<Scope>(rendering.scope); }

}  // namespace

Flow TextOutput::execute(Rendering& rendering) const {
  rendering.write(*text);
  return Flow::next;
}

Flow Print::execute(Rendering& rendering) const {
  const Value result = rendering.evaluate(*value);
  rendering.at(*this);
  if (const MarkedText* text = result.text()) {
    rendering.write(*text);
  } else {
    rendering.write(printed(rendering, result));
  }
  return Flow::next;
}

Flow For::execute(Rendering& rendering) const {
  const Value collection = rendering.evaluate(*items);
  rendering.at(*this);
  return run(rendering, collection, 0);
}

// The items that the condition lets through; it is evaluated where the loop stands, with the item's names.
std::vector<Value> For::chosen(Rendering& rendering, const Value& collection) const {
  std::vector<Value> all = items_of(rendering, collection);
  if (condition == nullptr) return all;
  std::vector<Value> kept;
  for (Value& item : all) {
    const ScopeGuard guard(rendering, inner_scope(rendering));
    rendering.assign(target, item);
    if (rendering.evaluate(*condition).is_true()) kept.push_back(std::move(item));
  }
  return kept;
}

Flow For::run(Rendering& rendering, const Value& collection, std::size_t depth) const {
  const auto loop = std::make_shared<LoopState>(*this, rendering.scope, chosen(rendering, collection), depth);
  struct Ending {
    LoopState& loop;
    ~Ending() { loop.let_go(); }
  } const ending{*loop};
  const Value loop_value(std::static_pointer_cast<Object>(loop));
  bool has_turns = false;
  Flow flow = Flow::next;
  while (const Value* item = loop->advance()) {
    has_turns = true;
    rendering.spend_steps(4);  // a scope and its names cost about as much as four expressions
    const ScopeGuard guard(rendering, inner_scope(rendering));
    rendering.at(*this);
    rendering.assign(target, *item);
    rendering.scope->names["loop"] = loop_value;
    flow = rendering.execute(body);
    if (flow == Flow::leave_loop) break;
  }
  if (has_turns || otherwise.empty()) return Flow::next;
  const ScopeGuard guard(rendering, inner_scope(rendering));
  return rendering.execute(otherwise);
}

Flow If::execute(Rendering& rendering) const {
  for (const auto& [condition, block] : branches) {
    if (rendering.evaluate(*condition).is_true()) return rendering.execute(block);
  }
  return rendering.execute(otherwise);
}

Flow Set::execute(Rendering& rendering) const {
  Value result = rendering.evaluate(*value);
  rendering.at(*this);
  rendering.assign(target, std::move(result));
  return Flow::next;
}

Flow SetBlock::execute(Rendering& rendering) const {
  Flow flow = Flow::next;
  Value text(rendering.capture(body, inner_scope(rendering), flow));
  if (flow != Flow::next) return flow;
  rendering.assign(target, rendering.apply(std::move(text), filters));
  return Flow::next;
}

Flow With::execute(Rendering& rendering) const {
  ScopePointer inner = inner_scope(rendering);
  for (const auto& [name, expression] : assignments) {
    Value value = rendering.evaluate(*expression);
    const ScopeGuard guard(rendering, inner);
    rendering.assign(name, std::move(value));
  }
  const ScopeGuard guard(rendering, std::move(inner));
  return rendering.execute(body);
}

Flow MacroDefinition::execute(Rendering& rendering) const {
  rendering.keep(rendering.scope);
  rendering.scope->names[macro.name] =
      Value(std::static_pointer_cast<Object>(std::make_shared<Macro>(macro, rendering.scope)));
  return Flow::next;
}

Flow CallBlock::execute(Rendering& rendering) const {
  rendering.keep(rendering.scope);
  const auto& postfix = static_cast<const Postfix&>(*call);  // the parser made sure
  const Suffix& last = postfix.suffixes.back();
  Value callee = rendering.evaluate(*postfix.base);
  for (std::size_t i = 0; i + 1 < postfix.suffixes.size(); ++i) {
    if (postfix.suffixes[i].kind != Suffix::Kind::attribute) refuse("a 'call' block calls a macro by its name");
    callee = attribute(rendering, callee, postfix.suffixes[i].name);
  }
  Arguments arguments = rendering.evaluate(last.arguments);
  arguments.keywords.emplace_back(
      "caller", Value(std::static_pointer_cast<Object>(std::make_shared<Macro>(caller, rendering.scope))));
  rendering.at(*this);
  rendering.write(printed(rendering, rendering.call(callee, std::move(arguments))));
  return Flow::next;
}

Flow FilterBlock::execute(Rendering& rendering) const {
  Flow flow = Flow::next;
  Value text(rendering.capture(body, inner_scope(rendering), flow));
  if (flow != Flow::next) return flow;
  rendering.write(printed(rendering, rendering.apply(std::move(text), filters)));
  return Flow::next;
}

Flow Scoped::execute(Rendering& rendering) const {
  const ScopeGuard guard(rendering, inner_scope(rendering));
  return rendering.execute(body);
}

Flow Do::execute(Rendering& rendering) const {
  rendering.evaluate(*value);
  return Flow::next;
}

Flow Jump::execute(Rendering& /*rendering*/) const { return flow; }

void Rendering::assign(const Target& target, Value value) {
  if (target.is_tuple) {
    std::vector<Value> items = items_of(*this, value);
    if (items.size() != target.parts.size()) {
      refuse("{} names to assign to, but {} values", target.parts.size(), items.size());
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], std::move(items[i]));
    return;
  }
  if (target.attribute.empty()) {
    scope->names[target.name] = std::move(value);
    return;
  }
  const Value* holder = find(target.name);
  auto* names = holder == nullptr ? nullptr : holder->as<Namespace>();
  if (names == nullptr) {
    refuse("'{}.{}' cannot be assigned to: '{}' is {}, not a namespace", target.name, target.attribute, target.name,
           holder == nullptr ? std::string_view("undefined") : holder->type_name());
  }
  names->attributes[target.attribute] = std::move(value);
}

}  // namespace plm::jinja
