#include "sampling/order.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace plm {
namespace {

struct Letter {
  char letter;
  std::string_view sampler;
};
constexpr Letter kLetters[] = {{'e', "penalties"},   {'d', "dry"},    {'s', "top_n_sigma"}, {'k', "top_k"},
                               {'y', "typical_p"},   {'p', "top_p"},  {'m', "min_p"},       {'x', "xtc"},
                               {'t', "temperature"}, {'i', "infill"}, {'a', "adaptive_p"}};

// By number; KoboldCpp joins several samplers in one place.
constexpr std::string_view kNumbers[] = {
    "top_k", "top_a", "top_p;min_p", "tfs", "typical_p", "temperature;smoothing;top_n_sigma", "penalties"};

const SamplerDefinition* find_sampler(std::string_view name) {
  for (const SamplerDefinition* definition : samplers()) {
    if (is_named(name, definition->head.name, definition->head.aliases)) return definition;
  }
  return nullptr;
}

tl::unexpected<Error> unknown_sampler(std::string_view name) {
  std::string known;
  for (const SamplerDefinition* definition : samplers()) {
    known += known.empty() ? "" : ", ";
    known += definition->head.name;
  }
  return fail(ErrorKind::usage, "samplers: unknown sampler \"{}\", known are {}", printable(name, 80), known);
}

Result<void> add(std::vector<OrderItem>& order, OrderItem item) {
  if (order.size() == kMostSamplers) {
    return fail(ErrorKind::usage, "samplers: more than {} in one order", kMostSamplers);
  }
  order.push_back(std::move(item));
  return {};
}

}  // namespace

Result<std::vector<OrderItem>> order_of_names(std::string_view names, UnknownSamplers& unknown) {
  std::vector<OrderItem> order;
  while (!names.empty()) {
    const std::size_t end = names.find(';');
    const std::string_view item = names.substr(0, end);
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const SamplerDefinition* definition = find_sampler(name);
    if (definition == nullptr) {
      if (!unknown.are_skipped) return unknown_sampler(name);
      unknown.skipped.push_back(printable(name, 80));
      continue;
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = item.substr(equals + 1);
      if (value.empty() || definition->head.parameters.empty()) {
        return fail(ErrorKind::usage, "samplers: \"{}\" is no NAME=VALUE of a sampler with a parameter",
                    printable(item, 80));
      }
    }
    PLM_TRY(add(order, {definition, std::move(value)}));
  }
  return order;
}

Result<std::vector<OrderItem>> order_of_letters(std::string_view letters, UnknownSamplers& unknown) {
  std::vector<OrderItem> order;
  for (const char letter : letters) {
    const auto* found = std::find_if(std::begin(kLetters), std::end(kLetters),
                                     [&](const Letter& known) { return known.letter == letter; });
    if (found != std::end(kLetters)) {
      PLM_TRY(add(order, {find_sampler(found->sampler)}));
    } else if (unknown.are_skipped) {
      unknown.skipped.push_back(printable(std::string_view(&letter, 1)));
    } else {
      std::string known;
      for (const Letter& each : kLetters) known += fmt::format(" {}={}", each.letter, each.sampler);
      return fail(ErrorKind::usage, "sampler_seq: unknown letter \"{}\", known are{}",
                  printable(std::string_view(&letter, 1)), known);
    }
  }
  return order;
}

Result<std::vector<OrderItem>> order_of_numbers(std::string_view numbers) {
  if (numbers.starts_with('[') && numbers.ends_with(']')) numbers = numbers.substr(1, numbers.size() - 2);
  std::vector<OrderItem> order;
  std::vector<bool> is_used(std::size(kNumbers));
  for (std::string_view word : split_list(numbers)) {
    while (word.ends_with(' ')) word.remove_suffix(1);
    std::size_t number = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (code != std::errc() || end != word.data() + word.size() || number >= std::size(kNumbers) || is_used[number]) {
      return fail(ErrorKind::usage, "sampler_order: found \"{}\", expected numbers from 0 to {}, each once",
                  printable(word, 40), std::size(kNumbers) - 1);
    }
    is_used[number] = true;
    UnknownSamplers none;
    PLM_TRY_ASSIGN(const auto items, order_of_names(kNumbers[number], none));
    order.insert(order.end(), items.begin(), items.end());
  }
  return order;
}

}  // namespace plm
