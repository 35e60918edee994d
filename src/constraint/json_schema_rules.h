// What one alternative of a schema asks of a value, kind by kind, without any "or": the form to which
// json_schema_logic.h brings every combination of schemas and from which the grammar is written.
//
// A rule holds for a value if the value's kind is in `kinds` and the part for that kind holds. Rules inside arrays and
// objects name schemas that the elements must fit (or must not): SchemaTerm.
// What must stay true: `meet` is intersection, exactly.
// Tested by tests/constraint/test_json_schema_logic.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constraint/decimal.h"
#include "constraint/json_schema_document.h"
#include "constraint/regular.h"

namespace plm {

/// "The value fits schema `id`", or (`holds` false) "does not fit".
struct SchemaTerm {
  SchemaId id = 0;
  bool holds = true;

  [[nodiscard]] SchemaTerm negated() const { return {id, !holds}; }
  friend auto operator<=>(const SchemaTerm&, const SchemaTerm&) = default;
};

/// All of them, sorted and without repetitions: the name of a language.
using SchemaTerms = std::vector<SchemaTerm>;
void add_term(SchemaTerms& terms, SchemaTerm term);

struct NumberRule {
  struct Bound {
    Decimal value;
    bool exclusive = false;
  };
  struct Multiple {
    Decimal step;
    bool holds = true;
    SchemaId origin = 0;
    friend bool operator==(const Multiple&, const Multiple&) = default;
  };
  std::optional<Bound> lower, upper;
  std::vector<Multiple> multiples;
  std::optional<std::vector<Decimal>> only;
  std::vector<Decimal> excluded;

  void meet(const NumberRule& other);
  [[nodiscard]] bool allows(const Decimal& value) const;
};

struct StringRule {
  struct Match {
    std::string text;
    bool holds = true;
    SchemaId origin = 0;
    friend bool operator==(const Match& a, const Match& b) { return a.text == b.text && a.holds == b.holds; }
  };
  std::uint32_t min_length = 0, max_length = kUnbounded;  // in characters
  std::vector<Match> patterns, formats;
  std::optional<std::vector<std::string>> only;
  std::vector<std::string> excluded;

  void meet(const StringRule& other);
};

struct ArrayRule {
  /// Elements `from` to `to` (excluded) fit `must`.
  struct Items {
    std::uint32_t from = 0, to = kUnbounded;
    SchemaTerm must;
  };
  /// From `min` to `max` elements fit `must`.
  struct Contains {
    SchemaTerm must;
    std::uint32_t from = 0, min = 1, max = kUnbounded;
    SchemaId origin = 0;
  };
  std::vector<Items> items;
  std::vector<Contains> contains;
  std::uint32_t min_items = 0, max_items = kUnbounded;
  std::optional<SchemaId> unique;  ///< the schema that asks for it

  void meet(const ArrayRule& other);
};

/// Property names: these, those that match a pattern, or (complement) all others.
struct KeySet {
  std::vector<std::string> keys;
  std::vector<std::string> patterns;
  bool complement = false;
  SchemaId origin = 0;  ///< for messages about the patterns
};

struct ObjectRule {
  /// The value of every member whose name is in `keys` fits `must`.
  struct Members {
    std::shared_ptr<const KeySet> keys;
    SchemaTerm must;
  };
  /// Some member has a name in `keys` that fits `name` as a string, and a value that fits `must`.
  struct Some {
    std::shared_ptr<const KeySet> keys;
    SchemaTerm must;
    std::optional<SchemaTerm> name;
    SchemaId origin = 0;
  };
  std::vector<Members> members;
  std::vector<Some> some;
  std::vector<std::string> required;
  std::vector<SchemaTerm> names;  ///< that every name fits as a string
  std::uint32_t min_properties = 0, max_properties = kUnbounded;

  void meet(const ObjectRule& other);
};

struct ValueRule {
  std::uint8_t kinds = kAnyKind;
  NumberRule number;
  StringRule string;
  ArrayRule array;
  ObjectRule object;

  void meet(const ValueRule& other);
  /// Takes out kinds that plainly have no value left (bounds that cross, empty lists, a required property that must be
  /// absent), so that `kinds` == 0 says the rule cannot hold. `never` is the schema false.
  void settle(SchemaTerm never);
};

}  // namespace plm
