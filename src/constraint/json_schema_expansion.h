// One walk of SchemaLogic from a set of schemas to its alternatives.
// Tested by tests/constraint/test_json_schema_logic.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constraint/json_schema_logic.h"
#include "constraint/json_schema_rules.h"

namespace plm {

class SchemaExpansion {
 public:
  explicit SchemaExpansion(SchemaLogic& logic) : logic_(logic), document_(logic.document_) {}

  Result<std::vector<ValueRule>> run(const SchemaTerms& terms);

 private:
  // One way to satisfy a choice.
  struct Option {
    SchemaTerms terms;
    ValueRule rule;
  };
  struct Choice {
    std::vector<Option> options;
    SchemaId origin = 0;
    std::string keyword;
  };
  struct Pending {
    SchemaTerm term;
    bool joined = false;  // what its allOf and $ref say is in already
  };
  struct State {
    ValueRule rule;
    std::vector<Pending> pending;  // the last one is next
    std::vector<std::shared_ptr<const Choice>> choices;
    std::size_t next_choice = 0;
    SchemaTerms seen;
  };
  // One way in which the schemas in place hold, and what they have looked at (for unevaluated*).
  struct Evaluated {
    Option option;
    KeySet keys;
    bool all_keys = false;
    std::uint32_t items = 0;
    std::vector<SchemaTerm> contains;
  };

  // json_schema_expansion.cpp: the walk.
  Result<bool> propagate(State& state);
  Result<void> branch(State state, std::vector<State>& work);
  void push(State& state, SchemaTerm term) { state.pending.push_back({term}); }
  Result<void> check_ends(SchemaId id);

  // json_schema_assertion.cpp: a schema that holds.
  Result<void> hold(State& state, SchemaId id, const Schema& schema);
  void hold_numbers(ValueRule& rule, SchemaId id, const Schema& schema);
  void hold_strings(ValueRule& rule, SchemaId id, const Schema& schema);
  void hold_arrays(ValueRule& rule, SchemaId id, const Schema& schema);
  void hold_objects(ValueRule& rule, SchemaId id, const Schema& schema);
  Result<void> hold_values(State& state, SchemaId id, const Schema& schema);
  Result<void> hold_joined(State& state, SchemaId id, const Schema& schema);
  Result<void> hold_choices(State& state, SchemaId id, const Schema& schema);
  void hold_dependent(State& state, SchemaId id, const Schema& schema);
  Result<void> hold_one_of(State& state, SchemaId id, const Schema& schema);
  Result<std::vector<std::vector<bool>>> overlaps(SchemaId id, const Schema& schema);
  Result<bool> told_apart_by_tag(const std::vector<SchemaId>& branches);
  Result<std::vector<std::pair<std::string, std::string>>> tags(SchemaId id);
  Option scalars(const std::vector<const SchemaValue*>& values, std::vector<const SchemaValue*>& others);
  SchemaId constant(const SchemaValue& value, SchemaId origin);

  // json_schema_denial.cpp: a schema that does not hold.
  Result<void> deny(State& state, SchemaId id, const Schema& schema);
  void deny_numbers(Choice& choice, const Schema& schema);
  void deny_strings(Choice& choice, const Schema& schema);
  void deny_arrays(Choice& choice, const Schema& schema);
  void deny_objects(Choice& choice, const Schema& schema);
  Result<void> deny_logic(Choice& choice, SchemaId id, const Schema& schema);
  void deny_values(Choice& choice, SchemaId id, const std::vector<const SchemaValue*>& values);
  Result<void> deny_unsupported(Choice& choice, SchemaId id, const Schema& schema);

  // json_schema_unevaluated.cpp
  Result<void> hold_unevaluated(State& state, SchemaId id, const Schema& schema);
  Result<std::vector<Evaluated>> evaluate(SchemaId id, int depth);
  Result<void> evaluate_choices(std::vector<Evaluated>& ways, const Schema& schema, SchemaId id, int depth);
  Result<std::vector<Evaluated>> held_or_not(SchemaId id, const std::vector<SchemaId>& branches, bool exactly_one,
                                             int depth);
  Evaluated own_part(SchemaId id, const Schema& schema);
  static std::vector<Evaluated> product(const std::vector<Evaluated>& a, const std::vector<Evaluated>& b);

  static ValueRule only_kinds(unsigned kinds);
  static std::shared_ptr<const KeySet> key(const std::string& name);
  static std::shared_ptr<const KeySet> matching(const std::string& pattern, SchemaId origin);
  static std::shared_ptr<const KeySet> additional(const Schema& schema, SchemaId origin);

  SchemaLogic& logic_;
  SchemaDocument& document_;
  std::size_t steps_ = 0;
};

}  // namespace plm
