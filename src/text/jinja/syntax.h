// The tree of a parsed template. Nodes know how to evaluate and execute themselves; the tree is built by the parser,
// never changes, and is shared by all renderings.
//
// Chains that a template may make long without nesting (a + b + c, a.b.c|d|e) are one node each, so the height of the
// tree is bounded by Limits::nesting, and with it the recursion of everything that walks it.
// Expressions: evaluate.cpp. Statements: execute.cpp. Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/builtin.h"
#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

struct Node {
  std::uint32_t offset = 0;  ///< where in the source it begins
};

struct Expression : Node {
  virtual ~Expression() = default;
  [[nodiscard]] virtual Value evaluate(Rendering& rendering) const = 0;
};
using ExpressionPointer = std::unique_ptr<const Expression>;

/// What a statement's end means for those around it.
enum class Flow { next, leave_loop, next_turn };

struct Statement : Node {
  virtual ~Statement() = default;
  virtual Flow execute(Rendering& rendering) const = 0;
};
using Block = std::vector<std::unique_ptr<const Statement>>;

struct ArgumentSyntax {
  enum class Kind { positional, keyword, spread, spread_keywords };
  Kind kind = Kind::positional;
  std::string name;  ///< of a keyword
  ExpressionPointer value;
};
using ArgumentList = std::vector<ArgumentSyntax>;

// Expressions.

struct Literal final : Expression {
  Value value;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

struct Name final : Expression {
  std::string name;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

struct SequenceDisplay final : Expression {
  Sequence::Kind kind = Sequence::Kind::list;
  std::vector<ExpressionPointer> items;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

struct DictionaryDisplay final : Expression {
  std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// value if condition else otherwise; without `otherwise` undefined.
struct Conditional final : Expression {
  ExpressionPointer value, condition, otherwise;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// a and b and c, or a or b or c.
struct Logic final : Expression {
  bool is_or = false;
  std::vector<ExpressionPointer> operands;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

struct Not final : Expression {
  ExpressionPointer operand;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

struct Sign final : Expression {
  bool is_negative = false;
  ExpressionPointer operand;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// One operator and what stands to its right.
struct Operation : Node {
  std::string sign;
  ExpressionPointer operand;
};

/// a - b + c, from left to right: operators of one precedence.
struct Arithmetic final : Expression {
  ExpressionPointer first;
  std::vector<Operation> rest;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// a ~ b ~ c
struct Concatenation final : Expression {
  std::vector<ExpressionPointer> parts;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// a < b <= c: all hold, each operand evaluated once at most.
struct Comparison final : Expression {
  ExpressionPointer first;
  std::vector<Operation> rest;  ///< among them "in" and "not in"
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

/// One thing done to the value on its left: .name, [index], [a:b:c], (arguments), |filter, is test.
struct Suffix : Node {
  enum class Kind { attribute, subscript, slice, call, filter, test, not_test };
  Kind kind = Kind::attribute;
  std::string name;                     ///< of attribute, filter, test
  ExpressionPointer index, stop, step;  ///< `index` is also a slice's start
  ArgumentList arguments;
  const Builtin* builtin = nullptr;  ///< the filter or test
};

struct Postfix final : Expression {
  ExpressionPointer base;
  std::vector<Suffix> suffixes;
  [[nodiscard]] Value evaluate(Rendering& rendering) const override;
};

// Statements.

/// What is assigned to: a name, an attribute of a namespace, or several of them.
struct Target : Node {
  std::string name;
  std::string attribute;      ///< empty: the name itself
  std::vector<Target> parts;  ///< not empty: unpacks
  bool is_tuple = false;
};

struct TextOutput final : Statement {
  TextPointer text;
  Flow execute(Rendering& rendering) const override;
};

struct Print final : Statement {
  ExpressionPointer value;
  Flow execute(Rendering& rendering) const override;
};

struct For final : Statement {
  Target target;
  ExpressionPointer items, condition;
  bool is_recursive = false;
  Block body, otherwise;
  Flow execute(Rendering& rendering) const override;
  /// All turns over `collection`; `depth` counts recursion from 0.
  Flow run(Rendering& rendering, const Value& collection, std::size_t depth) const;

 private:
  [[nodiscard]] std::vector<Value> chosen(Rendering& rendering, const Value& collection) const;
};

struct If final : Statement {
  std::vector<std::pair<ExpressionPointer, Block>> branches;
  Block otherwise;
  Flow execute(Rendering& rendering) const override;
};

struct Set final : Statement {
  Target target;
  ExpressionPointer value;
  Flow execute(Rendering& rendering) const override;
};

/// {% set name | filter %}body{% endset %}
struct SetBlock final : Statement {
  Target target;
  std::vector<Suffix> filters;
  Block body;
  Flow execute(Rendering& rendering) const override;
};

struct With final : Statement {
  std::vector<std::pair<Target, ExpressionPointer>> assignments;
  Block body;
  Flow execute(Rendering& rendering) const override;
};

/// What a macro takes and does.
struct MacroSyntax : Node {
  struct Parameter {
    std::string name;
    ExpressionPointer fallback;  ///< may be null
  };
  std::string name;
  std::vector<Parameter> parameters;
  bool takes_varargs = false, takes_kwargs = false, takes_caller = false;
  Block body;
};

struct MacroDefinition final : Statement {
  MacroSyntax macro;
  Flow execute(Rendering& rendering) const override;
};

/// {% call(parameters) macro(arguments) %}body{% endcall %}
struct CallBlock final : Statement {
  ExpressionPointer call;  ///< a Postfix that ends in a call
  MacroSyntax caller;
  Flow execute(Rendering& rendering) const override;
};

struct FilterBlock final : Statement {
  std::vector<Suffix> filters;
  Block body;
  Flow execute(Rendering& rendering) const override;
};

/// A body with names of its own: `generation` and `block`.
struct Scoped final : Statement {
  Block body;
  Flow execute(Rendering& rendering) const override;
};

struct Do final : Statement {
  ExpressionPointer value;
  Flow execute(Rendering& rendering) const override;
};

struct Jump final : Statement {
  Flow flow = Flow::leave_loop;
  Flow execute(Rendering& rendering) const override;
};

}  // namespace plm::jinja
