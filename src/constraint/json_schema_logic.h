// The "or" of a schema brought outside: a set of schemas that a value must fit (and must not fit) becomes alternatives
// without any "or" (json_schema_rules.h). allOf, references and siblings join their rules; anyOf, oneOf, if/then/else
// and the dependent keywords are choices; `not` is pushed inwards keyword by keyword ("not minimum 5" is a number below
// 5, "not properties a: S" an object that has an a which does not fit S), so that oneOf of overlapping schemas is
// exact.
//
// What must stay true: the alternatives together hold for exactly the values that the set holds for; what cannot be
// said this way is refused by name, or, leniently, left out with a warning.
// Tested by tests/constraint/test_json_schema_logic.cpp and by the conformance data in test_json_schema.cpp.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "constraint/json_schema_document.h"
#include "constraint/json_schema_rules.h"

namespace plm {

/// Whether a keyword that cannot be enforced is an error or a warning.
class SchemaRefusals {
 public:
  explicit SchemaRefusals(SchemaDocument& document, bool lenient) : document_(document), lenient_(lenient) {}

  /// The error that names pointer and keyword; nothing, and a remark, if lenient.
  Result<void> refuse(SchemaId id, std::string_view keyword, std::string_view why, ErrorKind kind);
  [[nodiscard]] SchemaId root() const { return document_.root(); }
  [[nodiscard]] const std::vector<SchemaRemark>& refused() const { return refused_; }

 private:
  SchemaDocument& document_;
  bool lenient_;
  std::vector<SchemaRemark> refused_;
};

class SchemaLogic {
 public:
  struct Limits {
    std::size_t alternatives = 4096;     ///< of one set of schemas
    std::size_t steps = 50'000;          ///< looked at while finding them
    std::size_t all_steps = 500'000;     ///< for a whole document
    std::size_t negated_branches = 32;   ///< of a oneOf that overlaps
    std::size_t evaluated_branches = 8;  ///< of one anyOf beside unevaluatedProperties
  };

  SchemaLogic(SchemaDocument& document, SchemaRefusals& refusals) : SchemaLogic(document, refusals, Limits()) {}
  SchemaLogic(SchemaDocument& document, SchemaRefusals& refusals, const Limits& limits);

  /// The alternatives of a set; none if it plainly holds for nothing. Errors: bad_input (a keyword that is wrong or
  /// refused), no_room (more alternatives than the limit).
  Result<std::vector<ValueRule>> alternatives(const SchemaTerms& terms);
  /// Whether the set provably holds for no value; looks `depth` properties or items deep.
  Result<bool> provably_empty(const SchemaTerms& terms, int depth = 3);

  [[nodiscard]] SchemaTerm always() const { return {true_schema_, true}; }
  [[nodiscard]] SchemaTerm never() const { return {true_schema_, false}; }
  SchemaDocument& document() { return document_; }
  SchemaRefusals& refusals() { return refusals_; }

 private:
  friend class SchemaExpansion;
  Result<bool> all_empty(const std::vector<ValueRule>& rules, int depth);

  SchemaDocument& document_;
  SchemaRefusals& refusals_;
  Limits limits_;
  SchemaId true_schema_;
  std::set<SchemaId> ends_;  // schemas known not to lead back to themselves in place
  std::map<const SchemaValue*, SchemaId> constants_;
  std::map<SchemaTerms, bool> empty_;
  std::map<SchemaId, std::vector<std::vector<bool>>> overlaps_;  // of the branches of a oneOf
  std::size_t steps_ = 0;
  int nesting_ = 0;
};

}  // namespace plm
