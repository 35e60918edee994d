#include "constraint/structural_tags.h"

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

// Any text without one of `marks`.
Regular text_without(RegularStore& store, const std::vector<std::string>& marks) {
  const Regular anything = store.star(store.bytes(ByteSet::all()));
  std::vector<Regular> parts = {store.any_text()};
  for (const std::string& mark : marks) {
    parts.push_back(store.complement(store.concatenate({anything, store.literal(mark), anything})));
  }
  return store.intersect(parts);
}

// Any text in which one of `marks` stands for the first time, and it is `last` and at its end.
Regular text_up_to(RegularStore& store, const std::vector<std::string>& marks, const std::string& last) {
  const Regular anything = store.star(store.bytes(ByteSet::all()));
  const Regular something = store.plus(store.bytes(ByteSet::all()));
  std::vector<Regular> parts = {store.concatenate({store.any_text(), store.literal(last)})};
  for (const std::string& mark : marks) {
    parts.push_back(store.complement(store.concatenate({anything, store.literal(mark), something})));
  }
  return store.intersect(parts);
}

Part mark_part(GrammarBuilder& builder, const TagMark& mark) {
  return mark.tokens.empty() ? builder.literal(mark.text) : builder.token({.ids = mark.tokens});
}

// Any text and then the mark, which stands nowhere before.
Part up_to_mark(GrammarBuilder& builder, const TagMark& mark) {
  if (!mark.tokens.empty()) return builder.sequence({any_text(builder), mark_part(builder, mark)});
  return builder.regular(text_up_to(builder.store(), {mark.text}, mark.text));
}

class TagWriter {
 public:
  TagWriter(GrammarBuilder& builder, const StructuralTags& tags, const JsonSchemaOptions& options,
            JsonSchemaReport* report)
      : builder_(builder), tags_(tags), options_(options), report_(report) {}

  Result<Part> write() {
    PLM_TRY(find_triggers());
    std::vector<Part> ways;
    for (const std::string& trigger : triggers_) {
      std::vector<Part> behind;
      for (const StructuralTag& tag : tags_.tags) {
        if (!tag.begin.tokens.empty() || !tag.begin.text.starts_with(trigger)) continue;
        PLM_TRY_ASSIGN(const Part inside, content(tag));
        behind.push_back(builder_.sequence({builder_.literal(tag.begin.text.substr(trigger.size())), inside}));
      }
      if (behind.empty()) {
        return fail(ErrorKind::bad_input, "structural tags: trigger \"{}\" begins no tag", printable(trigger, 60));
      }
      ways.push_back(builder_.sequence(
          {builder_.regular(text_up_to(builder_.store(), triggers_, trigger)), builder_.choice(behind)}));
    }
    const Part free = builder_.regular(text_without(builder_.store(), triggers_));
    for (const StructuralTag& tag : tags_.tags) {
      if (tag.begin.tokens.empty()) continue;
      PLM_TRY_ASSIGN(const Part inside, content(tag));
      ways.push_back(builder_.sequence({free, mark_part(builder_, tag.begin), inside}));
    }
    const Part tagged = builder_.choice(ways);
    if (tags_.stop_after_one) return tags_.at_least_one ? tagged : builder_.choice({tagged, free});
    return builder_.sequence({builder_.repeat(tagged, tags_.at_least_one ? 1 : 0, kUnbounded), free});
  }

