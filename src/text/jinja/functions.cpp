// The global functions of the template language. Declared in builtin.h. Tested by
// tests/text/jinja/test_conformance.cpp.
#include <array>
#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/callables.h"
#include "text/jinja/failure.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"
#include "text/jinja/strftime.h"

namespace plm::jinja {
namespace {

constexpr std::size_t kMostRange = 100'000;  // jinja2's sandbox has the same

Value range(Call& call) {
  const bool has_start = call.given(1) != nullptr;
  const std::int64_t start = has_start ? call.integer(0) : 0;
  const std::int64_t stop = call.integer(has_start ? 1 : 0);
  const std::int64_t step = call.integer(2, 1);
  if (step == 0) refuse("the step of range cannot be 0");
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  const std::uint64_t span = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                      : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t count = is_empty ? 0 : (span - 1) / stride + 1;
  if (count > kMostRange) refuse("a range of {} numbers, at most {} are allowed", count, kMostRange);
  call.rendering.spend_steps(count);
  std::vector<Value> numbers;
  numbers.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    numbers.emplace_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step)));
  }
  Value result = make_sequence(Sequence::Kind::range, std::move(numbers));
  result.sequence()->spelled =
      step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
  return result;
}

// The dictionary or pairs given first, then the named arguments, handed to `set`.
template <typename Set>
void each_entry(Call& call, Set set) {
  if (call.rest.positional.size() > 1) refuse("{} takes at most one dict", call.name);
  if (!call.rest.positional.empty()) {
    const Value& given = call.rest.positional.front();
    if (const Dictionary* dictionary = given.dictionary()) {
      for (const auto& [key, value] : dictionary->entries()) set(key, value);
    } else {
      for (const Value& pair : items_of(call.rendering, given)) {
        std::vector<Value> parts = items_of(call.rendering, pair);
        if (parts.size() != 2) refuse("{} needs pairs, found {} items", call.name, parts.size());
        set(parts[0], parts[1]);
      }
    }
  }
  for (auto& [name, value] : call.rest.keywords) set(Value(MarkedText(name, Origin::template_text)), value);
}

Value dict(Call& call) {
  auto dictionary = std::make_shared<Dictionary>();
  each_entry(call, [&](const Value& key, const Value& value) {
    call.rendering.spend_steps(1);
    if (key.text() != nullptr) call.rendering.spend_text(key.text()->size());
    dictionary->set(key, value);
  });
  return Value(DictionaryPointer(std::move(dictionary)));
}

Value make_namespace(Call& call) {
  auto names = std::make_shared<Namespace>();
  call.rendering.keep(names);
  each_entry(call, [&](const Value& key, const Value& value) {
    if (key.text() == nullptr) refuse("the names of a namespace are texts, found a {}", key.type_name());
    call.rendering.spend_steps(1);
    call.rendering.spend_text(key.text()->size());
    names->attributes[key.text()->text()] = value;
  });
  return Value(ObjectPointer(std::move(names)));
}

Value make_cycler(Call& call) {
  if (!call.rest.keywords.empty()) refuse("cycler takes no named arguments");
  return Value(ObjectPointer(std::make_shared<Cycler>(std::move(call.rest.positional))));
}

Value make_joiner(Call& call) {
  Value separator = call.given(0) != nullptr ? call[0] : Value(MarkedText(", ", Origin::template_text));
  check_container_depth(separator.depth() + 1);
  return Value(ObjectPointer(std::make_shared<Joiner>(std::move(separator))));
}

Value raise_exception(Call& call) { throw Failure(ErrorKind::usage, printed(call.rendering, call[0]).text()); }

Value strftime_now(Call& call) {
  std::tm now{};
  if (call.rendering.options().now) {
    now = *call.rendering.options().now;
  } else {
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &now);
  }
  return call.rendering.made(formatted_time(call.text(0), now));
}

Value lipsum(Call& /*call*/) { refuse("lipsum is not supported: a conversation must always render the same"); }

constexpr std::array<Builtin, 8> kFunctions = {{
    {"cycler", "*", make_cycler},
    {"dict", "*", dict},
    {"joiner", "sep?", make_joiner},
    {"lipsum", "*", lipsum},
    {"namespace", "*", make_namespace},
    {"raise_exception", "message", raise_exception},
    {"range", "start stop? step?", range},
    {"strftime_now", "format", strftime_now},
}};

}  // namespace

const Builtin* find_function(std::string_view name) { return find_builtin(kFunctions, name); }

}  // namespace plm::jinja
