// The texts of objects. The names that a rule mentions come in their order; every other name belongs to one of a few
// classes (which patterns it matches), whose members may stand anywhere between. Where only that matters an object is a
// plain sequence; counting, required names that nothing declares, members that must exist, and free order need an
// automaton (json_schema_members.cpp).
// Tested by tests/constraint/test_json_schema_object.cpp.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "constraint/json_schema_members.h"

namespace plm {
namespace {

constexpr std::size_t kMostClasses = 32;

// The names an object may have, sorted out: built once for one rule.
class NameSorter {
 public:
  NameSorter(SchemaWriter& writer, const ObjectRule& rule, SchemaId origin)
      : writer_(writer), rule_(rule), origin_(origin), store_(writer.store()) {}

  // nullopt: a required name cannot be there.
  Result<std::optional<ObjectMembers>> sort() {
    index_rules();
    PLM_TRY(collect_names());
    PLM_TRY(read_patterns());
    const std::set<std::string_view> required(rule_.required.begin(), rule_.required.end());
    ObjectMembers members;
    for (const std::string& name : names_) {
      const bool is_required = required.contains(name);
      ObjectMembers::Member member{.required = is_required, .undeclared = !declared_.contains(name)};
      const std::string text = canonical_text(name);
      const auto splits = memberships([&](Regular language) { return store_.matches(language, text); });
      member.terms = terms_of(&name, splits);
      member.some = some_of(&name, splits);
      const bool possible = store_.matches(allowed_, text) && !never(member.terms);
      if (!possible && is_required) return std::optional<ObjectMembers>();
      if (!possible) continue;
      member.name = store_.literal(json_quoted(name));
      members.named.push_back(std::move(member));
    }
    PLM_TRY(sort_others(members));
    return std::optional(std::move(members));
  }

 private:
  void add_name(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }

  // Rules of single names are found by name, the others are asked one by one.
  void index_rules() {
    for (const ObjectRule::Members& rule : rule_.members) {
      const bool single = !rule.keys->complement && rule.keys->patterns.empty();
      if (!single) for_many_.push_back(&rule);
      for (const std::string& name : rule.keys->keys) {
        if (single) by_name_.emplace(name, &rule);
      }
      if (!single) sets_[rule.keys.get()].insert(rule.keys->keys.begin(), rule.keys->keys.end());
    }
    for (const ObjectRule::Some& some : rule_.some) {
      sets_[some.keys.get()].insert(some.keys->keys.begin(), some.keys->keys.end());
    }
  }

  Result<void> collect_names() {
    for (const ObjectRule::Members& rule : rule_.members) {
      if (rule.keys->complement) continue;
      for (const std::string& name : rule.keys->keys) {
        add_name(name);
        declared_.insert(name);
      }
    }
    for (const std::string& name : rule_.required) add_name(name);
    for (const ObjectRule::Members& rule : rule_.members) {
      for (const std::string& name : rule.keys->keys) add_name(name);
    }
    for (const ObjectRule::Some& some : rule_.some) {
      for (const std::string& name : some.keys->keys) add_name(name);
    }
    allowed_ = store_.star(writer_.text().any_canonical());
    for (const SchemaTerm& term : rule_.names) {
      std::optional<std::vector<std::string>> listed = std::vector<std::string>();
      PLM_TRY_ASSIGN(const Regular language, name_language(term, listed));
      allowed_ = store_.intersect({allowed_, language});
      for (const std::string& name : listed.value_or(std::vector<std::string>())) add_name(name);
    }
    return {};
  }

  // The names that fit a schema as strings; `listed` is emptied where they are not a plain list.
  Result<Regular> name_language(SchemaTerm term, std::optional<std::vector<std::string>>& listed) {
    PLM_TRY_ASSIGN(const auto alternatives, writer_.logic().alternatives({term}));
    std::vector<Regular> ways;
    for (const ValueRule& rule : alternatives) {
      if ((rule.kinds & kString) == 0) continue;
      PLM_TRY_ASSIGN(const Regular way, writer_.strings().texts(rule.string, false));
      ways.push_back(way);
      if (!rule.string.only.has_value()) listed.reset();
      if (!listed.has_value()) continue;
      for (const std::string& name : *rule.string.only) {
        if (store_.matches(way, canonical_text(name))) listed->push_back(name);
      }
    }
    return store_.alternate(ways);
  }