 private:
  Result<void> find_triggers() {
    if (tags_.tags.empty()) return fail(ErrorKind::bad_input, "structural tags: there is no tag");
    triggers_ = tags_.triggers;
    for (const StructuralTag& tag : tags_.tags) {
      for (const TagMark* mark : {&tag.begin, &tag.end}) {
        if (mark->text.empty() && mark->tokens.empty()) {
          return fail(ErrorKind::bad_input, "structural tags: a tag without a begin or end mark");
        }
      }
      if (!tag.begin.tokens.empty()) continue;
      const bool begun = std::any_of(triggers_.begin(), triggers_.end(),
                                     [&](const std::string& trigger) { return tag.begin.text.starts_with(trigger); });
      if (!tags_.triggers.empty() && !begun) {
        return fail(ErrorKind::bad_input, "structural tags: no trigger begins \"{}\"", printable(tag.begin.text, 60));
      }
      if (tags_.triggers.empty()) triggers_.push_back(tag.begin.text);
    }
    std::sort(triggers_.begin(), triggers_.end());
    triggers_.erase(std::unique(triggers_.begin(), triggers_.end()), triggers_.end());
    const bool empty = std::any_of(triggers_.begin(), triggers_.end(), [](const auto& text) { return text.empty(); });
    if (empty) return fail(ErrorKind::bad_input, "structural tags: an empty trigger");
    return {};
  }

  // What stands behind the begin mark, the end mark included.
  Result<Part> content(const StructuralTag& tag) {
    if (tag.schema.empty()) return up_to_mark(builder_, tag.end);
    JsonSchemaReport report;
    auto part = json_schema_part(builder_, tag.schema, options_, &report);
    if (!part.has_value()) {
      return tl::unexpected<Error>(part.error().within(fmt::format("tag \"{}\"", printable(tag.begin.text, 60))));
    }
    if (report_ != nullptr) {
      report_->enforced.insert(report_->enforced.end(), report.enforced.begin(), report.enforced.end());
      report_->refused.insert(report_->refused.end(), report.refused.begin(), report.refused.end());
      report_->warnings.insert(report_->warnings.end(), report.warnings.begin(), report.warnings.end());
    }
    return builder_.sequence({*part, mark_part(builder_, tag.end)});
  }

  GrammarBuilder& builder_;
  const StructuralTags& tags_;
  const JsonSchemaOptions& options_;
  JsonSchemaReport* report_;
  std::vector<std::string> triggers_;
};

Result<std::string> text_member(const Json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string()) {
    return fail(ErrorKind::bad_input, "structural tags: \"{}\" is missing or no string", name);
  }
  return member->get<std::string>();
}

}  // namespace

Part any_text(GrammarBuilder& builder) { return builder.regular(builder.store().any_text()); }

Result<Part> structural_tags(GrammarBuilder& builder, const StructuralTags& tags, const JsonSchemaOptions& options,
                             JsonSchemaReport* report) {
  return TagWriter(builder, tags, options, report).write();
}

Part after_thinking(GrammarBuilder& builder, const TagMark& end, Part then) {
  return builder.sequence({up_to_mark(builder, end), then});
}

Part after_optional_thinking(GrammarBuilder& builder, const TagMark& begin, const TagMark& end, Part then) {
  const Part section = builder.sequence({mark_part(builder, begin), up_to_mark(builder, end)});
  return builder.sequence({builder.optional(section), then});
}

Result<StructuralTags> read_structural_tags(const Json& object) {
  StructuralTags tags;
  const auto structures = object.find("structures");
  if (structures == object.end() || !structures->is_array()) {
    return fail(ErrorKind::bad_input, "structural tags: \"structures\" is missing or no array");
  }
  for (const Json& structure : *structures) {
    if (!structure.is_object()) return fail(ErrorKind::bad_input, "structural tags: a structure is no object");
    StructuralTag tag;
    PLM_TRY_ASSIGN(tag.begin.text, text_member(structure, "begin"));
    PLM_TRY_ASSIGN(tag.end.text, text_member(structure, "end"));
    if (const auto schema = structure.find("schema"); schema != structure.end()) tag.schema = json_text(*schema);
    tags.tags.push_back(std::move(tag));
  }
  const auto triggers = object.find("triggers");
  if (triggers == object.end()) return tags;
  if (!triggers->is_array()) return fail(ErrorKind::bad_input, "structural tags: \"triggers\" is no array");
  for (const Json& trigger : *triggers) {
    if (!trigger.is_string()) return fail(ErrorKind::bad_input, "structural tags: a trigger is no string");
    tags.triggers.push_back(trigger.get<std::string>());
  }
  return tags;
}

}  // namespace plm
