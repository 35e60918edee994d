#include "text/jinja/spelling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/jinja/callables.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

// Writes Python's repr of values, recursively.
class Representation {
 public:
  explicit Representation(Rendering& rendering) : rendering_(rendering) {}

  void write(const Value& value) {
    rendering_.spend_steps(1);
    const std::size_t before = text_.size();
    if (const Sequence* sequence = value.sequence()) {
      write_sequence(*sequence);
      return;
    }
    if (const Dictionary* dictionary = value.dictionary()) {
      write_entries(dictionary->entries());
      return;
    }
    text_ += scalar(value);
    rendering_.spend_text(text_.size() - before);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string scalar(const Value& value) {
    if (value.is_undefined()) return "Undefined";
    if (value.is_none()) return "None";
    if (const bool* flag = value.boolean()) return *flag ? "True" : "False";
    if (const double* real = value.real()) return real_spelling(*real);
    if (const auto whole = value.integer()) return std::to_string(*whole);
    if (const MarkedText* text = value.text()) return quoted(text->text());
    return fmt::format("<{}>", value.type_name());
  }

  void write_items(const Sequence& sequence, std::string_view open, std::string_view close) {
    text_ += open;
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) text_ += ", ";
      write(sequence.items[i]);
    }
    text_ += close;
  }

  void write_sequence(const Sequence& sequence) {
    switch (sequence.kind) {
      case Sequence::Kind::list: return write_items(sequence, "[", "]");
      case Sequence::Kind::tuple: return write_items(sequence, "(", sequence.items.size() == 1 ? ",)" : ")");
      case Sequence::Kind::keys: return write_items(sequence, "dict_keys([", "])");
      case Sequence::Kind::values: return write_items(sequence, "dict_values([", "])");
      case Sequence::Kind::items: return write_items(sequence, "dict_items([", "])");
      case Sequence::Kind::range: text_ += sequence.spelled; return;
      case Sequence::Kind::generator: text_ += "<generator>"; return;
    }
  }

  void write_entries(const std::vector<Dictionary::Entry>& entries) {
    text_ += "{";
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text_ += ", ";
      write(entries[i].first);
      text_ += ": ";
      write(entries[i].second);
    }
    text_ += "}";
  }

  Rendering& rendering_;
  std::string text_;
};

// Writes JSON as Python's json.dumps does.
class JsonWriter {
 public:
  JsonWriter(Rendering& rendering, const JsonStyle& style) : rendering_(rendering), style_(style) {}

  void write(const Value& value) {
    rendering_.spend_steps(1);
    value.check_defined();
    const std::size_t before = text_.size();
    if (const MarkedText* text = value.text()) {
      write_text(text->text());
    } else if (const Dictionary* dictionary = value.dictionary()) {
      write_object(*dictionary);
    } else if (const Sequence* sequence = value.sequence(); sequence != nullptr && is_array(*sequence)) {
      write_array(*sequence);
    } else {
      text_ += scalar(value);
    }
    if (value.depth() == 0) rendering_.spend_text(text_.size() - before);
  }

  std::string take() { return std::move(text_); }

 private:
  static bool is_array(const Sequence& sequence) {
    return sequence.kind == Sequence::Kind::list || sequence.kind == Sequence::Kind::tuple;
  }

  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* flag = value.boolean()) return *flag ? "true" : "false";
    if (const auto whole = value.integer()) return std::to_string(*whole);
    const double* real = value.real();
    if (real == nullptr) refuse("a {} has no form in JSON", value.type_name());
    if (std::isnan(*real)) return "NaN";
    if (std::isinf(*real)) return *real > 0 ? "Infinity" : "-Infinity";
    return real_spelling(*real);
  }

  void write_text(std::string_view text) {
    constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f";
    constexpr std::string_view kNames = "\"\\nrtbf";
    text_.push_back('"');
    for (const Character character : Characters(text)) {
      const std::size_t simple =
          character.code < 0x80 ? kEscaped.find(static_cast<char>(character.code)) : std::string_view::npos;
      if (simple != std::string_view::npos) {
        text_.push_back('\\');
        text_.push_back(kNames[simple]);
      } else if (character.code < 0x20 || (style_.ascii_only && character.code >= 0x7F)) {
        write_number_escape(character.code);
      } else {
        text_ += text.substr(character.begin, character.length);
      }
    }
    text_.push_back('"');
  }

  void write_number_escape(char32_t code) {
    if (code < 0x10000) {
      text_ += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      const auto offset = static_cast<std::uint32_t>(code) - 0x10000;
      text_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
    }
  }

  void new_line() {
    if (!style_.indent) return;
    rendering_.spend_text(1 + level_ * style_.indent->size());
    text_.push_back('\n');
    for (std::size_t i = 0; i < level_; ++i) text_ += *style_.indent;
  }

  void write_array(const Sequence& sequence) {
    text_.push_back('[');
    ++level_;
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) text_ += style_.item_separator;
      new_line();
      write(sequence.items[i]);
    }
    --level_;
    if (!sequence.items.empty()) new_line();
    text_.push_back(']');
  }

  void write_key(const Value& key) {
    if (const MarkedText* text = key.text()) {
      rendering_.spend_text(text->size());
      write_text(text->text());
      return;
    }
    if (key.depth() > 0 || key.is_undefined()) refuse("a {} cannot be a key in JSON", key.type_name());
    write_text(scalar(key));
  }

  void write_object(const Dictionary& dictionary) {
    std::vector<const Dictionary::Entry*> entries;
    for (const auto& entry : dictionary.entries()) entries.push_back(&entry);
    if (style_.sorted) {
      const std::vector<const Dictionary::Entry*> unsorted = entries;
      const auto order = stable_order(entries.size(), [&](std::size_t a, std::size_t b) {
        return is_less(rendering_, unsorted[a]->first, unsorted[b]->first);
      });
      for (std::size_t i = 0; i < order.size(); ++i) entries[i] = unsorted[order[i]];
    }
    text_.push_back('{');
    ++level_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text_ += style_.item_separator;
      new_line();
      write_key(entries[i]->first);
      text_ += style_.key_separator;
      write(entries[i]->second);
    }
    --level_;
    if (!entries.empty()) new_line();
    text_.push_back('}');
  }

  Rendering& rendering_;
  const JsonStyle& style_;
  std::string text_;
  std::size_t level_ = 0;
};

}  // namespace

MarkedText printed(Rendering& rendering, const Value& value) {
  if (const MarkedText* text = value.text()) {
    rendering.spend_text(text->size());
    return *text;
  }
  if (value.is_undefined()) return {};
  return {representation(rendering, value), Origin::input};
}

std::string representation(Rendering& rendering, const Value& value) {
  Representation representation(rendering);
  representation.write(value);
  return representation.take();
}

std::string quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const Character character : Characters(text)) {
    const auto code = static_cast<std::uint32_t>(character.code);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      result.push_back('\\');
      result.push_back(static_cast<char>(code));
    } else if (code == '\n' || code == '\r' || code == '\t') {
      result += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (is_printable(character.code)) {
      result += text.substr(character.begin, character.length);
    } else {
      result += code < 0x100     ? fmt::format("\\x{:02x}", code)
                : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                 : fmt::format("\\U{:08x}", code);
    }
  }
  result.push_back(quote);
  return result;
}

std::string real_spelling(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string json_spelling(Rendering& rendering, const Value& value, const JsonStyle& style) {
  JsonWriter writer(rendering, style);
  writer.write(value);
  return writer.take();
}

}  // namespace plm::jinja
