#include "cli/control_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/settings.h"
#include "sampling/profile.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

std::string_view tag_word(Tag tag) {
  switch (tag) {
    case Tag::model: return "MODEL";
    case Tag::pipe: return "PIPE";
    case Tag::inf: return "INF";
    case Tag::backend: return "BACKEND";
  }
  return "";
}

// As it stands in a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", cell(text)); }

// "llamacpp 0 to 1, clamped; vllm default 1".
std::string profile_notes(const Parameter& parameter) {
  std::string notes;
  for (const Profile& profile : profiles()) {
    if (profile.knows_all) continue;
    const ProfileValue* value = profile.find(parameter.name);
    if (value == nullptr) {
      notes += fmt::format("{}{}: none", notes.empty() ? "" : "; ", profile.name);
      continue;
    }
    std::string facts;
    if (const std::string standard = value_text(value->standard); !standard.empty()) facts += " default " + standard;
    const std::string range = allowed_text({.name = parameter.name, .min = value->min, .max = value->max});
    if (!range.empty())
      facts += fmt::format("{} {}{}", facts.empty() ? "" : ",", range, value->clamps ? ", clamped" : "");
    if (!facts.empty()) notes += fmt::format("{}{}:{}", notes.empty() ? "" : "; ", profile.name, facts);
  }
  return notes;
}

// What is said of a control besides its summary.
struct Fact {
  std::string_view name;
  std::string text;
  bool is_code = false;  // as it is typed
};

std::vector<Fact> facts_of(const SamplerDefinition& sampler, const Parameter& parameter) {
  const auto note = std::find_if(sampler.notes.begin(), sampler.notes.end(),
                                 [&](const ControlNote& each) { return each.parameter == parameter.name; });
  const ControlNote found = note == sampler.notes.end() ? ControlNote{} : *note;
  std::vector<Fact> facts = {{"default", value_text(parameter.standard), true},
                             {"range", allowed_text(parameter)},
                             {"neutral", value_text(parameter.neutral), true},
                             {"unit", std::string(parameter.unit)},
                             {"tag", std::string(tag_word(parameter.tag))},
                             {"raised", std::string(found.effect)},
                             {"also", std::string(parameter.aliases), true},
                             {"elsewhere", std::string(found.dialects)},
                             {"profiles", profile_notes(parameter)}};
  std::erase_if(facts, [](const Fact& fact) { return fact.text.empty(); });
  return facts;
}

std::string markdown_of(const SamplerDefinition& sampler) {
  std::string rows;
  for (const Parameter& parameter : sampler.head.parameters) {
    rows += fmt::format("\n### {}\n{}.\n\n| | |\n| --- | --- |\n", parameter.name, parameter.summary);
    for (const auto& [name, text, is_code] : facts_of(sampler, parameter)) {
      rows += fmt::format("| {} | {} |\n", name, is_code ? code(text) : cell(text));
    }
  }
  return rows;
}

// Words under one another, behind a margin.
std::string wrapped(std::string_view text, std::size_t margin, std::size_t width) {
  std::string lines;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > 0 && column + 1 + word.size() > width) {
      lines += "\n" + std::string(margin, ' ');
      column = 0;
    }
    lines += (column > 0 ? " " : "") + std::string(word);
    column += (column > 0 ? 1 : 0) + word.size();
  }
  return lines;
}

std::string text_of(const SamplerDefinition& sampler, const Parameter& parameter) {
  constexpr std::size_t kIndent = 2, kMargin = 14, kWidth = 100;
  std::string text =
      fmt::format("\n{}: {}\n", parameter.name, wrapped(parameter.summary, kIndent, kWidth - parameter.name.size()));
  for (const Fact& fact : facts_of(sampler, parameter)) {
    text += fmt::format("  {:<12}{}\n", fact.name, wrapped(fact.text, kMargin, kWidth - kMargin));
  }
  return text;
}

}  // namespace

std::string control_text(std::string_view name) {
  std::string text;
  for (const SamplerDefinition* sampler : samplers()) {
    const Definition& head = sampler->head;
    const bool is_sampler = is_named(name, head.name, head.aliases);
    std::string controls;
    for (const Parameter& parameter : head.parameters) {
      if (is_sampler || is_named(name, parameter.name, parameter.aliases)) controls += text_of(*sampler, parameter);
    }
    if (!is_sampler && controls.empty()) continue;
    text += fmt::format("{}sampler {}: {}\n  {}\n  source: {}\n", text.empty() ? "" : "\n", head.name, head.summary,
                        sampler->rule, head.source);
    if (!head.aliases.empty()) text += fmt::format("  in an order also: {}\n", head.aliases);
    text += controls;
  }
  return text;
}

std::string control_page() {
  std::string page =
      "# Controls of sampling\n\nWritten by `plm describe --controls`. Order, profiles and random numbers: "
      "[samplers](samplers.md).\n\nz is a logit, p a probability among the candidates, H their entropy in nats, n "
      "their "
      "number, V the size of the vocabulary. *raised* is the datasheet's row of couplings: what a higher value does to "
      "the text. *profiles* lists where a back end's default or range is another one, or has no such control.\n";
  for (const SamplerDefinition* sampler : samplers()) {
    const Definition& head = sampler->head;
    page += fmt::format("\n## {}\n{}. Source: {}.\n\n    {}\n", head.name, head.summary, head.source, sampler->rule);
    if (!head.aliases.empty()) page += fmt::format("\nIn an order also: {}.\n", code(head.aliases));
    page += markdown_of(*sampler);
  }
  return page;
}

}  // namespace plm
