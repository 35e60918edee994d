#include "text/jinja/template.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/parser.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {

// A parsed template and what is needed to report on it.
struct Program {
  std::string source, name;
  Limits limits;
  std::string plain;  // the source with plain line breaks; offsets of nodes count in it
  Block block;

  [[nodiscard]] tl::unexpected<Error> error(const Failure& failure, std::size_t offset) const {
    const std::string_view before = std::string_view(plain).substr(0, offset);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::size_t column = count_characters(before.substr(before.rfind('\n') + 1)) + 1;  // npos + 1 is 0
    return fail(failure.kind(), "{}: line {}, column {}: {}", name, line, column, failure.reason());
  }
};

namespace {

// JSON to values; strings get the mark of their variable.
class Loader {
 public:
  Value value(const Json& json, Origin origin, std::size_t depth = 0) {
    check_container_depth(depth);
    switch (json.type()) {
      case Json::value_t::string: return text(json.get_ref<const std::string&>(), origin);
      case Json::value_t::boolean: return Value(json.get<bool>());
      case Json::value_t::number_integer: return Value(json.get<std::int64_t>());
      case Json::value_t::number_unsigned: return whole(json.get<std::uint64_t>());
      case Json::value_t::number_float: return Value(json.get<double>());
      case Json::value_t::array: return array(json, origin, depth);
      case Json::value_t::object: return object(json, origin, depth);
      default: return None{};
    }
  }

  [[nodiscard]] std::size_t input_bytes() const { return bytes_; }

 private:
  Value text(const std::string& text, Origin origin) {
    bytes_ += text.size() + 1;
    return Value(MarkedText(utf8_is_valid(text) ? text : utf8_sanitized(text), origin));
  }

  static Value whole(std::uint64_t number) {
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Value(static_cast<std::int64_t>(number));
    }
    return Value(static_cast<double>(number));
  }

  Value array(const Json& json, Origin origin, std::size_t depth) {
    std::vector<Value> items;
    items.reserve(json.size());
    bytes_ += json.size();
    for (const Json& item : json) items.push_back(value(item, origin, depth + 1));
    return make_list(std::move(items));
  }

  Value object(const Json& json, Origin origin, std::size_t depth) {
    auto dictionary = std::make_shared<Dictionary>();
    bytes_ += json.size();
    for (const auto& [key, item] : json.items()) dictionary->set(text(key, origin), value(item, origin, depth + 1));
    return Value(DictionaryPointer(std::move(dictionary)));
  }

  std::size_t bytes_ = 0;
};

}  // namespace

Result<Template> Template::parse(std::string source, std::string name, const Limits& limits) {
  if (source.size() > limits.source_bytes) {
    return fail(ErrorKind::bad_input, "{}: a template of {} bytes, at most {} are read", name, source.size(),
                limits.source_bytes);
  }
  if (!utf8_is_valid(source)) return fail(ErrorKind::bad_input, "{}: the template is not UTF-8", name);
  auto program = std::make_shared<Program>();
  program->source = std::move(source);
  program->name = std::move(name);
  program->limits = limits;
  program->plain = with_plain_line_breaks(program->source);
  try {
    program->block = parse_template(program->plain, limits.nesting);
  } catch (const SyntaxFailure& failure) {
    return program->error(failure, failure.offset());
  }
  return Template(std::move(program));
}

Result<MarkedText> Template::render(const Json& variables, const RenderOptions& options) const {
  if (!variables.is_object()) return fail(ErrorKind::usage, "{}: the variables must be a JSON object", name());
  std::uint32_t offset = 0;
  try {
    Loader loader;
    std::map<std::string, Value, std::less<>> names;
    for (const auto& [key, value] : variables.items()) {
      const bool is_trusted = std::find(options.trusted.begin(), options.trusted.end(), key) != options.trusted.end();
      names[key] = loader.value(value, is_trusted ? Origin::template_text : Origin::input);
    }
    Rendering rendering(program_->limits, options, loader.input_bytes());
    rendering.scope->names = std::move(names);
    try {
      rendering.execute(program_->block);
    } catch (const Failure&) {
      offset = rendering.offset();
      throw;
    }
    return std::move(rendering.output);
  } catch (const Failure& failure) {
    return program_->error(failure, offset);
  }
}

const std::string& Template::source() const { return program_->source; }
const std::string& Template::name() const { return program_->name; }

}  // namespace plm::jinja
