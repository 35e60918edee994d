#include "decode/page_cache.h"

#include <algorithm>

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {
        .name = "page_cache",
        .summary = "of models that see the whole page: what is remembered between passes although it is not exact; "
                   "exact: nothing",
        .type = ParameterType::choice,
        .standard = std::string_view("exact"),
        .neutral = std::string_view("exact"),
        .choices = "exact, prefix, dual, delayed",
    },
    {
        .name = "page_cache_refresh",
        .summary = "passes that read the page cache before everything is computed anew; 0: when a block begins "
                   "(delayed: never)",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .min = 0,
        .max = 1U << 20,
        .unit = "passes",
    },
    {
        .name = "page_cache_meter",
        .summary = "beside every so many passes that read the page cache one over everything is run, to tell how far "
                   "the cache is off; decides nothing; 0: never",
        .type = ParameterType::integer,
        .standard = std::int64_t{8},
        .min = 0,
        .max = 1U << 20,
        .unit = "passes",
    },
};

void take_range(PageCache::Pass& pass, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) pass.positions.push_back(static_cast<std::uint32_t>(at));
}

}  // namespace

std::span<const Parameter> page_cache_parameters() { return kParameters; }

Result<PageCacheRule> PageCacheRule::create(const Settings& settings, const DiffusionTraits& traits) {
  const std::string name = settings.text("page_cache");
  const Kind kind = name == "prefix"    ? Kind::prefix
                    : name == "dual"    ? Kind::dual
                    : name == "delayed" ? Kind::delayed
                                        : Kind::exact;
  if (kind != Kind::exact && traits.attention != DiffusionAttention::full) {
    return fail(ErrorKind::usage,
                "page_cache {}: this model writes block by block and remembers those before exactly; leave it out",
                name);
  }
  return PageCacheRule{.kind = kind,
                       .refresh = static_cast<std::size_t>(settings.integer("page_cache_refresh")),
                       .meter = static_cast<std::size_t>(settings.integer("page_cache_meter")),
                       .shifts_logits = traits.shifts_logits};
}

PageCache::Pass PageCache::next(std::span<const Cell> cells, const PlannedBlock& block) {
  const bool is_by_block = rule_.kind != PageCacheRule::Kind::delayed;
  const bool is_due = rule_.refresh > 0 && reads_since_refresh_ >= rule_.refresh;
  Pass pass{.begins_anew = is_kept_.empty() || is_due || (is_by_block && block.start != block_start_)};
  if (pass.begins_anew) {
    is_kept_.assign(cells.size(), false);
    block_start_ = block.start;
    reads_since_refresh_ = 0;
  } else {
    ++reads_, ++reads_since_refresh_;
    pass.is_measured = rule_.meter > 0 && reads_ % rule_.meter == 0;
  }
  if (is_by_block) {
    take_block(pass, block);
  } else {
    take_decided(pass, cells);
  }
  return pass;
}

void PageCache::take_block(Pass& pass, const PlannedBlock& block) const {
  const std::size_t first = block.start - (rule_.shifts_logits ? 1 : 0);
  const std::size_t last = block.start + block.length, size = is_kept_.size();
  const bool keeps_behind = rule_.kind == PageCacheRule::Kind::dual;
  if (pass.begins_anew) {
    take_range(pass, 0, first);
    if (keeps_behind) take_range(pass, last, size);
    pass.kept = pass.positions.size();
  }
  take_range(pass, first, keeps_behind ? last : size);
}

void PageCache::take_decided(Pass& pass, std::span<const Cell> cells) {
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (is_kept_[at] || !is_settled(cells, at)) continue;
    is_kept_[at] = true;
    take_range(pass, at, at + 1);
  }
  pass.kept = pass.positions.size();
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (!is_kept_[at]) take_range(pass, at, at + 1);
  }
}

// Whether nothing is asked of the position's row any more.
bool PageCache::is_settled(std::span<const Cell> cells, std::size_t position) const {
  if (cells[position].status == CellStatus::open) return false;
  const bool speaks = rule_.shifts_logits && position + 1 < cells.size();
  return !speaks || cells[position + 1].status != CellStatus::open;
}

}  // namespace plm
