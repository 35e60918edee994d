// Free text in which constrained parts begin when the model begins them: tool calls, thinking sections.
//
// A trigger is a text or a special token; up to it everything is free, from it on the part's own grammar holds until
// its end mark, then the text is free again. A trigger counts where its last character is written and nowhere else, so
// it should be a whole tag, not a word that may stand in other words. It is all one grammar: forced text, budgets and
// speculative windows that cross a border need no special case.
// Tested by tests/constraint/test_structural_tags.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_forward.h"
#include "constraint/grammar.h"
#include "constraint/json_schema.h"
#include "text/token.h"

namespace plm {

/// Where a part begins or ends: this text, or (if not empty) one of these special tokens.
struct TagMark {
  std::string text;
  std::vector<TokenId> tokens;
};

struct StructuralTag {
  TagMark begin;
  std::string schema;  ///< JSON Schema of what stands between the marks; "": any text without the end mark
  TagMark end;
};

struct StructuralTags {
  std::vector<StructuralTag> tags;
  /// Texts that begin the marks of tags and switch the grammar on; empty: each mark is its own trigger.
  std::vector<std::string> triggers;
  bool at_least_one = false;    ///< the text may not end without a tag
  bool stop_after_one = false;  ///< the text ends with the first tag
};

/// Free text with tags. Errors: bad_input (no tag, an empty mark, a trigger that begins no tag or a mark that no
/// trigger begins), and those of the schemas, which name the tag.
Result<Part> structural_tags(GrammarBuilder& builder, const StructuralTags& tags, const JsonSchemaOptions& options = {},
                             JsonSchemaReport* report = nullptr);

/// `then` behind a thinking section that is open already (any text up to and with `end`), or behind one that the text
/// may open itself.
Part after_thinking(GrammarBuilder& builder, const TagMark& end, Part then);
Part after_optional_thinking(GrammarBuilder& builder, const TagMark& begin, const TagMark& end, Part then);

/// {"structures": [{"begin", "schema", "end"}], "triggers": [...]}, as requests write it.
/// Errors: bad_input (a member missing or of the wrong form).
Result<StructuralTags> read_structural_tags(const Json& object);

/// Any text, as a part.
Part any_text(GrammarBuilder& builder);

}  // namespace plm
