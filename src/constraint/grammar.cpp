#include "constraint/grammar.h"

#include <algorithm>
#include <utility>

namespace plm {
namespace {

std::uint64_t hash_of(const Grammar::Node& node, std::span<const Part> children) {
  std::uint64_t hash = mix_hash(static_cast<std::uint64_t>(node.kind), std::uint64_t{node.min} << 32U | node.max);
  if (children.empty()) return mix_hash(hash, node.first);
  for (const Part child : children) hash = mix_hash(hash, static_cast<std::uint32_t>(child));
  return hash;
}

}  // namespace

GrammarBuilder::GrammarBuilder(const ConstraintLimits& limits) : grammar_(limits) {
  grammar_.nodes_ = {{.kind = Grammar::Kind::empty}, {.kind = Grammar::Kind::nothing}};
}

Part GrammarBuilder::add(Grammar::Node node, std::span<const Part> children) {
  const std::uint64_t hash = hash_of(node, children);
  const auto found = index_.find(hash, [&](std::uint32_t id) {
    const Grammar::Node& other = grammar_.nodes_[id];
    if (other.kind != node.kind || other.min != node.min || other.max != node.max) return false;
    return children.empty() ? other.first == node.first : std::ranges::equal(grammar_.children(other), children);
  });
  if (found) return static_cast<Part>(*found);
  if (grammar_.nodes_.size() + grammar_.children_.size() >= grammar_.limits().grammar_nodes) exhausted_ = true;
  if (exhausted_) return Part::nothing;
  if (!children.empty()) {
    node.first = static_cast<std::uint32_t>(grammar_.children_.size());
    node.second = static_cast<std::uint32_t>(children.size());
    grammar_.children_.insert(grammar_.children_.end(), children.begin(), children.end());
  }
  const auto id = static_cast<std::uint32_t>(grammar_.nodes_.size());
  grammar_.nodes_.push_back(node);
  index_.insert(hash, id);
  return static_cast<Part>(id);
}

RuleId GrammarBuilder::declare(std::string name) {
  grammar_.rules_.push_back({.name = std::move(name)});
  return static_cast<RuleId>(grammar_.rules_.size() - 1);
}

void GrammarBuilder::define(RuleId rule, Part body) {
  Grammar::Rule& defined = grammar_.rules_[static_cast<std::uint32_t>(rule)];
  PLM_CHECK(!defined.defined);
  defined.body = body;
  defined.defined = true;
}

Part GrammarBuilder::regular(Regular expression) {
  if (expression == Regular::nothing) return Part::nothing;
  if (expression == Regular::empty) return Part::empty;
  return add({.kind = Grammar::Kind::regular, .first = static_cast<std::uint32_t>(expression)});
}

Part GrammarBuilder::token(TokenLiteral token) {
  std::sort(token.ids.begin(), token.ids.end());
  auto& tokens = grammar_.tokens_;
  const auto found = std::find(tokens.begin(), tokens.end(), token);
  const auto number = static_cast<std::uint32_t>(found - tokens.begin());
  if (found == tokens.end()) tokens.push_back(std::move(token));
  return add({.kind = Grammar::Kind::token, .first = number});
}

Part GrammarBuilder::rule(RuleId rule) {
  return add({.kind = Grammar::Kind::rule, .first = static_cast<std::uint32_t>(rule)});
}

std::optional<Regular> GrammarBuilder::as_regular(Part part) const {
  const Grammar::Node& n = node(part);
  switch (n.kind) {
    case Grammar::Kind::empty: return Regular::empty;
    case Grammar::Kind::nothing: return Regular::nothing;
    case Grammar::Kind::regular: return static_cast<Regular>(n.first);
    default: return std::nullopt;
  }
}

// A sequence of sets of bytes. What follows one may be joined to it without loss: its derivatives end in just that.
bool GrammarBuilder::is_fixed_length(Regular expression) const {
  const RegularStore& store = grammar_.regular();
  const RegularStore::Node* n = &store.node(expression);
  while (n->kind == RegularStore::Kind::concatenation) {
    if (store.node(static_cast<Regular>(n->first)).kind != RegularStore::Kind::bytes) return false;
    n = &store.node(static_cast<Regular>(n->second));
  }
  return n->kind == RegularStore::Kind::bytes;
}

Part GrammarBuilder::sequence(std::span<const Part> parts) {
  std::vector<Part> flat;
  for (const Part part : parts) {
    const Grammar::Node& n = node(part);
    if (part == Part::nothing) return Part::nothing;
    if (n.kind == Grammar::Kind::sequence) {
      const auto inside = grammar_.children(n);
      flat.insert(flat.end(), inside.begin(), inside.end());
    } else if (part != Part::empty) {
      flat.push_back(part);
    }
  }
  std::vector<Part> members;  // from the back
  for (auto part = flat.rbegin(); part != flat.rend(); ++part) {
    const auto head = as_regular(*part);
    const auto rest = members.empty() ? std::nullopt : as_regular(members.back());
    if (head && rest && is_fixed_length(*head)) {
      members.back() = regular(store().concatenate(*head, *rest));
    } else {
      members.push_back(*part);
    }
  }
  if (members.empty()) return Part::empty;
  if (members.size() == 1) return members[0];
  std::reverse(members.begin(), members.end());
  return add({.kind = Grammar::Kind::sequence}, members);
}

Part GrammarBuilder::choice(std::span<const Part> parts) {
  std::vector<Part> members;
  std::vector<Regular> regulars;
  const auto take = [&](Part part) {
    if (part == Part::nothing) return;
    if (const auto expression = as_regular(part)) {
      regulars.push_back(*expression);
    } else {
      members.push_back(part);
    }
  };
  for (const Part part : parts) {
    const Grammar::Node& n = node(part);
    if (n.kind != Grammar::Kind::choice) {
      take(part);
    } else {
      for (const Part inside : grammar_.children(n)) take(inside);
    }
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (const Part joined = regular(store().alternate(regulars)); joined != Part::nothing) members.push_back(joined);
  if (members.empty()) return Part::nothing;
  if (members.size() == 1) return members[0];
  return add({.kind = Grammar::Kind::choice}, members);
}

Part GrammarBuilder::repeat(Part part, std::uint32_t min, std::uint32_t max) {
  if (max < min) return Part::nothing;
  if (max == 0 || part == Part::empty) return Part::empty;
  if (part == Part::nothing) return min == 0 ? Part::empty : Part::nothing;
  if (min == 1 && max == 1) return part;
  if (const auto expression = as_regular(part)) return regular(store().repeat(*expression, min, max));
  return add({.kind = Grammar::Kind::repeat, .first = static_cast<std::uint32_t>(part), .min = min, .max = max});
}

}  // namespace plm