  // Languages by which the other names are told apart: patterns, and names that some member must have.
  Result<void> read_patterns() {
    const auto read = [&](const KeySet& keys) -> Result<void> {
      for (const std::string& pattern : keys.patterns) {
        if (splitters_.contains(pattern)) continue;
        PLM_TRY_ASSIGN(const Regular language, writer_.strings().matching(pattern, keys.origin, "patternProperties"));
        splitters_.emplace(pattern, languages_.size());
        languages_.push_back(language);
      }
      return {};
    };
    for (const ObjectRule::Members& rule : rule_.members) PLM_TRY(read(*rule.keys));
    for (const ObjectRule::Some& some : rule_.some) {
      PLM_TRY(read(*some.keys));
      if (!some.name.has_value()) continue;
      std::optional<std::vector<std::string>> listed;
      PLM_TRY_ASSIGN(const Regular language, name_language(*some.name, listed));
      some_names_.push_back(languages_.size());
      languages_.push_back(language);
    }
    return {};
  }

  template <typename Matches>
  std::vector<bool> memberships(Matches matches) const {
    std::vector<bool> splits;
    for (const Regular language : languages_) splits.push_back(matches(language));
    return splits;
  }

  // `name` null: none of the names that are mentioned.
  bool in(const KeySet& keys, const std::string* name, const std::vector<bool>& splits) const {
    bool inside = name != nullptr && sets_.at(&keys).contains(*name);
    for (const std::string& pattern : keys.patterns) inside |= splits[splitters_.at(pattern)];
    return inside != keys.complement;
  }

  SchemaTerms terms_of(const std::string* name, const std::vector<bool>& splits) const {
    SchemaTerms terms;
    const auto add = [&](SchemaTerm must) {
      if (must != writer_.logic().always()) add_term(terms, must);
    };
    for (const ObjectRule::Members* rule : for_many_) {
      if (in(*rule->keys, name, splits)) add(rule->must);
    }
    if (name == nullptr) return terms;
    const auto [first, last] = by_name_.equal_range(*name);
    for (auto rule = first; rule != last; ++rule) add(rule->second->must);
    return terms;
  }

  std::vector<std::size_t> some_of(const std::string* name, const std::vector<bool>& splits) const {
    std::vector<std::size_t> found;
    std::size_t named = 0;
    for (std::size_t i = 0; i < rule_.some.size(); ++i) {
      const bool fits = !rule_.some[i].name.has_value() || splits[some_names_[named++]];
      if (fits && in(*rule_.some[i].keys, name, splits)) found.push_back(i);
    }
    return found;
  }

  [[nodiscard]] bool never(const SchemaTerms& terms) const {
    return std::binary_search(terms.begin(), terms.end(), writer_.logic().never());
  }

  struct Class {
    Regular language;
    std::vector<bool> splits;
  };

  Result<void> sort_others(ObjectMembers& members) {
    std::vector<std::string> mentioned(names_.begin(), names_.end());
    const Regular others = store_.difference(allowed_, writer_.text().canonical_texts(mentioned));
    std::vector<Class> classes = {{others, {}}};
    for (const Regular language : languages_) {
      std::vector<Class> finer;
      for (const Class& one : classes) {
        for (const bool inside : {false, true}) {
          Class part{inside ? store_.intersect({one.language, language}) : store_.difference(one.language, language),
                     one.splits};
          part.splits.push_back(inside);
          PLM_TRY_ASSIGN(const bool nothing, writer_.is_nothing(part.language, origin_, "patternProperties"));
          if (!nothing) finer.push_back(std::move(part));
        }
      }
      if (finer.size() > kMostClasses) {
        return fail(
            ErrorKind::no_room, "{}",
            writer_.logic().document().complaint(
                origin_, "patternProperties", fmt::format("the patterns overlap in more than {} ways", kMostClasses)));
      }
      classes = std::move(finer);
    }
    for (const Class& one : classes) {
      ObjectMembers::Member member{.terms = terms_of(nullptr, one.splits), .some = some_of(nullptr, one.splits)};
      if (never(member.terms)) continue;
      if (!rule_.names.empty()) {
        PLM_TRY_ASSIGN(const bool nothing, writer_.is_nothing(one.language, origin_, "propertyNames"));
        if (nothing) continue;
      }
      member.name = writer_.text().quoted(one.language);
      members.others.push_back(std::move(member));
    }
    return {};
  }

