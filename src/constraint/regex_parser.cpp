#include "constraint/regex_parser.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "constraint/text_cursor.h"

namespace plm {
namespace {

const CodePoints& digits() {
  static const CodePoints kSet{{'0', '9'}};
  return kSet;
}
const CodePoints& word_characters() {
  static const CodePoints kSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kSet;
}
const CodePoints& spaces() {
  static const CodePoints kSet{{'\t', '\r'}, {' ', ' '}};
  return kSet;
}

const CodePoints& ecmascript_spaces() {
  static const CodePoints kSet{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                               {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                               {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return kSet;
}
const CodePoints& ecmascript_line_ends() {
  static const CodePoints kSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return kSet;
}

// What an expression matches, by what it asserts: [must stand at the start][must stand at the end].
struct Matches {
  std::array<std::array<Regular, 2>, 2> by{};

  static Matches of(Regular language) {
    Matches result;
    result.by[0][0] = language;
    return result;
  }
  [[nodiscard]] bool asserts() const {
    return by[0][1] != Regular::nothing || by[1][0] != Regular::nothing || by[1][1] != Regular::nothing;
  }
};

class RegexParser {
 public:
  RegexParser(RegularStore& store, std::string_view text, const RegexOptions& options)
      : store_(store), cursor_(text), options_(options) {}

  Result<Regular> parse() {
    PLM_TRY(take_flags());
    PLM_TRY_ASSIGN(const Matches all, alternatives(0));
    if (!cursor_.at_end()) return syntax(cursor_.at(), "a ')' closes no group; write \\) for the character");
    const Regular language = whole(all);
    if (store_.exhausted()) return tl::unexpected(store_.exhaustion());
    if (language == Regular::nothing) {
      return unsupported(anchor_at_, "an anchor behind what must be read can never match");
    }
    return language;
  }

 private:
  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> syntax(std::size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::usage, "regular expression, {}: {}", cursor_.place(at),
                fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] tl::unexpected<Error> unsupported(std::size_t at, std::string_view what) const {
    return fail(ErrorKind::usage, "regular expression, {}: not supported: {}", cursor_.place(at), what);
  }

  [[nodiscard]] Regular spelled(const CodePoints& set) {
    const CodePoints wanted = ignore_case_ ? set.any_case() : set;
    return options_.spelling ? options_.spelling(store_, wanted) : store_.characters(wanted);
  }

  // All that the expression asserts, as a language of whole texts.
  Regular whole(const Matches& all) {
    const Regular around =
        options_.search
            ? store_.star(options_.spelling ? options_.spelling(store_, CodePoints::all()) : store_.any_character())
            : Regular::empty;
    std::vector<Regular> ways;
    for (const bool at_start : {false, true}) {
      for (const bool at_end : {false, true}) {
        ways.push_back(store_.concatenate(
            {at_start ? Regular::empty : around, all.by[at_start][at_end], at_end ? Regular::empty : around}));
      }
    }
    return store_.alternate(ways);
  }

  // Flags for the whole expression: (?i), (?s), (?is).
  Result<void> take_flags() {
    const std::size_t begin = cursor_.at();
    if (cursor_.peek() != '(' || cursor_.peek(1) != '?') return {};
    std::size_t end = 2;
    while (cursor_.peek(end) >= 'a' && cursor_.peek(end) <= 'z') ++end;
    if (end == 2 || cursor_.peek(end) != ')') return {};
    for (std::size_t i = 2; i < end; ++i) {
      const char flag = cursor_.peek(i);
      if (flag != 'i' && flag != 's') return unsupported(begin, fmt::format("the flag '{}'; i and s are known", flag));
      (flag == 'i' ? ignore_case_ : dot_is_all_) = true;
    }
    cursor_.skip(end + 1);
    return {};
  }

  Result<Matches> alternatives(std::size_t depth) {
    Matches all;
    std::array<std::array<std::vector<Regular>, 2>, 2> ways;
    do {
      PLM_TRY_ASSIGN(const Matches one, sequence(depth));
      for (const int s : {0, 1}) {
        for (const int e : {0, 1}) ways[s][e].push_back(one.by[s][e]);
      }
    } while (cursor_.take('|'));
    for (const int s : {0, 1}) {
      for (const int e : {0, 1}) all.by[s][e] = store_.alternate(ways[s][e]);
    }
    return all;
  }

  // One thing after another. Joined from the back, as the store keeps them.
  Result<Matches> sequence(std::size_t depth) {
    std::vector<Matches> items;
    while (!cursor_.at_end() && !cursor_.next_is('|') && !cursor_.next_is(')')) {
      PLM_TRY_ASSIGN(const Matches one, item(depth));
      items.push_back(one);
    }
    Matches result = Matches::of(Regular::empty);
    for (auto one = items.rbegin(); one != items.rend(); ++one) result = joined(*one, result);
    return result;
  }

  // Where the second asserts the start, the first must have read nothing; where the first asserts the end, the second.
  Matches joined(const Matches& first, const Matches& second) {
    if (!first.asserts() && !second.asserts()) {
      return Matches::of(store_.concatenate(first.by[0][0], second.by[0][0]));
    }
    std::array<std::array<std::vector<Regular>, 2>, 2> ways;
    for (int i = 0; i < 16; ++i) {
      const int s1 = i & 1, e1 = i >> 1 & 1, s2 = i >> 2 & 1, e2 = i >> 3 & 1;
      const Regular a = first.by[s1][e1], b = second.by[s2][e2];
      if ((s2 == 1 && !store_.nullable(a)) || (e1 == 1 && !store_.nullable(b))) continue;
      const Regular left = s2 == 1 && a != Regular::nothing ? Regular::empty : a;
      const Regular right = e1 == 1 && b != Regular::nothing ? Regular::empty : b;
      ways[s1 | s2][e1 | e2].push_back(store_.concatenate(left, right));
    }
    Matches result;
    for (const int s : {0, 1}) {
      for (const int e : {0, 1}) result.by[s][e] = store_.alternate(ways[s][e]);
    }
    return result;
  }

  Result<Matches> item(std::size_t depth) {
    const std::size_t begin = cursor_.at();
    PLM_TRY_ASSIGN(Matches one, atom(depth));
    const std::size_t count_at = cursor_.at();
    std::uint32_t min = 1, max = 1;
    PLM_TRY_ASSIGN(const bool counted, count(min, max));
    if (!counted) return one;
    if (cursor_.next_is('+')) return unsupported(cursor_.at(), "possessive counts");
    cursor_.take('?');  // lazy: the same language
    if (cursor_.next_is('*') || cursor_.next_is('+') || cursor_.next_is('?')) {
      return syntax(cursor_.at(), "'{}' repeats a count; put what it repeats in a group", cursor_.peek());
    }
    if (one.asserts()) {
      if (min > 1 || max > 1) return unsupported(begin, "an anchor that is repeated");
      if (min == 0) one.by[0][0] = store_.alternate({one.by[0][0], Regular::empty});
      return max == 0 ? Matches::of(Regular::empty) : one;
    }
    if (max < min) return syntax(count_at, "the count {{{},{}}} has its larger number first", min, max);
    return Matches::of(store_.repeat(one.by[0][0], min, max));
  }

  // * + ? {m} {m,} {m,n}; false where none follows.
  Result<bool> count(std::uint32_t& min, std::uint32_t& max) {
    if (cursor_.take('*')) return min = 0, max = kUnbounded, true;
    if (cursor_.take('+')) return min = 1, max = kUnbounded, true;
    if (cursor_.take('?')) return min = 0, max = 1, true;
    const std::size_t begin = cursor_.at();
    if (cursor_.peek() != '{' || (cursor_.peek(1) != ',' && (cursor_.peek(1) < '0' || cursor_.peek(1) > '9'))) {
      return false;
    }
    cursor_.skip(1);
    const auto low = cursor_.take_number();
    if (!low) return syntax(begin, "a count without its first number; write {{0,n}}");
    auto high = low;
    if (cursor_.take(',')) high = cursor_.take_number();
    if (!cursor_.take('}')) return syntax(begin, "a count is not closed; expected {{m}}, {{m,}} or {{m,n}}");
    const std::uint32_t most = store_.limits().expression_repetition;
    if (std::max(*low, high.value_or(0)) > most) {
      return fail(ErrorKind::no_room, "regular expression, {}: a count above {}, the most that is allowed",
                  cursor_.place(begin), most);
    }
    min = static_cast<std::uint32_t>(*low);
    max = high ? static_cast<std::uint32_t>(*high) : kUnbounded;
    return true;
  }

  Result<Matches> atom(std::size_t depth) {
    const std::size_t begin = cursor_.at();
    switch (cursor_.peek()) {
      case '^':
      case '$': {
        const bool start = cursor_.peek() == '^';
        cursor_.skip(1);
        anchor_at_ = begin;
        Matches result;
        (start ? result.by[1][0] : result.by[0][1]) = Regular::empty;
        return result;
      }
      case '(': return group(depth);
      case '*':
      case '+':
      case '?': return syntax(begin, "'{}' has nothing before it to repeat", cursor_.peek());
      case '.':
        cursor_.skip(1);
        return Matches::of(spelled(dot_is_all_ ? CodePoints::all() : line_ends().complement()));
      case '[': {
        PLM_TRY_ASSIGN(const CodePoints set, bracketed());
        return Matches::of(spelled(set));
      }
      case '\\': {
        PLM_TRY_ASSIGN(const CodePoints set, escape(false));
        return Matches::of(spelled(set));
      }
      default: break;
    }
    if (cursor_.peek() == '{' && (cursor_.peek(1) == ',' || (cursor_.peek(1) >= '0' && cursor_.peek(1) <= '9'))) {
      return syntax(begin, "a count has nothing before it to repeat; write \\{{ for the character");
    }
    const char32_t code = cursor_.take_character();
    return Matches::of(spelled({{code, code}}));
  }

  Result<Matches> group(std::size_t depth) {
    const std::size_t begin = cursor_.at();
    if (depth >= store_.limits().nesting) {
      return fail(ErrorKind::no_room, "regular expression, {}: groups are nested more than {} deep",
                  cursor_.place(begin), store_.limits().nesting);
    }
    cursor_.skip(1);
    if (cursor_.take('?') && !cursor_.take(':')) {
      cursor_.take('P');
      const char kind = cursor_.peek(), next = cursor_.peek(1);
      if (kind == '=' || kind == '!' || (kind == '<' && (next == '=' || next == '!'))) {
        return unsupported(begin, "look-around");
      }
      if (kind == '>') return unsupported(begin, "atomic groups");
      if (kind == '(') return unsupported(begin, "conditions");
      if (kind != '<') return unsupported(begin, "this kind of group; ( ), (?: ) and (?<name> ) are known");
      const std::size_t end = cursor_.rest().find('>');
      if (end == std::string_view::npos || end < 2) return syntax(begin, "the name of a group is not closed by '>'");
      cursor_.skip(end + 1);
    }
    PLM_TRY_ASSIGN(const Matches inside, alternatives(depth + 1));
    if (!cursor_.take(')')) return syntax(begin, "a group is not closed; expected ')'");
    return inside;
  }

  Result<CodePoints> bracketed() {
    const std::size_t begin = cursor_.at();
    cursor_.skip(1);
    const bool negated = cursor_.take('^');
    std::vector<CodePointRange> ranges;
    while (!cursor_.next_is(']')) {
      if (cursor_.at_end()) return syntax(begin, "a class is not closed; expected ']'");
      const std::size_t at = cursor_.at();
      PLM_TRY_ASSIGN(const CodePoints first, class_member());
      const bool single = first.ranges().size() == 1 && first.ranges()[0].first == first.ranges()[0].last;
      if (cursor_.peek() != '-' || cursor_.peek(1) == ']' || !single) {
        ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
        continue;
      }
      cursor_.skip(1);
      if (cursor_.at_end()) return syntax(begin, "a class is not closed; expected ']'");
      PLM_TRY_ASSIGN(const CodePoints last, class_member());
      const char32_t low = first.ranges()[0].first;
      if (last.ranges().size() != 1 || last.ranges()[0].first != last.ranges()[0].last) {
        return syntax(at, "a range of a class ends in several characters");
      }
      if (last.ranges()[0].first < low) return syntax(at, "a range of a class has its larger character first");
      ranges.push_back({low, last.ranges()[0].first});
    }
    cursor_.skip(1);
    CodePoints set;
    set.add_all(ranges);
    if (negated) return (ignore_case_ ? set.any_case() : set).complement();
    if (set.empty()) return syntax(begin, "a class is empty, so nothing can match");
    return set;
  }

  Result<CodePoints> class_member() {
    if (cursor_.next_is('\\')) return escape(true);
    const char32_t code = cursor_.take_character();
    return CodePoints{{code, code}};
  }

  [[nodiscard]] CodePoints line_ends() const {
    return options_.ecmascript_spaces ? ecmascript_line_ends() : CodePoints{{'\n', '\n'}};
  }
  [[nodiscard]] const CodePoints& white_space() const {
    return options_.ecmascript_spaces ? ecmascript_spaces() : spaces();
  }

  Result<CodePoints> escape(bool in_class) {
    const std::size_t begin = cursor_.at();
    cursor_.skip(1);
    if (cursor_.at_end()) return syntax(begin, "a backslash at the end; write \\\\ for the character");
    const char32_t letter = cursor_.take_character();
    const auto one = [](char32_t code) { return CodePoints{{code, code}}; };
    switch (letter) {
      case 'd': return digits();
      case 'D': return digits().complement();
      case 'w': return word_characters();
      case 'W': return word_characters().complement();
      case 's': return white_space();
      case 'S': return white_space().complement();
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case '0':
        if (cursor_.peek() < '0' || cursor_.peek() > '9') return one(0);
        return syntax(begin, "octal escapes are not known; write \\xHH");
      case 'b':
        if (in_class) return one('\b');
        [[fallthrough]];
      case 'B': return unsupported(begin, "word boundaries (\\b, \\B)");
      case 'k': return unsupported(begin, "back references");
      case 'p':
      case 'P': return property(begin, letter == 'P');
      case 'c': {
        const char control = cursor_.peek();
        if ((control | 0x20) < 'a' || (control | 0x20) > 'z') return syntax(begin, "\\c wants a letter behind it");
        cursor_.skip(1);
        return one(static_cast<char32_t>(control & 0x1F));
      }
      case 'x':
      case 'u': return numbered(begin, letter == 'x' ? 2 : 4);
      default: break;
    }
    if (letter >= '1' && letter <= '9') return unsupported(begin, "back references");
    if (letter < 0x80 && is_letter(letter)) {
      return syntax(begin, "unknown escape '\\{}'", static_cast<char>(letter));
    }
    return one(letter);
  }

  Result<CodePoints> property(std::size_t begin, bool negated) {
    std::size_t end = std::string_view::npos;
    if (cursor_.next_is('{')) end = cursor_.rest().find('}');
    if (end == std::string_view::npos) return syntax(begin, "\\p wants the name of a property: \\p{{Lu}}");
    std::string_view name = cursor_.rest().substr(1, end - 1);
    if (const auto equals = name.find('='); equals != std::string_view::npos) {
      const std::string_view what = name.substr(0, equals);
      if (what == "General_Category" || what == "gc") name = name.substr(equals + 1);
    }
    auto set = CodePoints::of_property(name);
    if (!set) return tl::unexpected(set.error().within(fmt::format("regular expression, {}", cursor_.place(begin))));
    cursor_.skip(end + 1);
    return negated ? set->complement() : *std::move(set);
  }

  Result<CodePoints> numbered(std::size_t begin, std::size_t length) {
    std::optional<char32_t> code;
    if (length == 4 && cursor_.take('{')) {
      for (std::size_t digits = 6; digits > 0 && !code; --digits) {
        if (cursor_.peek(digits) == '}') code = cursor_.take_hex(digits);
      }
      if (!code || !cursor_.take('}')) return syntax(begin, "\\u{{...}} wants one to six hexadecimal digits");
    } else {
      code = cursor_.take_hex(length);
      if (!code) return syntax(begin, "expected {} hexadecimal digits behind \\{}", length, length == 2 ? 'x' : 'u');
    }
    if (*code >= 0xD800 && *code < 0xDC00 && cursor_.rest().starts_with("\\u")) {
      cursor_.skip(2);
      const auto low = cursor_.take_hex(4);
      if (low && *low >= 0xDC00 && *low < 0xE000) code = 0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00);
    }
    if (*code > kLastCodePoint || (*code >= 0xD800 && *code < 0xE000)) {
      return syntax(begin, "U+{:04X} is no character", static_cast<std::uint32_t>(*code));
    }
    return CodePoints{{*code, *code}};
  }

  RegularStore& store_;
  TextCursor cursor_;
  const RegexOptions& options_;
  bool ignore_case_ = false, dot_is_all_ = false;
  std::size_t anchor_at_ = 0;
};

}  // namespace

Result<Regular> parse_regex(RegularStore& store, std::string_view expression, const RegexOptions& options) {
  if (expression.size() > store.limits().text_bytes) {
    return fail(ErrorKind::no_room, "the regular expression has {} bytes; at most {} are allowed", expression.size(),
                store.limits().text_bytes);
  }
  if (!utf8_is_valid(expression)) return fail(ErrorKind::usage, "the regular expression is not UTF-8");
  return RegexParser(store, expression, options).parse();
}

}  // namespace plm
