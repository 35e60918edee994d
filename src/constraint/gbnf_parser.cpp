#include "constraint/gbnf_parser.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "constraint/text_cursor.h"

namespace plm {
namespace {

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const GbnfOptions& options)
      : cursor_(text), options_(options), builder_(options.limits) {}

  Result<Grammar> parse() {
    skip_space(true);
    while (!cursor_.at_end()) {
      PLM_TRY(rule());
      skip_space(true);
    }
    for (const Name& name : names_) {
      if (!name.defined) {
        return error(name.used_at, "rule '{}' is used and not defined; define it, or correct the name", name.text);
      }
    }
    const auto root = by_name_.find("root");
    if (root == by_name_.end()) {
      return error(cursor_.at(), "there is no rule named root; name the rule to start with so: root ::= ...");
    }
    for (const Name& name : names_) builder_.define(name.rule, name.body);
    return builder_.finish(names_[root->second].rule, [this](RuleId rule) {
      return "grammar, " + cursor_.place(names_[static_cast<std::uint32_t>(rule)].used_at);
    });
  }

 private:
  struct Name {
    std::string_view text;
    RuleId rule{};
    std::size_t used_at = 0;
    Part body = Part::nothing;
    bool defined = false;
  };

  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> error(std::size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::usage, "grammar, {}: {}", cursor_.place(at),
                fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] tl::unexpected<Error> limit(std::size_t at, std::string_view what, std::size_t most) const {
    return fail(ErrorKind::no_room, "grammar, {}: {} {}, the most that is allowed", cursor_.place(at), what, most);
  }

  void skip_space(bool lines_too) {
    for (;;) {
      const char c = cursor_.peek();
      if (c == '#') {
        const std::size_t end = cursor_.rest().find_first_of("\r\n");
        cursor_.skip(std::min(end, cursor_.rest().size()));
      } else if (c == ' ' || c == '\t' || (lines_too && (c == '\n' || c == '\r'))) {
        cursor_.skip(1);
      } else {
        return;
      }
    }
  }

  Result<std::string_view> name() {
    std::size_t length = 0;
    while (is_name_byte(cursor_.peek(length))) ++length;
    if (length == 0) {
      return error(cursor_.at(), "expected the name of a rule (letters, digits and -), found {}", found());
    }
    const std::string_view text = cursor_.rest().substr(0, length);
    cursor_.skip(length);
    return text;
  }

  [[nodiscard]] std::string found() const {
    if (cursor_.at_end()) return "the end";
    return fmt::format("'{}'", printable(cursor_.rest().substr(0, utf8_character_length(cursor_.rest()))));
  }

  Name& named(std::string_view text, std::size_t at) {
    const auto [place, fresh] = by_name_.emplace(text, names_.size());
    if (fresh) names_.push_back({text, builder_.declare(std::string(text)), at});
    return names_[place->second];
  }

  Result<void> rule() {
    const std::size_t begin = cursor_.at();
    PLM_TRY_ASSIGN(const std::string_view text, name());
    skip_space(false);
    if (!cursor_.take("::=")) {
      return error(cursor_.at(), "expected ::= behind the name of rule '{}', found {}", text, found());
    }
    skip_space(true);
    PLM_TRY_ASSIGN(const Part body, alternatives(0));
    Name& rule = named(text, begin);
    if (rule.defined && !options_.lenient) {
      return error(begin, "rule '{}' is defined a second time; remove one, or give it another name", text);
    }
    if (rule.defined && options_.warnings != nullptr) {
      options_.warnings->push_back(fmt::format("grammar, {}: rule '{}' is defined a second time; the last one counts",
                                               cursor_.place(begin), text));
    }
    rule.body = body;
    rule.defined = true;
    if (cursor_.at_end() || cursor_.take("\r\n") || cursor_.take('\n') || cursor_.take('\r')) return {};
    return error(cursor_.at(), "expected the end of rule '{}', found {}", text, found());
  }

