#include "cli/trajectory_story.h"

#include <algorithm>

#include "base/utf8.h"
#include "decode/schedule.h"

namespace plm {
namespace {

constexpr std::size_t kTextWidth = 16;  // of a token in a table, quotes included

std::string in_quotes(const std::string& text) { return "\"" + printable(text, kTextWidth - 2) + "\""; }

std::string value_in(const Json& page, std::string_view parameter) {
  const auto found = page.find(std::string(parameter));
  return found == page.end() ? std::string() : fmt::format("{} {}", parameter, printable(json_text(*found), 40));
}

// A rule with the numbers that it went by.
std::string rule_words(const Trajectory& trajectory, const std::string& rule) {
  const Json& page = trajectory.header["page"];
  if (rule.empty()) return "drawn";
  if (rule == "late") return "late: the most certain, since the passes of the block were used up";
  if (const std::string own = value_in(page, rule); find_schedule(rule) == nullptr) return own.empty() ? rule : own;
  std::string words = "schedule " + rule;
  for (const Parameter& parameter : find_schedule(rule)->head.parameters) {
    const std::string value = value_in(page, parameter.name);
    if (!value.empty()) words += ", " + value;
  }
  return words;
}

std::string_view kind_word(EventKind kind) {
  switch (kind) {
    case EventKind::committed: return "committed";
    case EventKind::replaced: return "replaced";
    case EventKind::revoked: return "revoked";
    case EventKind::inserted: return "opened";
    default: return "deleted";
  }
}

std::string moment_line(const Trajectory& trajectory, const CellMoment& moment) {
  const RecordedPass& pass = trajectory.passes[moment.pass];
  if (moment.proposal != nullptr) {
    const RecordedProposal& proposal = *moment.proposal;
    const std::string score = proposal.score.has_value() ? fmt::format("{:.4f}", *proposal.score) : "last";
    return fmt::format("{:>5}  {:<10}{:<17}{:>11}{:>13.4f}{:>9.4f}  rank {} of {}\n", pass.number, "proposed",
                       in_quotes(trajectory.text_of(proposal.id)), score, proposal.probability, proposal.entropy,
                       moment.rank, pass.proposals.size());
  }
  const RecordedChange& change = *moment.change;
  const bool is_opening = change.kind == EventKind::inserted, is_revoked = change.kind == EventKind::revoked;
  return fmt::format("{:>5}  {:<10}{:<17}{:>11}{:>13}{:>9}  {}\n", pass.number, kind_word(change.kind),
                     is_opening || is_revoked ? std::string() : in_quotes(trajectory.text_of(change.id)), "",
                     is_opening ? std::string() : fmt::format("{:.4f}", change.probability), "",
                     is_opening ? std::string("an open position of the page") : rule_words(trajectory, change.rule));
}

std::string text_in(const Json& page, const char* key) {
  const auto found = page.find(key);
  return found != page.end() && found->is_string() ? printable(found->get<std::string>(), 40) : "probability";
}

// What the numbers are: an entropy is of a random variable, given something.
std::string legend(const Trajectory& trajectory) {
  const Json& page = trajectory.header["page"];
  const bool is_tempered = text_in(page, "confidence_from") == "tempered";
  return fmt::format(
      "entropy: of the token at this position, given the tokens that the pass saw (masks where nothing was decided), "
      "in "
      "nats,\nin the {} distribution without the mask token; confidence: {}, by which positions are ranked.\n",
      is_tempered ? "tempered and filtered" : "network's own", text_in(page, "confidence"));
}

struct Counts {
  std::size_t committed = 0, replaced = 0, revoked = 0, inserted = 0, deleted = 0;

  explicit Counts(const RecordedPass& pass) {
    for (const RecordedChange& change : pass.changes) {
      switch (change.kind) {
        case EventKind::committed: ++committed; break;
        case EventKind::replaced: ++replaced; break;
        case EventKind::revoked: ++revoked; break;
        case EventKind::inserted: ++inserted; break;
        default: ++deleted; break;
      }
    }
  }
};

std::string pass_line(const Trajectory& trajectory, const RecordedPass& pass) {
  const Counts counts(pass);
  double entropy = 0;
  for (const RecordedProposal& proposal : pass.proposals) entropy += proposal.entropy;
  std::string line =
      fmt::format("{:>5}{:>6}{:>10}{:>11}{:>10}{:>9}{:>8}{:>9}{:>11}  ", pass.number, pass.rows, pass.proposals.size(),
                  counts.committed, counts.replaced, counts.revoked, counts.inserted, counts.deleted,
                  pass.proposals.empty() ? std::string() : fmt::format("{:.4f}", entropy));
  std::size_t shown = 0;
  for (const RecordedChange& change : pass.changes) {
    if (change.kind != EventKind::committed && change.kind != EventKind::replaced) continue;
    if (++shown > 4) {
      line += "...";
      break;
    }
    line += fmt::format("{} {}  ", change.position, in_quotes(trajectory.text_of(change.id)));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string trajectory_overview(const Trajectory& trajectory) {
  std::string text = fmt::format("{:>5}{:>6}{:>10}{:>11}{:>10}{:>9}{:>8}{:>9}{:>11}  {}\n", "pass", "rows", "proposed",
                                 "committed", "replaced", "revoked", "opened", "deleted", "entropies", "decided");
  for (const RecordedPass& pass : trajectory.passes) text += pass_line(trajectory, pass);
  text += "\nentropies: the sum of the entropies of single positions, which is not the entropy of the page.\n";
  text += legend(trajectory);
  if (trajectory.result.is_null()) text += "the file breaks off: the text was not finished.\n";
  if (trajectory.cells > trajectory.given) {
    text += fmt::format("--position N tells one position's story, 0 to {}.\n", trajectory.cells - 1);
  }
  return text;
}

Result<std::string> trajectory_story(const Trajectory& trajectory, std::size_t position) {
  if (position >= trajectory.cells) {
    return fail(ErrorKind::usage, "--position: {} is out of range, the page has {} positions", position,
                trajectory.cells);
  }
  const std::vector<CellMoment> moments = history_of(trajectory, position);
  if (moments.empty()) return fmt::format("position {}: given, part of the prompt\n", position);
  std::string text = fmt::format("position {}: ", position);
  const CellMoment* last = nullptr;
  for (const CellMoment& moment : moments) {
    if (moment.change != nullptr && moment.change->kind != EventKind::inserted) last = &moment;
  }
  if (last == nullptr) {
    text += "never decided\n\n";
  } else if (last->change->kind == EventKind::revoked) {
    text += fmt::format("taken back in pass {} and not decided again\n\n", trajectory.passes[last->pass].number);
  } else {
    text += fmt::format("{} ({}), {} in pass {} of {}\n\n", in_quotes(trajectory.text_of(last->change->id)),
                        last->change->id, kind_word(last->change->kind), trajectory.passes[last->pass].number,
                        trajectory.passes.back().number);
  }
  text += fmt::format("{:>5}  {:<10}{:<17}{:>11}{:>13}{:>9}  {}\n", "pass", "", "token", "confidence", "probability",
                      "entropy", "why");
  for (const CellMoment& moment : moments) text += moment_line(trajectory, moment);
  return text + "\n" + legend(trajectory);
}

}  // namespace plm
