// A grammar as all front ends make it: rules over regular terminals, token literals, sequences, choices and counted
// repetitions. This is the one representation under GBNF, JSON Schema, expressions and choice lists.
//
// A rule is declared first and given its body later, so that rules may refer to each other. finish() refuses what no
// automaton of this room runs: undefined rules, left recursion, an empty language; alternatives that no text fits are
// taken out, so that a text which the automaton has begun can always be ended.
// Tested by tests/constraint/test_grammar.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/id_table.h"
#include "constraint/limits.h"
#include "constraint/regular.h"
#include "text/token.h"

namespace plm {

/// A part of one Grammar.
enum class Part : std::uint32_t {
  empty = 0,    ///< the empty text
  nothing = 1,  ///< no text at all
};
enum class RuleId : std::uint32_t {};

/// One whole token, whatever its text: special tokens are only ever matched so.
struct TokenLiteral {
  std::vector<TokenId> ids;
  bool negated = false;  ///< any token but these
  friend bool operator==(const TokenLiteral&, const TokenLiteral&) = default;
};

/// Where a rule stands in what somebody wrote, for errors: "line 3, column 1".
using RulePlace = std::function<std::string(RuleId)>;

class Grammar {
 public:
  enum class Kind : std::uint8_t { empty, nothing, regular, token, rule, sequence, choice, repeat };
  struct Node {
    Kind kind = Kind::empty;
    std::uint32_t first = 0;         // regular, rule, token: number; repeat: child; sequence, choice: into the children
    std::uint32_t second = 0;        // sequence, choice: how many children
    std::uint32_t min = 0, max = 0;  // repeat
  };
  struct Rule {
    std::string name;
    Part body = Part::nothing;
    bool defined = false;
  };

  [[nodiscard]] const Node& node(Part part) const { return nodes_[static_cast<std::uint32_t>(part)]; }
  [[nodiscard]] std::span<const Part> children(const Node& node) const {
    return std::span(children_).subspan(node.first, node.second);
  }
  [[nodiscard]] const Rule& rule(RuleId id) const { return rules_[static_cast<std::uint32_t>(id)]; }
  [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
  [[nodiscard]] const TokenLiteral& token(const Node& node) const { return tokens_[node.first]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] Part root() const { return root_; }
  /// Bytes of the shortest text of a part, a token literal counted as one; kNoLength if it has none.
  [[nodiscard]] std::uint32_t shortest(Part part) const { return shortest_[static_cast<std::uint32_t>(part)]; }
  [[nodiscard]] RegularStore& regular() { return regular_; }
  [[nodiscard]] const RegularStore& regular() const { return regular_; }
  [[nodiscard]] const ConstraintLimits& limits() const { return regular_.limits(); }

 private:
  friend class GrammarBuilder;
  explicit Grammar(const ConstraintLimits& limits) : regular_(limits) {}
  Result<void> find_shortest();
  [[nodiscard]] Result<void> check_rules(const RulePlace& place) const;

  RegularStore regular_;
  std::vector<Node> nodes_;
  std::vector<Part> children_;
  std::vector<TokenLiteral> tokens_;
  std::vector<Rule> rules_;
  std::vector<std::uint32_t> shortest_;  // by part
  Part root_ = Part::nothing;
};

class GrammarBuilder {
 public:
  explicit GrammarBuilder(const ConstraintLimits& limits = {});

  /// Where regular terminals are built: `builder.regular(builder.store().literal("null"))`.
  [[nodiscard]] RegularStore& store() { return grammar_.regular_; }

  /// A rule without a body yet; the name is for people and need not be unique.
  RuleId declare(std::string name);
  /// Once per rule.
  void define(RuleId rule, Part body);

  Part regular(Regular expression);
  Part literal(std::string_view text) { return regular(store().literal(text)); }
  Part token(TokenLiteral token);
  Part rule(RuleId rule);
  Part sequence(std::span<const Part> parts);
  Part sequence(std::initializer_list<Part> parts) { return sequence(std::span(parts.begin(), parts.size())); }
  Part choice(std::span<const Part> parts);
  Part choice(std::initializer_list<Part> parts) { return choice(std::span(parts.begin(), parts.size())); }
  /// From `min` to `max` times (kUnbounded: any number).
  Part repeat(Part part, std::uint32_t min, std::uint32_t max);
  Part optional(Part part) { return repeat(part, 0, 1); }

  /// The regular expression that `part` is, if it is one and no rule: for those who want to intersect or exclude it.
  [[nodiscard]] std::optional<Regular> as_regular(Part part) const;

  /// The grammar, its unusable alternatives taken out. Leaves the builder empty. Errors: bad_input (a rule without a
  /// body, left recursion; both name the rule), unsatisfiable (no text fits), no_room (past a limit).
  Result<Grammar> finish(RuleId root, const RulePlace& place = {});

 private:
  Part add(Grammar::Node node, std::span<const Part> children = {});
  [[nodiscard]] const Grammar::Node& node(Part part) const { return grammar_.node(part); }
  [[nodiscard]] bool is_fixed_length(Regular expression) const;
  Grammar rebuilt(RuleId root);
  [[nodiscard]] std::uint32_t weight(Regular expression) const;
  [[nodiscard]] std::vector<bool> small_regular_rules() const;

  Grammar grammar_;
  IdTable index_;
  bool exhausted_ = false;
};

}  // namespace plm
