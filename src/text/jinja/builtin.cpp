#include "text/jinja/builtin.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/failure.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

// The next word of a list of parameters, which is taken off.
std::string_view next_parameter(std::string_view& parameters) {
  const std::size_t space = std::min(parameters.find(' '), parameters.size());
  const std::string_view word = parameters.substr(0, space);
  parameters.remove_prefix(std::min(space + 1, parameters.size()));
  return word;
}

}  // namespace

void Call::bind(std::string_view parameters, Arguments arguments) {
  if (parameters == "*") {
    rest = std::move(arguments);
    return;
  }
  std::size_t used = 0;
  while (!parameters.empty()) {
    std::string_view parameter = next_parameter(parameters);
    const bool is_optional = parameter.ends_with('?');
    if (is_optional) parameter.remove_suffix(1);
    const auto named = std::find_if(arguments.keywords.begin(), arguments.keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == parameter; });
    std::optional<Value>& place = places_.emplace_back();
    if (used < arguments.positional.size()) {
      place = std::move(arguments.positional[used++]);
    } else if (named != arguments.keywords.end()) {
      place = std::move(named->second);
      arguments.keywords.erase(named);
    } else if (!is_optional) {
      refuse("{} needs its argument '{}'", name, parameter);
    }
  }
  if (used < arguments.positional.size()) {
    refuse("{} takes at most {} arguments, found {}", name, used, arguments.positional.size());
  }
  if (!arguments.keywords.empty()) {
    refuse("{} does not take the argument '{}'", name, printable(arguments.keywords.front().first, 80));
  }
}

const Value* Call::given(std::size_t place) const { return places_[place] ? &*places_[place] : nullptr; }

const Value* Call::given_some(std::size_t place) const {
  const Value* value = given(place);
  return value == nullptr || value->is_none() ? nullptr : value;
}

std::int64_t Call::integer(std::size_t place, std::optional<std::int64_t> fallback) const {
  const Value* value = given(place);
  if (value == nullptr && fallback) return *fallback;
  value->check_defined();
  const auto whole = value->integer();
  if (!whole) refuse("argument {} of {} must be a whole number, found a {}", place + 1, name, value->type_name());
  return *whole;
}

bool Call::flag(std::size_t place, bool fallback) const {
  const Value* value = given(place);
  return value == nullptr ? fallback : value->is_true();
}

const MarkedText& Call::text(std::size_t place) const {
  const Value& value = *places_[place];
  value.check_defined();
  const MarkedText* text = value.text();
  if (text == nullptr) refuse("argument {} of {} must be a str, found a {}", place + 1, name, value.type_name());
  return *text;
}

Value apply(const Builtin& builtin, Rendering& rendering, const Value& subject, Arguments arguments) {
  const Deeper deeper(rendering);
  Call call(rendering, builtin.name, subject);
  call.bind(builtin.parameters, std::move(arguments));
  return builtin.run(call);
}

const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [name](const Builtin& builtin) { return builtin.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace plm::jinja
