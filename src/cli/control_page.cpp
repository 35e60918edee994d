#include "cli/control_page.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string control_rows(const SamplerDefinition& sampler) {
  std::string rows;
  for (const Parameter& parameter : sampler.head.parameters) {
    const auto note = std::find_if(sampler.notes.begin(), sampler.notes.end(),
                                   [&](const ControlNote& each) { return each.parameter == parameter.name; });
    const ControlNote found = note == sampler.notes.end() ? ControlNote{} : *note;
    rows += fmt::format("\n### {}\n{}.\n\n| | |\n| --- | --- |\n", parameter.name, parameter.summary);
    const auto row = [&rows](std::string_view name, const std::string& text) {
      if (!text.empty()) rows += fmt::format("| {} | {} |\n", name, text);
    };
    row("default", code(value_text(parameter.standard)));
    row("range", cell(allowed_text(parameter)));
    row("neutral", code(value_text(parameter.neutral)));
    row("unit", cell(parameter.unit));
    row("tag", std::string(tag_word(parameter.tag)));
    row("raised", cell(found.effect));
    row("also", code(parameter.aliases));
    row("elsewhere", cell(found.dialects));
    row("profiles", cell(profile_notes(parameter)));
  }
  return rows;
}

}  // namespace

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
    page += control_rows(*sampler);
  }
  return page;
}

}  // namespace plm
