#include "text/jinja/format.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/access.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"

namespace plm::jinja {
namespace {

// `pattern % values`, one pass over the pattern.
class PercentFormatter {
 public:
  PercentFormatter(Rendering& rendering, const MarkedText& pattern, const Value& values)
      : rendering_(rendering), pattern_(pattern), text_(pattern.text()), values_(values) {}

  MarkedText run() {
    while (true) {
      const std::size_t percent = text_.find('%', at_);
      result_.append(pattern_, at_, std::min(percent, text_.size()));
      if (percent == std::string_view::npos) break;
      at_ = percent + 1;
      place(percent);
    }
    // Python takes whatever has items by key for named values, and those need not all be used.
    const Sequence* sequence = values_.sequence();
    const bool may_be_unused = values_.is_undefined() || values_.dictionary() != nullptr ||
                               (sequence != nullptr && tuple() == nullptr && sequence->is_indexed());
    if (used_ < count() && !may_be_unused) refuse("more values than places in the text");
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Sequence* tuple() const {
    const Sequence* sequence = values_.sequence();
    return sequence != nullptr && sequence->kind == Sequence::Kind::tuple ? sequence : nullptr;
  }
  [[nodiscard]] std::size_t count() const { return tuple() != nullptr ? tuple()->items.size() : 1; }

  Value next_value() {
    if (used_ >= count()) refuse("fewer values than places in the text");
    const std::size_t index = used_++;
    return tuple() != nullptr ? tuple()->items[index] : values_;
  }

  char character() {
    if (at_ >= text_.size()) refuse("the text ends inside of a place '%'");
    return text_[at_++];
  }

  std::optional<std::size_t> number() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      const auto given = next_value().integer();
      if (!given || *given < 0 || *given > 100'000) refuse("'*' needs a width from 0 to 100000");
      return static_cast<std::size_t>(*given);
    }
    std::optional<std::size_t> result;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      result = result.value_or(0) * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      if (*result > 100'000) refuse("a width above 100000");
    }
    return result;
  }

  // "(name)" of a place that takes its value from a dict.
  std::optional<Value> named() {
    if (at_ >= text_.size() || text_[at_] != '(') return std::nullopt;
    const std::size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) refuse("a name in '%(' without ')'");
    const std::string_view name = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    if (values_.dictionary() == nullptr) refuse("'%({})' needs a dict", printable(name, 80));
    const Value* value = values_.dictionary()->find(name);
    if (value == nullptr) refuse("the dict has no '{}'", printable(name, 80));
    return *value;
  }

  void place(std::size_t percent) {
    std::optional<Value> value = named();
    FormatSpec spec;
    while (at_ < text_.size() && std::string_view("-+ #0").find(text_[at_]) != std::string_view::npos) {
      const char flag = text_[at_++];
      if (flag == '-') spec.align = '<';
      if (flag == '+') spec.sign = '+';
      if (flag == ' ' && spec.sign == '-') spec.sign = ' ';
      if (flag == '#') spec.is_alternate = true;
      if (flag == '0') spec.pads_with_zeros = true;
    }
    spec.width = number().value_or(0);
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      spec.precision = number().value_or(0);
    }
    const char conversion = character();
    if (conversion == '%') {
      result_.append(pattern_, percent, percent + 1);
      return;
    }
    if (!value) value = next_value();
    result_.append(converted(*value, conversion, spec));
  }

  MarkedText converted(const Value& value, char conversion, FormatSpec spec) {
    constexpr std::string_view kNumbers = "diuoxXeEfFgGc";
    if (conversion == 's' || conversion == 'r' || conversion == 'a') {
      spec.pads_with_zeros = false;
      if (spec.align == '\0') spec.align = '>';
      return format_text(rendering_, conversion == 's' ? printed(rendering_, value) : represented(value), spec);
    }
    if (kNumbers.find(conversion) == std::string_view::npos) {
      refuse("unknown conversion '%{}'", printable(std::string_view(&conversion, 1)));
    }
    if (conversion == 'c' && value.text() != nullptr) {
      if (count_characters(value.text()->text()) != 1) refuse("'%c' needs one character");
      return format_text(rendering_, *value.text(), spec);
    }
    value.check_defined();
    if (!value.number()) refuse("'%{}' needs a number, found a {}", conversion, value.type_name());
    const bool is_decimal = conversion == 'd' || conversion == 'i' || conversion == 'u';
    spec.type = is_decimal ? 'd' : conversion;
    if (spec.align == '<') spec.pads_with_zeros = false;
    if (spec.pads_with_zeros) spec.fill = "0";
    if (!is_decimal) return format_number(rendering_, value, spec);
    spec.precision.reset();
    if (value.integer()) return format_number(rendering_, value, spec);
    const double real = *value.real();
    if (!(real > -9.2e18 && real < 9.2e18)) refuse("the number is outside of what an int holds");
    return format_number(rendering_, Value(static_cast<std::int64_t>(real)), spec);
  }

