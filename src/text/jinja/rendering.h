// One rendering under way: names in scope, where the output goes, and what has been spent of the limits.
// Tested by tests/text/jinja/test_template.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/limits.h"
#include "text/jinja/syntax.h"
#include "text/jinja/template.h"

namespace plm::jinja {

/// Names of one block; what is not here is looked up in the block around it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> around) : parent(std::move(around)) {}
  std::map<std::string, Value, std::less<>> names;
  std::shared_ptr<Scope> parent;
};
using ScopePointer = std::shared_ptr<Scope>;

class Rendering {
 public:
  /// `input_bytes`: of the variables, in proportion to which work is allowed.
  Rendering(const Limits& limits, const RenderOptions& options, std::size_t input_bytes);
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  Value evaluate(const Expression& expression);
  /// The statements in order, up to one that leaves.
  Flow execute(const Block& block);
  /// Executes `block` in `scope` and returns what it wrote; `flow` says how it ended.
  MarkedText capture(const Block& block, ScopePointer scope, Flow& flow);

  /// Calls a value; throws when it is not callable.
  Value call(const Value& callee, Arguments arguments);
  Arguments evaluate(const ArgumentList& arguments);
  /// Applies filters and the like from left to right.
  Value apply(Value value, const std::vector<Suffix>& suffixes);

  void assign(const Target& target, Value value);
  [[nodiscard]] const Value* find(std::string_view name) const;

  void write(const MarkedText& text);
  /// Counts work: items touched. Throws when the limit is exceeded.
  void spend_steps(std::size_t count);
  /// Counts bytes of text about to be written or read. Throws when the limit is exceeded.
  void spend_text(std::size_t bytes);
  /// `text` as a value, its bytes counted.
  Value made(MarkedText text);
  Value made_list(std::vector<Value> items);

  /// Errors that follow are here.
  void at(const Node& node) { offset_ = node.offset; }
  [[nodiscard]] std::uint32_t offset() const { return offset_; }

  /// The scope and everything that refers to it live until the end, when cycles through it are cut.
  void keep(const ScopePointer& scope);
  void keep(ObjectPointer object);

  [[nodiscard]] const RenderOptions& options() const { return options_; }

  ScopePointer scope;
  MarkedText output;

 private:
  friend class Deeper;
  Limits limits_;
  const RenderOptions& options_;
  std::size_t steps_left_, text_left_;
  std::size_t depth_ = 0;
  std::uint32_t offset_ = 0;
  std::vector<ScopePointer> kept_scopes_;
  std::vector<ObjectPointer> kept_objects_;
};

/// One more expression, block or builtin under evaluation for as long as it lives: what bounds the stack.
class Deeper {
 public:
  explicit Deeper(Rendering& rendering);
  ~Deeper() { --rendering_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Rendering& rendering_;
};

/// Puts `inner` in place of the rendering's scope for as long as it lives.
class ScopeGuard {
 public:
  ScopeGuard(Rendering& rendering, ScopePointer inner) : rendering_(rendering), outer_(std::move(rendering.scope)) {
    rendering_.scope = std::move(inner);
  }
  ~ScopeGuard() { rendering_.scope = std::move(outer_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  [[nodiscard]] const ScopePointer& outer() const { return outer_; }

 private:
  Rendering& rendering_;
  ScopePointer outer_;
};

}  // namespace plm::jinja
