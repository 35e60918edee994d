// The objects of the template language: functions, bound methods, macros, the loop, namespaces, cyclers and joiners.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/builtin.h"
#include "text/jinja/rendering.h"
#include "text/jinja/value.h"

namespace plm::jinja {

/// What can be called.
class Callable : public Object {
 public:
  [[nodiscard]] bool is_callable() const override { return true; }
  virtual Value call(Rendering& rendering, Arguments arguments) = 0;
};

/// A global function: range, namespace ...
class Function final : public Callable {
 public:
  explicit Function(const Builtin& builtin) : builtin_(builtin) {}
  [[nodiscard]] std::string_view type_name() const override { return "function"; }
  Value call(Rendering& rendering, Arguments arguments) override;

 private:
  const Builtin& builtin_;
};

/// A method together with its object.
class BoundMethod final : public Callable {
 public:
  BoundMethod(Value subject, const Builtin& builtin) : subject_(std::move(subject)), builtin_(builtin) {}
  [[nodiscard]] std::string_view type_name() const override { return "builtin_function_or_method"; }
  [[nodiscard]] std::size_t depth() const override { return subject_.depth() + 1; }
  Value call(Rendering& rendering, Arguments arguments) override;

 private:
  Value subject_;
  const Builtin& builtin_;
};

/// A macro, or the body of a `call` block, with the names around its definition.
class Macro final : public Callable {
 public:
  Macro(const MacroSyntax& syntax, ScopePointer around) : syntax_(syntax), around_(std::move(around)) {}
  [[nodiscard]] std::string_view type_name() const override { return "Macro"; }
  [[nodiscard]] std::optional<Value> attribute(std::string_view name) const override;
  Value call(Rendering& rendering, Arguments arguments) override;

 private:
  /// Takes the argument of this name out of the keywords.
  static std::optional<Value> take(Arguments& arguments, std::string_view name);
  void bind(Rendering& rendering, Scope& scope, Arguments arguments) const;
  void bind_parameters(Rendering& rendering, Scope& scope, Arguments& arguments) const;

  const MacroSyntax& syntax_;
  ScopePointer around_;
};

/// namespace(): attributes that `set` may change from inner blocks.
class Namespace final : public Object {
 public:
  [[nodiscard]] std::string_view type_name() const override { return "Namespace"; }
  [[nodiscard]] std::optional<Value> attribute(std::string_view name) const override;
  void let_go() override { attributes.clear(); }
  std::map<std::string, Value, std::less<>> attributes;
};

/// `loop` inside of a for block.
class LoopState final : public Callable {
 public:
  /// `around`: where the loop stands, in which a recursive loop calls itself.
  LoopState(const For& syntax, ScopePointer around, std::vector<Value> items, std::size_t depth);
  [[nodiscard]] std::string_view type_name() const override { return "LoopContext"; }
  [[nodiscard]] std::optional<Value> attribute(std::string_view name) const override;
  [[nodiscard]] std::size_t depth() const override { return nesting_; }
  Value call(Rendering& rendering, Arguments arguments) override;

  /// Goes to the next turn and returns its item; null after the last.
  const Value* advance();
  /// loop.changed(...): whether the values differ from the last call's.
  bool changed(Rendering& rendering, std::vector<Value> values);
  /// The item of this turn out of `values`.
  [[nodiscard]] Value cycle(const std::vector<Value>& values) const;
  /// At the end of the loop.
  void let_go() override;

 private:
  const For& syntax_;
  ScopePointer around_;
  std::vector<Value> items_;
  std::size_t turn_ = 0;  // counted from 1
  std::size_t recursion_, nesting_ = 1;
  std::optional<std::vector<Value>> last_changed_;
  bool is_finished_ = false;
};

/// cycler(a, b): an item a call of next().
class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items);
  [[nodiscard]] std::string_view type_name() const override { return "Cycler"; }
  [[nodiscard]] std::optional<Value> attribute(std::string_view name) const override;
  [[nodiscard]] std::size_t depth() const override { return nesting_; }
  Value next();
  void reset() { place_ = 0; }

 private:
  std::vector<Value> items_;
  std::size_t place_ = 0, nesting_ = 1;
};

/// joiner(", "): nothing at the first call, the separator after that.
class Joiner final : public Callable {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  [[nodiscard]] std::string_view type_name() const override { return "Joiner"; }
  [[nodiscard]] std::size_t depth() const override { return separator_.depth() + 1; }
  Value call(Rendering& rendering, Arguments arguments) override;

 private:
  Value separator_;
  bool is_used_ = false;
};

}  // namespace plm::jinja
