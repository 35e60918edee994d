#include "text/jinja/rendering.h"

#include <algorithm>
#include <utility>

#include "text/jinja/failure.h"

namespace plm::jinja {

Deeper::Deeper(Rendering& rendering) : rendering_(rendering) {
  if (rendering_.depth_ >= rendering_.limits_.depth) {
    refuse("more than {} expressions and blocks inside one another; does a macro call itself without end?",
           rendering_.limits_.depth);
  }
  ++rendering_.depth_;
}

Rendering::Rendering(const Limits& limits, const RenderOptions& options, std::size_t input_bytes)
    : scope(std::make_shared<Scope>(nullptr)),
      limits_(limits),
      options_(options),
      steps_left_(limits.steps + limits.steps_per_input_byte * input_bytes),
      text_left_(limits.text_bytes + limits.text_bytes_per_input_byte * input_bytes) {}

Rendering::~Rendering() {
  for (const ScopePointer& kept : kept_scopes_) kept->names.clear();
  for (const ObjectPointer& kept : kept_objects_) kept->let_go();
}

void Rendering::keep(const ScopePointer& kept) {
  if (kept_scopes_.empty() || kept_scopes_.back() != kept) kept_scopes_.push_back(kept);
}

void Rendering::keep(ObjectPointer kept) { kept_objects_.push_back(std::move(kept)); }

void Rendering::spend_steps(std::size_t count) {
  if (count > steps_left_) refuse("takes more steps than a template may; its loops do too much");
  steps_left_ -= count;
}

void Rendering::spend_text(std::size_t bytes) {
  if (bytes > text_left_) refuse("writes more text than a template may; its strings grow too large");
  text_left_ -= bytes;
}

Value Rendering::made(MarkedText text) {
  spend_text(text.size() + text.runs().size() * sizeof(MarkedText::Run));
  return Value(std::move(text));
}

Value Rendering::made_list(std::vector<Value> items) {
  spend_steps(items.size());
  return make_list(std::move(items));
}

Value Rendering::evaluate(const Expression& expression) {
  const Deeper deeper(*this);
  spend_steps(1);
  at(expression);
  return expression.evaluate(*this);
}

Flow Rendering::execute(const Block& block) {
  const Deeper deeper(*this);
  for (const auto& statement : block) {
    spend_steps(1);
    at(*statement);
    if (const Flow flow = statement->execute(*this); flow != Flow::next) return flow;
  }
  return Flow::next;
}

MarkedText Rendering::capture(const Block& block, ScopePointer inner, Flow& flow) {
  const ScopeGuard guard(*this, std::move(inner));
  MarkedText outside = std::exchange(output, MarkedText());
  flow = execute(block);
  return std::exchange(output, std::move(outside));
}

const Value* Rendering::find(std::string_view name) const {
  for (const Scope* candidate = scope.get(); candidate != nullptr; candidate = candidate->parent.get()) {
    const auto found = candidate->names.find(name);
    if (found != candidate->names.end()) return &found->second;
  }
  return nullptr;
}

void Rendering::write(const MarkedText& text) {
  spend_text(text.size() + text.runs().size() * sizeof(MarkedText::Run));
  output.append(text);
}

}  // namespace plm::jinja
