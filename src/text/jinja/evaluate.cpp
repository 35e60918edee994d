// What expressions mean: the nodes of syntax.h evaluate themselves.
// Tested by tests/text/jinja/test_conformance.cpp and test_template.cpp.
#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/access.h"
#include "text/jinja/callables.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"

namespace plm::jinja {
namespace {

Value evaluate_or_none(Rendering& rendering, const ExpressionPointer& expression) {
  return expression == nullptr ? Value(None{}) : rendering.evaluate(*expression);
}

Value call_suffix(Rendering& rendering, const Value& callee, const Suffix& suffix) {
  Arguments arguments = rendering.evaluate(suffix.arguments);
  rendering.at(suffix);
  return rendering.call(callee, std::move(arguments));
}

// value.name(...): a method is called as such, without being made a value in between.
std::optional<Value> call_method(Rendering& rendering, const Value& value, const Suffix& name, const Suffix& call) {
  if (value.object() != nullptr && value.object()->attribute(name.name)) return std::nullopt;
  const Builtin* method = find_method(value, name.name);
  if (method == nullptr) return std::nullopt;
  Arguments arguments = rendering.evaluate(call.arguments);
  rendering.at(name);
  return apply(*method, rendering, value, std::move(arguments));
}

Value apply_suffix(Rendering& rendering, const Value& value, const Suffix& suffix) {
  switch (suffix.kind) {
    case Suffix::Kind::attribute: return attribute(rendering, value, suffix.name);
    case Suffix::Kind::subscript: {
      const Value key = rendering.evaluate(*suffix.index);
      rendering.at(suffix);
      return subscript(rendering, value, key);
    }
    case Suffix::Kind::slice: {
      const Value start = evaluate_or_none(rendering, suffix.index);
      const Value stop = evaluate_or_none(rendering, suffix.stop);
      const Value step = evaluate_or_none(rendering, suffix.step);
      rendering.at(suffix);
      return slice(rendering, value, start, stop, step);
    }
    case Suffix::Kind::call: return call_suffix(rendering, value, suffix);
    case Suffix::Kind::filter:
    case Suffix::Kind::test:
    case Suffix::Kind::not_test: break;
  }
  const bool is_filter = suffix.kind == Suffix::Kind::filter;
  if (suffix.builtin == nullptr) {
    refuse("there is no {} '{}'", is_filter ? "filter" : "test", printable(suffix.name, 80));
  }
  Arguments arguments = rendering.evaluate(suffix.arguments);
  rendering.at(suffix);
  Value result = apply(*suffix.builtin, rendering, value, std::move(arguments));
  return suffix.kind == Suffix::Kind::not_test ? Value(!result.is_true()) : result;
}

}  // namespace

Value Literal::evaluate(Rendering& /*rendering*/) const { return value; }

Value Name::evaluate(Rendering& rendering) const {
  if (const Value* found = rendering.find(name)) return *found;
  if (const Builtin* function = find_function(name)) return Value(std::make_shared<Function>(*function));
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Value SequenceDisplay::evaluate(Rendering& rendering) const {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(rendering.evaluate(*item));
  return make_sequence(kind, std::move(values));
}

Value DictionaryDisplay::evaluate(Rendering& rendering) const {
  auto dictionary = std::make_shared<Dictionary>();
  for (const auto& [key, value] : entries) {
    Value name = rendering.evaluate(*key);
    if (name.text() != nullptr) rendering.spend_text(name.text()->size());
    dictionary->set(std::move(name), rendering.evaluate(*value));
  }
  return Value(DictionaryPointer(std::move(dictionary)));
}

Value Conditional::evaluate(Rendering& rendering) const {
  if (rendering.evaluate(*condition).is_true()) return rendering.evaluate(*value);
  if (otherwise != nullptr) return rendering.evaluate(*otherwise);
  return Value::undefined("the condition does not hold and there is no else");
}

Value Logic::evaluate(Rendering& rendering) const {
  Value value;
  for (const auto& operand : operands) {
    value = rendering.evaluate(*operand);
    if (value.is_true() == is_or) break;
  }
  return value;
}

Value Not::evaluate(Rendering& rendering) const { return Value(!rendering.evaluate(*operand).is_true()); }

Value Sign::evaluate(Rendering& rendering) const {
  const Value value = rendering.evaluate(*operand);
  rendering.at(*this);
  if (is_negative) return negated(value);
  value.check_defined();
  if (value.boolean() != nullptr) return Value(*value.integer());
  if (!value.number()) refuse("'+' does not go with a {}", value.type_name());
  return value;
}

Value Arithmetic::evaluate(Rendering& rendering) const {
  Value value = rendering.evaluate(*first);
  for (const Operation& operation : rest) {
    const Value right = rendering.evaluate(*operation.operand);
    rendering.at(operation);
    value = arithmetic(rendering, operation.sign, value, right);
  }
  return value;
}

Value Concatenation::evaluate(Rendering& rendering) const {
  MarkedText joined;
  for (const auto& part : parts) joined.append(printed(rendering, rendering.evaluate(*part)));
  return rendering.made(std::move(joined));
}

Value Comparison::evaluate(Rendering& rendering) const {
  Value left = rendering.evaluate(*first);
  for (const Operation& operation : rest) {
    Value right = rendering.evaluate(*operation.operand);
    rendering.at(operation);
    if (!compares(rendering, operation.sign, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Postfix::evaluate(Rendering& rendering) const { return rendering.apply(rendering.evaluate(*base), suffixes); }

Value Rendering::apply(Value value, const std::vector<Suffix>& suffixes) {
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    const Suffix& suffix = suffixes[i];
    spend_steps(1);
    at(suffix);
    const bool calls = i + 1 < suffixes.size() && suffixes[i + 1].kind == Suffix::Kind::call;
    if (suffix.kind == Suffix::Kind::attribute && calls) {
      if (auto result = call_method(*this, value, suffix, suffixes[i + 1])) {
        value = *std::move(result);
        ++i;
        continue;
      }
    }
    value = apply_suffix(*this, value, suffix);
  }
  return value;
}

Value Rendering::call(const Value& callee, Arguments arguments) {
  callee.check_defined();
  auto* callable = callee.as<Callable>();
  if (callable == nullptr) refuse("a {} cannot be called", callee.type_name());
  const ObjectPointer alive = callee.object_pointer();
  return callable->call(*this, std::move(arguments));
}

Arguments Rendering::evaluate(const ArgumentList& list) {
  Arguments arguments;
  for (const ArgumentSyntax& argument : list) {
    Value value = evaluate(*argument.value);
    switch (argument.kind) {
      case ArgumentSyntax::Kind::positional: arguments.positional.push_back(std::move(value)); break;
      case ArgumentSyntax::Kind::keyword: arguments.keywords.emplace_back(argument.name, std::move(value)); break;
      case ArgumentSyntax::Kind::spread:
        value.check_defined();
        for (Value& item : items_of(*this, value)) arguments.positional.push_back(std::move(item));
        break;
      case ArgumentSyntax::Kind::spread_keywords:
        if (value.dictionary() == nullptr) refuse("'**' needs a dict, found a {}", value.type_name());
        spend_steps(value.dictionary()->size());
        for (const auto& [name, item] : value.dictionary()->entries()) {
          if (name.text() == nullptr) refuse("the names of arguments are texts, found a {}", name.type_name());
          arguments.keywords.emplace_back(name.text()->text(), item);
        }
        break;
    }
  }
  return arguments;
}

}  // namespace plm::jinja
