#include "constraint/json_schema_writer.h"

#include <algorithm>
#include <array>

namespace plm {
namespace {

constexpr std::size_t kMostRules = 50'000;

}  // namespace

SchemaWriter::SchemaWriter(GrammarBuilder& builder, SchemaLogic& logic, const JsonSchemaOptions& options)
    : builder_(builder),
      logic_(logic),
      options_(options),
      text_(builder, options.space),
      strings_(text_, logic.refusals()),
      numbers_(builder.store(), logic.refusals()) {}

Result<RuleId> SchemaWriter::write(const SchemaTerms& terms) {
  PLM_TRY_ASSIGN(const Part root, value(terms));
  while (!waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    std::vector<Part> ways;
    for (const ValueRule& rule : next.alternatives) {
      PLM_TRY_ASSIGN(const Part way, alternative(rule, next.origin));
      ways.push_back(way);
    }
    builder_.define(next.rule, builder_.choice(ways));
  }
  PLM_TRY_ASSIGN(const RuleId rule, declare(terms.empty() ? 0 : terms.front().id, "$schema"));
  builder_.define(rule, root);
  return rule;
}

Result<Part> SchemaWriter::value(const SchemaTerms& given) {
  SchemaTerms terms = given;
  std::erase(terms, logic_.always());
  if (const auto known = known_.find(terms); known != known_.end()) return known->second;
  PLM_TRY_ASSIGN(auto alternatives, logic_.alternatives(terms));
  const SchemaId origin = terms.empty() ? 0 : terms.front().id;
  const bool composed = std::any_of(alternatives.begin(), alternatives.end(),
                                    [](const ValueRule& rule) { return (rule.kinds & (kArray | kObject)) != 0; });
  Part part = Part::nothing;
  if (composed) {
    PLM_TRY_ASSIGN(const RuleId rule, declare(origin, "type"));
    waiting_.push_back({rule, std::move(alternatives), origin});
    part = builder_.rule(rule);
  } else {
    std::vector<Part> ways;
    for (const ValueRule& rule : alternatives) {
      PLM_TRY_ASSIGN(const Part way, scalars(rule));
      ways.push_back(way);
    }
    part = builder_.choice(ways);
  }
  known_.emplace(terms, part);
  return part;
}

Result<Part> SchemaWriter::scalars(const ValueRule& rule) {
  std::vector<Regular> ways;
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 3> kWords = {
      {{kNull, "null"}, {kTrue, "true"}, {kFalse, "false"}}};
  for (const auto& [kind, word] : kWords) {
    if ((rule.kinds & kind) != 0) ways.push_back(store().literal(word));
  }
  if ((rule.kinds & kNumber) != 0) {
    PLM_TRY_ASSIGN(const Regular number, numbers_.texts(rule.number, rule.kinds & kNumber));
    ways.push_back(number);
  }
  if ((rule.kinds & kString) != 0) {
    PLM_TRY_ASSIGN(const Regular inner, strings_.texts(rule.string, true));
    ways.push_back(text_.quoted(inner));
  }
  return builder_.regular(store().alternate(ways));
}

Result<Part> SchemaWriter::alternative(const ValueRule& rule, SchemaId origin) {
  std::vector<Part> ways;
  PLM_TRY_ASSIGN(const Part scalar, scalars(rule));
  ways.push_back(scalar);
  if ((rule.kinds & kArray) != 0) {
    PLM_TRY_ASSIGN(const Part array, write_array(*this, rule.array, origin));
    ways.push_back(array);
  }
  if ((rule.kinds & kObject) != 0) {
    PLM_TRY_ASSIGN(const Part object, write_object(*this, rule.object, origin));
    ways.push_back(object);
  }
  return builder_.choice(ways);
}

Result<std::optional<std::vector<std::string>>> SchemaWriter::listed(const SchemaTerms& terms, std::size_t most) {
  std::optional<std::vector<std::string>> texts;
  PLM_TRY_ASSIGN(const auto alternatives, logic_.alternatives(terms));
  for (const ValueRule& rule : alternatives) {
    const auto numbers = SchemaNumbers::listed(rule.number, rule.kinds & kNumber, most);
    const bool endless = (rule.kinds & (kArray | kObject)) != 0 || ((rule.kinds & kNumber) != 0 && !numbers) ||
                         ((rule.kinds & kString) != 0 && !rule.string.only.has_value());
    if (endless) return texts;
  }
  std::vector<Part> ways;
  for (const ValueRule& rule : alternatives) {
    PLM_TRY_ASSIGN(const Part way, scalars(rule));
    ways.push_back(way);
  }
  const auto regular = builder_.as_regular(builder_.choice(ways));
  if (!regular.has_value()) return texts;
  auto found = store().texts(*regular, most + 1);
  if (!found.has_value() || !found->has_value()) return texts;
  std::erase((*found).value(), "-0");  // the same value as 0
  return found->value().size() > most ? texts : *found;
}

Result<RuleId> SchemaWriter::declare(SchemaId origin, std::string_view keyword) {
  if (++rules_ > kMostRules) {
    return fail(ErrorKind::no_room, "{}",
                logic_.document().complaint(origin, keyword,
                                            fmt::format("the grammar has more than {} rules; the "
                                                        "schema combines too much",
                                                        kMostRules)));
  }
  return builder_.declare(logic_.document().pointer(origin));
}

Result<bool> SchemaWriter::is_nothing(Regular regular, SchemaId origin, std::string_view keyword) {
  const auto answer = store().is_nothing(regular);
  if (answer.has_value()) return *answer;
  return fail(answer.error().kind, "{}", logic_.document().complaint(origin, keyword, answer.error().message));
}

}  // namespace plm
