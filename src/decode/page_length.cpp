#include "decode/page_length.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace plm {
namespace {

constexpr double kMostCells = 1U << 20;

constexpr Parameter kParameters[] = {
    {
        .name = "length_rule",
        .summary =
            "with length auto: the page expands while its end is not in sight, or is cut where one pass predicts "
            "the end, or grows block by block, or follows the model's own tokens; model: what suits it",
        .type = ParameterType::choice,
        .standard = std::string_view("model"),
        .choices = "model, expand, predict, grow, tokens",
    },
    {
        .name = "length_start",
        .summary = "with length auto: positions that the page, or a hole, begins with",
        .type = ParameterType::integer,
        .standard = std::int64_t{64},
        .min = 1,
        .max = kMostCells,
        .unit = "tokens",
    },
    {
        .name = "length_step",
        .summary = "with length auto: positions that are added at a time, or that take a doubtful one's place",
        .type = ParameterType::integer,
        .standard = std::int64_t{8},
        .min = 1,
        .max = kMostCells,
        .unit = "tokens",
    },
    {
        .name = "length_window",
        .summary = "with length auto: the last so many positions of the page tell whether the text ends on it",
        .type = ParameterType::integer,
        .standard = std::int64_t{32},
        .min = 1,
        .max = kMostCells,
        .unit = "tokens",
    },
    {
        .name = "length_end",
        .summary = "with length auto: mean probability of an end token there from which on the page is long enough to "
                   "begin with",
        .type = ParameterType::real,
        .standard = 0.5,
        .min = 0,
        .max = 1,
    },
    {
        .name = "length_end_later",
        .summary = "the same while the page is written: from there on no position is given more room",
        .type = ParameterType::real,
        .standard = 0.9,
        .min = 0,
        .max = 1,
    },
    {
        .name = "length_doubt",
        .summary = "with length auto: probability of its proposal below which the most doubtful position is given more "
                   "room",
        .type = ParameterType::real,
        .standard = 0.1,
        .min = 0,
        .max = 1,
    },
};

Result<PageLength::Rule> rule_for(const DecodeJob& job) {
  using Rule = PageLength::Rule;
  const DiffusionTraits& traits = job.parallel->traits;
  const bool is_full = traits.attention == DiffusionAttention::full, has_tokens = traits.expand_token >= 0;
  const std::string name = job.parallel->settings.text("length_rule");
  const Rule rule = name == "expand"    ? Rule::expand
                    : name == "predict" ? Rule::predict
                    : name == "grow"    ? Rule::grow
                    : name == "tokens"  ? Rule::tokens
                    : has_tokens        ? Rule::tokens
                    : is_full           ? Rule::expand
                                        : Rule::grow;
  if (rule == Rule::tokens && !has_tokens) {
    return fail(ErrorKind::usage,
                "length_rule tokens: this model has no token that expands (diffusion.expand_token_id); use expand, "
                "predict or grow");
  }
  const bool goes_on = job.holes.size() > 1 || (job.holes.size() == 1 && job.holes[0].position < job.canvas.size());
  if (rule != Rule::tokens && goes_on) {
    return fail(ErrorKind::usage,
                "length auto: where the text goes on behind a hole, only a model with a token that expands "
                "(diffusion.expand_token_id) finds its length; say it, as in {{{{hole:12}}}}");
  }
  if ((rule == Rule::expand || rule == Rule::predict) && !is_full) {
    return fail(ErrorKind::usage, "length_rule {}: this model does not see the end of the page; use grow", name);
  }
  if ((rule == Rule::expand || rule == Rule::predict) && job.end_tokens.empty()) {
    return fail(ErrorKind::usage, "length_rule {}: looks for the end of the text, which is to be ignored; use grow",
                name == "model" ? "expand" : name);
  }
  return rule;
}

}  // namespace

std::span<const Parameter> length_parameters() { return kParameters; }

Result<PageLength> PageLength::create(const DecodeJob& job) {
  PageLength length;
  length.most_ = length.left_ = job.max_tokens;
  if (!job.holes.empty()) {
    length.left_ = 0;
    for (const Hole& hole : job.holes) length.left_ += hole.length;  // Page has checked that they fit the context
  }
  const Settings& settings = job.parallel->settings;
  const auto count = [&](const char* name) { return static_cast<std::size_t>(settings.integer(name)); };
  length.start_ = count("length_start");
  length.step_ = count("length_step");
  length.window_ = count("length_window");
  length.end_at_first_ = settings.real("length_end");
  length.end_in_passes_ = settings.real("length_end_later");
  length.doubt_ = settings.real("length_doubt");
  if (!job.parallel->finds_length) return length;
  PLM_TRY_ASSIGN(length.rule_, rule_for(job));
  // Of such models no pass sees what lies behind its block: to grow is what they do anyway.
  if (length.rule_ == Rule::grow && job.parallel->traits.attention != DiffusionAttention::full) {
    length.rule_ = Rule::fixed;
  }
  if (length.rule_ == Rule::grow && job.parallel->block_length > 0) {
    length.start_ = length.step_ = job.parallel->block_length;
  }
  return length;
}

std::size_t PageLength::first(std::size_t most) const {
  return rule_ == Rule::fixed || rule_ == Rule::predict ? most : std::min(most, start_);
}

std::size_t PageLength::step(std::size_t cells) const {
  return std::min({step_, left_, most_ - std::min(most_, cells)});
}

double PageLength::tail_of(std::span<const double> ends) const {
  const std::span<const double> tail = ends.last(std::min(window_, ends.size()));
  return tail.empty() ? 1 : std::accumulate(tail.begin(), tail.end(), 0.0) / static_cast<double>(tail.size());
}

std::size_t PageLength::predicted(std::span<const double> ends) const {
  std::vector<double> sums(ends.size() + 1);
  std::partial_sum(ends.begin(), ends.end(), sums.begin() + 1);
  for (std::size_t at = 0; at < ends.size(); ++at) {
    const std::size_t behind = std::min(at + window_, ends.size());
    const double mean = (sums[behind] - sums[at]) / static_cast<double>(behind - at);
    if (ends[at] >= end_at_first_ && mean >= end_at_first_) return at + 1;  // one for the end token
  }
  return ends.size();
}

}  // namespace plm