  Result<Part> alternatives(std::size_t depth) {
    std::vector<Part> parts;
    do {
      if (!parts.empty()) skip_space(true);
      PLM_TRY_ASSIGN(const Part part, sequence(depth));
      parts.push_back(part);
    } while (cursor_.take('|'));
    return builder_.choice(parts);
  }

  Result<Part> sequence(std::size_t depth) {
    std::vector<Part> parts;
    for (;;) {
      const std::size_t begin = cursor_.at();
      const char c = cursor_.peek();
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (parts.empty()) return error(begin, "'{}' has nothing before it to repeat", c);
        PLM_TRY_ASSIGN(parts.back(), repeated(parts.back()));
      } else {
        PLM_TRY_ASSIGN(const auto part, item(depth));
        if (!part) break;
        parts.push_back(*part);
      }
      skip_space(depth > 0);
    }
    return builder_.sequence(parts);
  }

  // nullopt: what comes next does not begin an item.
  Result<std::optional<Part>> item(std::size_t depth) {
    const char c = cursor_.peek();
    if (c == '"') return literal();
    if (c == '[') return character_class();
    if (c == '<' || c == '!') return token();
    if (c == '(') return group(depth);
    RegularStore& store = builder_.store();
    if (cursor_.take('.')) return builder_.regular(store.any_character());
    if (!is_name_byte(c)) return std::nullopt;
    const std::size_t begin = cursor_.at();
    PLM_TRY_ASSIGN(const std::string_view text, name());
    return builder_.rule(named(text, begin).rule);
  }

  Result<std::optional<Part>> group(std::size_t depth) {
    const std::size_t begin = cursor_.at();
    if (depth >= options_.limits.nesting) return limit(begin, "groups are nested deeper than", options_.limits.nesting);
    cursor_.skip(1);
    skip_space(true);
    PLM_TRY_ASSIGN(const Part inside, alternatives(depth + 1));
    if (!cursor_.take(')')) return error(begin, "a group is not closed: expected ')', found {}", found());
    return inside;
  }

  Result<Part> repeated(Part part) {
    const std::size_t begin = cursor_.at();
    if (cursor_.take('*')) return builder_.repeat(part, 0, kUnbounded);
    if (cursor_.take('+')) return builder_.repeat(part, 1, kUnbounded);
    if (cursor_.take('?')) return builder_.optional(part);
    cursor_.skip(1);
    skip_space(true);
    const auto min = cursor_.take_number();
    if (!min) return error(cursor_.at(), "expected the first number of a count, found {}; write {{0,n}}", found());
    skip_space(true);
    auto max = min;
    if (cursor_.take(',')) {
      skip_space(true);
      max = cursor_.take_number();
      skip_space(true);
    }
    if (!cursor_.take('}')) return error(cursor_.at(), "expected '}}' behind a count, found {}", found());
    const std::uint32_t most = options_.limits.grammar_repetition;
    if (std::max(*min, max.value_or(0)) > most) return limit(begin, "a count above", most);
    if (max && *max < *min) return error(begin, "the count {{{},{}}} has its larger number first", *min, *max);
    return builder_.repeat(part, static_cast<std::uint32_t>(*min), max ? static_cast<std::uint32_t>(*max) : kUnbounded);
  }

  // A character as written in a literal or a class.
  Result<char32_t> character() {
    const std::size_t begin = cursor_.at();
    if (!cursor_.take('\\')) return cursor_.take_character();
    std::size_t digits = 0;
    switch (const char letter = cursor_.peek()) {
      case 'x': digits = 2; break;
      case 'u': digits = 4; break;
      case 'U': digits = 8; break;
      case 't': return cursor_.skip(1), U'\t';
      case 'r': return cursor_.skip(1), U'\r';
      case 'n': return cursor_.skip(1), U'\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-': return cursor_.skip(1), static_cast<char32_t>(letter);
      default:
        return error(begin, "unknown escape: \\ before {}; known are \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\] \\-",
                     found());
    }
    cursor_.skip(1);
    const auto code = cursor_.take_hex(digits);
    if (!code) return error(begin, "expected {} hexadecimal digits behind the escape", digits);
    if (*code > kLastCodePoint || (*code >= 0xD800 && *code < 0xE000)) {
      return error(begin, "U+{:04X} is no character", static_cast<std::uint32_t>(*code));
    }
    return *code;
  }

  Result<std::optional<Part>> literal() {
    const std::size_t begin = cursor_.at();
    cursor_.skip(1);
    std::string text;
    while (!cursor_.next_is('"')) {
      if (cursor_.at_end()) return error(begin, "a literal is not closed; expected '\"'");
      PLM_TRY_ASSIGN(const char32_t code, character());
      append_character(code, text);
    }
    cursor_.skip(1);
    return builder_.literal(text);
  }

  Result<std::optional<Part>> character_class() {
    const std::size_t begin = cursor_.at();
    cursor_.skip(1);
    const bool negated = cursor_.take('^');
    std::vector<CodePointRange> ranges;
    while (!cursor_.next_is(']')) {
      if (cursor_.at_end()) return error(begin, "a class is not closed; expected ']'");
      const std::size_t at = cursor_.at();
      PLM_TRY_ASSIGN(const char32_t first, character());
      char32_t last = first;
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']') {
        cursor_.skip(1);
        if (cursor_.at_end()) return error(begin, "a class is not closed; expected ']'");
        PLM_TRY_ASSIGN(last, character());
      }
      if (last < first) return error(at, "a range of a class has its larger character first");
      ranges.push_back({first, last});
    }
    cursor_.skip(1);
    CodePoints set;
    set.add_all(ranges);
    if (negated) set = set.complement();
    if (set.empty()) return error(begin, "a class without a character: nothing can match it");
    return builder_.regular(builder_.store().characters(set));
  }

  // <[12]>, <text>, and either with ! before it.
  Result<std::optional<Part>> token() {
    const std::size_t begin = cursor_.at();
    const bool negated = cursor_.take('!');
    if (!cursor_.next_is('<'))
      return error(cursor_.at(), "expected a token (<text> or <[id]>) behind '!', found {}", found());
    if (cursor_.take("<[")) {
      const auto id = cursor_.take_number();
      if (!id || !cursor_.take("]>")) return error(begin, "a token by its number is written <[12]>");
      if (*id >= options_.tokens)
        return error(begin, "there is no token {}; the vocabulary has {}", *id, options_.tokens);
      return builder_.token({{static_cast<TokenId>(*id)}, negated});
    }
    const std::size_t end = cursor_.rest().find('>');
    const std::string_view text = cursor_.rest().substr(0, end == std::string_view::npos ? end : end + 1);
    if (end == std::string_view::npos || text.find('\n') != std::string_view::npos) {
      return error(begin, "a token is not closed; expected '>'");
    }
    const auto id = options_.find_token ? options_.find_token(text) : std::nullopt;
    if (!id) {
      return error(begin, "'{}' is no token {}", printable(text),
                   options_.find_token ? "of the vocabulary" : "that is known without a model");
    }
    cursor_.skip(text.size());
    return builder_.token({{*id}, negated});
  }

  TextCursor cursor_;
  const GbnfOptions& options_;
  GrammarBuilder builder_;
  std::vector<Name> names_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

Result<Grammar> parse_gbnf(std::string_view text, const GbnfOptions& options) {
  if (text.size() > options.limits.text_bytes) {
    return fail(ErrorKind::no_room, "the grammar has {} bytes; at most {} are allowed", text.size(),
                options.limits.text_bytes);
  }
  if (const std::size_t valid = utf8_valid_prefix(text); valid < text.size()) {
    return fail(ErrorKind::usage, "grammar, {}: not UTF-8", TextCursor(text).place(valid));
  }
  return GbnfParser(text, options).parse();
}

}  // namespace plm
