#include "constraint/json_schema_logic.h"

#include <algorithm>

#include "constraint/json_schema_expansion.h"

namespace plm {

Result<void> SchemaRefusals::refuse(SchemaId id, std::string_view keyword, std::string_view why, ErrorKind kind) {
  if (!lenient_) return fail(kind, "{}", document_.complaint(id, keyword, why));
  const std::string pointer = document_.pointer(id);
  const bool known = std::any_of(refused_.begin(), refused_.end(), [&](const SchemaRemark& remark) {
    return remark.pointer == pointer && remark.keyword == keyword;
  });
  if (!known) refused_.push_back({pointer, std::string(keyword), std::string(why)});
  return {};
}

SchemaLogic::SchemaLogic(SchemaDocument& document, SchemaRefusals& refusals, const Limits& limits)
    : document_(document),
      refusals_(refusals),
      limits_(limits),
      true_schema_(document.add(Schema{.truth = true}, document.root())) {}

Result<std::vector<ValueRule>> SchemaLogic::alternatives(const SchemaTerms& terms) {
  return SchemaExpansion(*this).run(terms);
}

namespace {

// The schemas that the value of a required property `key` must fit, as far as they are said by name.
SchemaTerms named_terms(const ObjectRule& object, const std::string& key) {
  SchemaTerms terms;
  for (const ObjectRule::Members& rule : object.members) {
    const auto& keys = rule.keys->keys;
    if (!rule.keys->complement && std::find(keys.begin(), keys.end(), key) != keys.end()) add_term(terms, rule.must);
  }
  return terms;
}

constexpr int kDeepestProof = 16;
constexpr std::size_t kFewMembers = 64;  // of an object that is looked into: this is only a shortcut

}  // namespace

Result<bool> SchemaLogic::provably_empty(const SchemaTerms& terms, int depth) {
  if (terms.empty()) return false;
  // Not provable until it is proved: schemas come back to themselves.
  const auto [known, first] = empty_.emplace(terms, false);
  if (!first) return known->second;
  if (nesting_ >= kDeepestProof) return false;
  ++nesting_;
  const auto found = alternatives(terms);
  Result<bool> empty = found.has_value() ? all_empty(*found, depth) : tl::unexpected<Error>(found.error());
  --nesting_;
  if (empty.has_value()) empty_[terms] = *empty;
  return empty;
}

Result<bool> SchemaLogic::all_empty(const std::vector<ValueRule>& rules, int depth) {
  bool empty = true;
  for (const ValueRule& rule : rules) {
    if (!empty) break;
    bool object_left = (rule.kinds & kObject) != 0;
    empty = (rule.kinds & ~kObject) == 0;
    if (!empty || !object_left) continue;
    empty = false;
    if (depth <= 0 || rule.object.members.size() > kFewMembers) continue;
    for (const std::string& key : rule.object.required) {
      PLM_TRY_ASSIGN(empty, provably_empty(named_terms(rule.object, key), depth - 1));
      if (empty) break;
    }
  }
  return empty;
}

}  // namespace plm
