#include "text/jinja/filters.h"

#include <algorithm>

#include "text/jinja/access.h"
#include "text/jinja/characters.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

// A part of a path as the key that it means.
Value key_of(std::string_view part) {
  const bool is_number =
      !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return Value::input(std::string(part));
  std::int64_t index = 0;
  for (const char digit : part) index = index * 10 + (digit - '0');
  return Value(index);
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), sequence_filters(), value_filters()}) {
    if (const Builtin* filter = find_builtin(table, name)) return filter;
  }
  return nullptr;
}

Value attribute_path(Rendering& rendering, Value value, const Value& path, const Value* fallback) {
  const auto step = [&](const Value& key) {
    value = subscript(rendering, value, key);
    if (fallback != nullptr && value.is_undefined()) value = *fallback;
  };
  const MarkedText* text = path.text();
  if (text == nullptr) {
    step(path);
    return value;
  }
  std::string_view rest = text->text();
  rendering.spend_text(rest.size());
  while (true) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    step(key_of(rest.substr(0, dot)));
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace plm::jinja
