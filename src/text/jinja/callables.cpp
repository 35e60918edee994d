#include "text/jinja/callables.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/access.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"

namespace plm::jinja {

Value Function::call(Rendering& rendering, Arguments arguments) {
  return apply(builtin_, rendering, Value(), std::move(arguments));
}

Value BoundMethod::call(Rendering& rendering, Arguments arguments) {
  return apply(builtin_, rendering, subject_, std::move(arguments));
}

std::optional<Value> Macro::attribute(std::string_view name) const {
  if (name == "name") return Value(MarkedText(syntax_.name, Origin::template_text));
  if (name == "catch_varargs") return Value(syntax_.takes_varargs);
  if (name == "catch_kwargs") return Value(syntax_.takes_kwargs);
  if (name == "caller") return Value(syntax_.takes_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const auto& parameter : syntax_.parameters) {
    names.emplace_back(MarkedText(parameter.name, Origin::template_text));
  }
  return make_tuple(std::move(names));
}

Value Macro::call(Rendering& rendering, Arguments arguments) {
  auto scope = std::make_shared<Scope>(around_);
  bind(rendering, *scope, std::move(arguments));
  {
    const ScopeGuard guard(rendering, scope);
    for (const auto& parameter : syntax_.parameters) {
      if (scope->names.contains(parameter.name)) continue;
      scope->names[parameter.name] =
          parameter.fallback != nullptr
              ? rendering.evaluate(*parameter.fallback)
              : Value::undefined(fmt::format("parameter '{}' of {} was not given", parameter.name, syntax_.name));
    }
  }
  Flow flow = Flow::next;
  return Value(rendering.capture(syntax_.body, std::move(scope), flow));
}

std::optional<Value> Macro::take(Arguments& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.keywords.begin(), arguments.keywords.end(),
                                  [name](const auto& keyword) { return keyword.first == name; });
  if (found == arguments.keywords.end()) return std::nullopt;
  Value value = std::move(found->second);
  arguments.keywords.erase(found);
  return value;
}

void Macro::bind_parameters(Rendering& rendering, Scope& scope, Arguments& arguments) const {
  const std::size_t given = std::min(arguments.positional.size(), syntax_.parameters.size());
  rendering.spend_steps(syntax_.parameters.size());
  for (std::size_t i = 0; i < syntax_.parameters.size(); ++i) {
    const std::string& name = syntax_.parameters[i].name;
    if (i < given) {
      scope.names[name] = std::move(arguments.positional[i]);
    } else if (rendering.spend_steps(arguments.keywords.size()); auto named = take(arguments, name)) {
      scope.names[name] = *std::move(named);
    }
  }
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() + static_cast<std::ptrdiff_t>(given));
}

// Names for all that was given; parameters that were not are left to the caller.
void Macro::bind(Rendering& rendering, Scope& scope, Arguments arguments) const {
  bind_parameters(rendering, scope, arguments);
  if (syntax_.takes_caller && !scope.names.contains("caller")) {
    scope.names["caller"] = take(arguments, "caller").value_or(Value::undefined("there is no caller"));
  }
  if (syntax_.takes_kwargs) {
    auto rest = std::make_shared<Dictionary>();
    for (auto& [name, value] : arguments.keywords) {
      rest->set(Value(MarkedText(name, Origin::template_text)), std::move(value));
    }
    scope.names["kwargs"] = Value(DictionaryPointer(std::move(rest)));
  } else if (!arguments.keywords.empty()) {
    refuse("macro '{}' takes no argument '{}'", syntax_.name, printable(arguments.keywords.front().first, 80));
  }
  if (syntax_.takes_varargs) {
    scope.names["varargs"] = make_tuple(std::move(arguments.positional));
  } else if (!arguments.positional.empty()) {
    refuse("macro '{}' takes at most {} arguments", syntax_.name, syntax_.parameters.size());
  }
}

std::optional<Value> Namespace::attribute(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::nullopt : std::optional(found->second);
}

LoopState::LoopState(const For& syntax, ScopePointer around, std::vector<Value> items, std::size_t depth)
    : syntax_(syntax), around_(std::move(around)), items_(std::move(items)), recursion_(depth) {
  for (const Value& item : items_) nesting_ = std::max(nesting_, item.depth() + 1);
  check_container_depth(nesting_);
}

const Value* LoopState::advance() {
  if (turn_ >= items_.size()) return nullptr;
  return &items_[turn_++];
}

std::optional<Value> LoopState::attribute(std::string_view name) const {
  const std::size_t length = items_.size();
  if (name == "index") return Value(turn_);
  if (name == "index0") return Value(turn_ - 1);
  if (name == "revindex") return Value(length - turn_ + 1);
  if (name == "revindex0") return Value(length - turn_);
  if (name == "first") return Value(turn_ == 1);
  if (name == "last") return Value(turn_ == length);
  if (name == "length") return Value(length);
  if (name == "depth") return Value(recursion_ + 1);
  if (name == "depth0") return Value(recursion_);
  if (name == "previtem") return turn_ > 1 ? items_[turn_ - 2] : Value::undefined("there is no previous item");
  if (name == "nextitem") return turn_ < length ? items_[turn_] : Value::undefined("there is no next item");
  return std::nullopt;
}

Value LoopState::call(Rendering& rendering, Arguments arguments) {
  if (!syntax_.is_recursive || around_ == nullptr) refuse("only a loop marked 'recursive' can be called, inside of it");
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) refuse("loop() takes the items to go on with");
  const ScopeGuard guard(rendering, around_);
  MarkedText outside = std::exchange(rendering.output, MarkedText());
  syntax_.run(rendering, arguments.positional.front(), recursion_ + 1);
  return Value(std::exchange(rendering.output, std::move(outside)));
}

bool LoopState::changed(Rendering& rendering, std::vector<Value> values) {
  const auto is_same = [&](const Value& a, const Value& b) { return is_equal(rendering, a, b); };
  if (last_changed_ &&
      std::equal(values.begin(), values.end(), last_changed_->begin(), last_changed_->end(), is_same)) {
    return false;
  }
  if (!is_finished_) last_changed_ = std::move(values);
  return true;
}

Value LoopState::cycle(const std::vector<Value>& values) const {
  if (values.empty()) refuse("cycle needs at least one item");
  return values[(turn_ - 1) % values.size()];
}

void LoopState::let_go() {
  is_finished_ = true;
  last_changed_.reset();
  around_.reset();
}

Cycler::Cycler(std::vector<Value> items) : items_(std::move(items)) {
  if (items_.empty()) refuse("cycler needs at least one item");
  for (const Value& item : items_) nesting_ = std::max(nesting_, item.depth() + 1);
  check_container_depth(nesting_);
}

std::optional<Value> Cycler::attribute(std::string_view name) const {
  if (name == "current") return items_[place_];
  return std::nullopt;
}

Value Cycler::next() {
  const Value& item = items_[place_];
  place_ = (place_ + 1) % items_.size();
  return item;
}

Value Joiner::call(Rendering& /*rendering*/, Arguments arguments) {
  if (!arguments.positional.empty() || !arguments.keywords.empty()) refuse("a joiner is called without arguments");
  if (!std::exchange(is_used_, true)) return Value(MarkedText());
  return separator_;
}

}  // namespace plm::jinja