  MarkedText represented(const Value& value) { return {representation(rendering_, value), Origin::input}; }

  Rendering& rendering_;
  const MarkedText& pattern_;
  std::string_view text_;
  const Value& values_;
  MarkedText result_;
  std::size_t at_ = 0, used_ = 0;
};

// `pattern.format(...)`, one pass over the pattern; specifications may hold places themselves, one level deep.
class BraceFormatter {
 public:
  BraceFormatter(Rendering& rendering, const Arguments& arguments) : rendering_(rendering), arguments_(arguments) {}

  MarkedText run(const MarkedText& pattern) {
    const std::string_view text = pattern.text();
    MarkedText result;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
      result.append(pattern, at, brace);
      if (brace == text.size()) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        result.append(pattern, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (text[brace] == '}') refuse("a single '}}' in the text to format");
      if (level_ > 1) refuse("places in a format specification nest too deep");
      const std::size_t close = end_of_place(text, brace);
      result.append(place(pattern.slice(brace + 1, close)));
      at = close + 1;
    }
    return result;
  }

 private:
  static std::size_t end_of_place(std::string_view text, std::size_t open) {
    std::size_t depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    refuse("a single '{{' in the text to format");
  }

  // "name!conversion:specification"
  MarkedText place(const MarkedText& inside) {
    const std::string_view text = inside.text();
    const std::size_t name_end = std::min(text.find_first_of("!:"), text.size());
    Value value = field(text.substr(0, name_end));
    std::size_t at = name_end;
    if (at < text.size() && text[at] == '!') {
      const char conversion = at + 1 < text.size() ? text[at + 1] : '\0';
      if (conversion != 's' && conversion != 'r' && conversion != 'a') refuse("unknown conversion after '!'");
      value = conversion == 's' ? Value(printed(rendering_, value)) : Value::input(representation(rendering_, value));
      at += 2;
      if (at < text.size() && text[at] != ':') refuse("expected ':' after a conversion");
    }
    if (at >= text.size()) return printed(rendering_, value);
    ++level_;
    const MarkedText spec = run(inside.slice(at + 1, text.size()));
    --level_;
    return formatted(value, spec.text());
  }

  MarkedText formatted(const Value& value, std::string_view spec) {
    if (spec.empty()) return printed(rendering_, value);
    if (value.text() != nullptr) return format_text(rendering_, *value.text(), parse_format_spec(spec));
    if (value.number()) return format_number(rendering_, value, parse_format_spec(spec));
    value.check_defined();
    refuse("a {} takes no format specification", value.type_name());
  }

  // name or number, then .attributes and [items].
  Value field(std::string_view name) {
    std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, end));
    while (end < name.size()) {
      const bool is_item = name[end] == '[';
      const std::size_t begin = end + 1;
      end = is_item ? name.find(']', begin) : std::min(name.find_first_of(".[", begin), name.size());
      if (end == std::string_view::npos) refuse("a '[' without ']' in the text to format");
      const std::string_view part = name.substr(begin, end - begin);
      if (part.empty()) refuse("an empty attribute in the text to format");
      const auto index = is_item ? index_of(part) : std::nullopt;
      value = index     ? subscript(rendering_, value, Value(*index))
              : is_item ? subscript(rendering_, value, Value::input(std::string(part)))
                        : attribute(rendering_, value, part);
      if (is_item) ++end;
    }
    return value;
  }

  static std::optional<std::size_t> index_of(std::string_view text) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    std::size_t index = 0;
    for (const char digit : text) index = index * 10 + static_cast<std::size_t>(digit - '0');
    return index;
  }

  Value argument(std::string_view name) {
    const auto index = name.empty() ? std::optional(automatic_++) : index_of(name);
    if (index) {
      if (*index >= arguments_.positional.size()) refuse("fewer values than places in the text");
      return arguments_.positional[*index];
    }
    for (const auto& [key, value] : arguments_.keywords) {
      if (key == name) return value;
    }
    refuse("no value for the place '{}'", printable(name, 80));
  }

  Rendering& rendering_;
  const Arguments& arguments_;
  std::size_t automatic_ = 0, level_ = 0;
};

}  // namespace

Value format_percent(Rendering& rendering, const MarkedText& pattern, const Value& values) {
  return rendering.made(PercentFormatter(rendering, pattern, values).run());
}

Value format_braces(Rendering& rendering, const MarkedText& pattern, const Arguments& arguments) {
  return rendering.made(BraceFormatter(rendering, arguments).run(pattern));
}

}  // namespace plm::jinja
