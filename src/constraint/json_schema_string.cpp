#include "constraint/json_schema_string.h"

#include <algorithm>

#include "base/utf8.h"
#include "constraint/json_schema_format.h"

namespace plm {
namespace {

constexpr std::uint32_t kMostCountedBesidePattern = 10'000;  // the shortest text is searched state by state

}  // namespace

Result<Regular> SchemaStrings::texts(const StringRule& rule, bool free) {
  RegularStore& store = text_.store();
  const bool by_value =
      rule.only.has_value() || !rule.patterns.empty() || !rule.formats.empty() || !rule.excluded.empty();
  if (by_value && rule.min_length > kMostCountedBesidePattern) {
    const SchemaId origin = !rule.patterns.empty()  ? rule.patterns.front().origin
                            : !rule.formats.empty() ? rule.formats.front().origin
                                                    : refusals_.root();
    PLM_TRY(refusals_.refuse(
        origin, "minLength",
        fmt::format("beside pattern, format or not, at most {} is supported", kMostCountedBesidePattern),
        ErrorKind::no_room));
    StringRule shorter = rule;
    shorter.min_length = 0;
    return texts(shorter, free);
  }
  const bool counted = rule.min_length > 0 || rule.max_length != kUnbounded;
  if (!by_value) {
    return store.repeat(free ? text_.any_free() : text_.any_canonical(), rule.min_length, rule.max_length);
  }
  std::vector<Regular> parts;
  bool all_canonical = true;  // some part has only canonical spellings
  for (const StringRule::Match& match : rule.patterns) {
    PLM_TRY_ASSIGN(const Regular found, matching(match.text, match.origin, "pattern"));
    parts.push_back(match.holds ? found : store.complement(found));
    all_canonical &= !match.holds;
  }
  for (const StringRule::Match& match : rule.formats) {
    PLM_TRY_ASSIGN(const Regular found, of_format(match));
    parts.push_back(match.holds ? found : store.complement(found));
    all_canonical &= !match.holds;
  }
  if (counted) {
    parts.push_back(store.repeat(text_.any_canonical(), rule.min_length, rule.max_length));
  } else if (all_canonical) {
    parts.push_back(store.star(text_.any_canonical()));
  }
  if (!rule.excluded.empty()) parts.push_back(store.complement(text_.canonical_texts(rule.excluded)));
  const Regular language = store.intersect(parts);
  if (!rule.only.has_value()) return language;
  std::vector<std::string> kept;
  std::copy_if(rule.only->begin(), rule.only->end(), std::back_inserter(kept),
               [&](const std::string& value) { return store.matches(language, canonical_text(value)); });
  return text_.canonical_texts(kept);
}

Result<Regular> SchemaStrings::matching(const std::string& pattern, SchemaId origin, std::string_view keyword) {
  if (const auto known = patterns_.find(pattern); known != patterns_.end()) return known->second;
  const auto read = parse_regex(text_.store(), pattern, spelled(true));
  Regular found = text_.store().star(text_.any_canonical());
  if (read.has_value()) {
    found = *read;
  } else {
    PLM_TRY(refusals_.refuse(origin, keyword, fmt::format("\"{}\": {}", printable(pattern, 80), read.error().message),
                             read.error().kind));
  }
  patterns_.emplace(pattern, found);
  return found;
}

RegexOptions SchemaStrings::spelled(bool search) {
  return {.search = search, .ecmascript_spaces = true, .spelling = [this](RegularStore&, const CodePoints& set) {
            return text_.canonical(set);
          }};
}

Result<Regular> SchemaStrings::of_format(const StringRule::Match& match) {
  RegularStore& store = text_.store();
  const StringFormat* format = string_format(match.text);
  if (format == nullptr || (!match.holds && !format->exact)) {
    const std::string why =
        format == nullptr
            ? fmt::format("\"{}\" is not enforced; known are {}", printable(match.text, 60), string_format_names())
            : fmt::format("\"{}\" is not supported where the schema must not hold", match.text);
    PLM_TRY(refusals_.refuse(match.origin, "format", why, ErrorKind::bad_input));
    return match.holds ? store.star(text_.any_canonical()) : Regular::nothing;
  }
  if (const auto known = formats_.find(match.text); known != formats_.end()) return known->second;
  PLM_TRY_ASSIGN(Regular found, parse_regex(store, format->pattern, spelled(false)));
  if (format->longest != UINT32_MAX) {
    found = store.intersect({found, store.repeat(text_.any_canonical(), 0, format->longest)});
  }
  formats_.emplace(match.text, found);
  return found;
}

}  // namespace plm