  SchemaWriter& writer_;
  const ObjectRule& rule_;
  SchemaId origin_;
  RegularStore& store_;
  std::vector<std::string> names_;
  std::set<std::string> known_, declared_;
  Regular allowed_ = Regular::nothing;
  std::map<std::string, std::size_t> splitters_;
  std::vector<Regular> languages_;
  std::vector<std::size_t> some_names_;
  std::multimap<std::string_view, const ObjectRule::Members*> by_name_;
  std::vector<const ObjectRule::Members*> for_many_;
  std::map<const KeySet*, std::unordered_set<std::string_view>> sets_;
};

// Members in order, others between them: "{" first (others)* [, next (others)*] ... "}".
class PlainObject {
 public:
  PlainObject(SchemaWriter& writer, const ObjectMembers& members, SchemaId origin)
      : writer_(writer), builder_(writer.builder()), members_(members), origin_(origin) {}

  Result<Part> write() {
    const auto& named = members_.named;
    comma_ = builder_.regular(writer_.text().comma());
    std::vector<Part> others;
    for (const auto& member : members_.others) {
      PLM_TRY_ASSIGN(const Part part, write_member(writer_, member, member.terms));
      others.push_back(part);
    }
    const Part other = builder_.choice(others);
    others_ = others.empty() ? Part::empty : builder_.repeat(builder_.sequence({comma_, other}), 0, kUnbounded);
    std::size_t first_required = 0;
    while (first_required < named.size() && !named[first_required].required) ++first_required;
    PLM_TRY(write_tails(std::min(first_required + 1, named.size())));
    std::vector<Part> starts;
    if (first_required == named.size()) starts.push_back(builder_.literal("}"));
    if (!others.empty()) starts.push_back(builder_.sequence({other, others_, tails_[0]}));
    for (std::size_t i = 0; i < named.size() && i <= first_required; ++i) {
      starts.push_back(builder_.sequence({parts_[i], others_, tails_[i + 1]}));
    }
    return builder_.sequence({builder_.regular(writer_.text().open('{')), builder_.choice(starts)});
  }

 private:
  // tails_[i]: what follows once a member is written and i, i + 1 ... may still come. The first `jumped` are rules of
  // their own, since an object may begin at any of them.
  Result<void> write_tails(std::size_t jumped) {
    const auto& named = members_.named;
    tails_.assign(named.size() + 1, Part::empty);
    parts_.resize(named.size());
    std::vector<Part> sequence = {builder_.regular(writer_.text().close('}'))};
    for (std::size_t i = named.size() + 1; i-- > 0;) {
      if (i < named.size()) {
        PLM_TRY_ASSIGN(parts_[i], write_member(writer_, named[i], named[i].terms));
        const Part with_comma = builder_.sequence({comma_, parts_[i], others_});
        sequence.insert(sequence.begin(), named[i].required ? with_comma : builder_.optional(with_comma));
      }
      if (i > jumped) continue;
      PLM_TRY_ASSIGN(const RuleId rule, writer_.declare(origin_, "properties"));
      builder_.define(rule, builder_.sequence(sequence));
      tails_[i] = builder_.rule(rule);
      sequence = {tails_[i]};
    }
    return {};
  }

  SchemaWriter& writer_;
  GrammarBuilder& builder_;
  const ObjectMembers& members_;
  SchemaId origin_;
  Part comma_ = Part::empty, others_ = Part::empty;
  std::vector<Part> tails_, parts_;
};

bool is_plain(const ObjectMembers& members, const ObjectRule& rule, bool any_order) {
  if (!rule.some.empty() || (any_order && members.named.size() > 1)) return false;
  std::size_t required = 0;
  for (const auto& member : members.named) {
    required += member.required ? 1 : 0;
    if (member.undeclared && member.required) return false;
  }
  const bool enough = required >= rule.min_properties;
  const bool few =
      rule.max_properties == kUnbounded || (members.others.empty() && members.named.size() <= rule.max_properties);
  return enough && few;
}

}  // namespace

Result<Part> write_member(SchemaWriter& writer, const ObjectMembers::Member& member, const SchemaTerms& terms) {
  PLM_TRY_ASSIGN(const Part value, writer.value(terms));
  const Regular name = writer.store().concatenate({member.name, writer.text().colon()});
  return writer.builder().sequence({writer.builder().regular(name), value});
}

Result<Part> write_object(SchemaWriter& writer, const ObjectRule& rule, SchemaId origin) {
  PLM_TRY_ASSIGN(const auto members, NameSorter(writer, rule, origin).sort());
  if (!members.has_value()) return Part::nothing;
  if (is_plain(*members, rule, writer.options().any_order)) return PlainObject(writer, *members, origin).write();
  return write_counted_object(writer, rule, *members, origin);
}

}  // namespace plm
