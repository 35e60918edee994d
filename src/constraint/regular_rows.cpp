// Derivatives of regular expressions, all 256 of an expression at a time, as runs of bytes that lead to the same.
// Tested by tests/constraint/test_regular.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include "constraint/regular.h"

namespace plm {
namespace {

constexpr std::size_t kRunsPerNode = 64;  // what the limit of nodes allows the rows on average

void append_run(std::vector<RegularStore::Run>& row, unsigned last, Regular target) {
  if (!row.empty() && row.back().target == target) {
    row.back().last = static_cast<std::uint8_t>(last);
  } else {
    row.push_back({static_cast<std::uint8_t>(last), target});
  }
}

}  // namespace

bool RegularStore::has_row(Regular a) const { return row_places_[static_cast<std::uint32_t>(a)].begin != kUnbounded; }

RegularStore::Row RegularStore::kept_row(Regular a) const {
  const RowPlace& place = row_places_[static_cast<std::uint32_t>(a)];
  const auto begin = runs_.begin() + place.begin;
  return {begin, begin + place.size};
}

void RegularStore::keep_row(Regular a, const Row& row) {
  if (runs_.size() + row.size() > kRunsPerNode * limits_.regular_nodes) {
    exhausted_ = true;
    row_places_[static_cast<std::uint32_t>(a)] = row_places_[static_cast<std::uint32_t>(Regular::nothing)];
    return;
  }
  row_places_[static_cast<std::uint32_t>(a)] = {static_cast<std::uint32_t>(runs_.size()),
                                                static_cast<std::uint32_t>(row.size())};
  runs_.insert(runs_.end(), row.begin(), row.end());
}

std::span<const RegularStore::Run> RegularStore::row(Regular a) {
  if (!has_row(a)) {
    if (!has_row(Regular::nothing)) keep_row(Regular::nothing, {{255, Regular::nothing}});
    std::vector<Regular> pending{a};  // a stack of our own: expressions may be nested deeper than the machine's
    while (!pending.empty()) {
      const Regular next = pending.back();
      const std::size_t before = pending.size();
      if (!has_row(next)) push_missing_rows(next, pending);
      if (pending.size() > before) continue;
      pending.pop_back();
      if (!has_row(next)) keep_row(next, compute_row(next));
    }
  }
  const RowPlace& place = row_places_[static_cast<std::uint32_t>(a)];
  return std::span(runs_).subspan(place.begin, place.size);
}

void RegularStore::push_missing_rows(Regular a, std::vector<Regular>& pending) const {
  const auto want = [&](Regular part) {
    if (!has_row(part)) pending.push_back(part);
  };
  const Node& n = node(a);
  switch (n.kind) {
    case Kind::nothing:
    case Kind::empty:
    case Kind::bytes:
    case Kind::state: return;
    case Kind::concatenation:
      want(static_cast<Regular>(n.first));
      if (nodes_[n.first].nullable) want(static_cast<Regular>(n.second));
      return;
    case Kind::repeat:
    case Kind::complement: want(static_cast<Regular>(n.first)); return;
    case Kind::alternation:
    case Kind::intersection:
      for (const Regular member : children(n)) want(member);
      return;
  }
}

// From the rows of the parts, which are there. Nodes and runs may move while new expressions are added, so that
// everything is copied first.
RegularStore::Row RegularStore::compute_row(Regular a) {
  const Node n = node(a);
  const auto first = static_cast<Regular>(n.first), second = static_cast<Regular>(n.second);
  Row row;
  switch (n.kind) {
    case Kind::nothing:
    case Kind::empty:
    case Kind::state: row.push_back({255, Regular::nothing}); break;  // a state has its row from the beginning
    case Kind::bytes:
      for (unsigned byte = 0; byte < 256; ++byte) {
        const bool inside = sets_[n.first].contains(static_cast<std::uint8_t>(byte));
        append_run(row, byte, inside ? Regular::empty : Regular::nothing);
      }
      break;
    case Kind::concatenation: {
      for (const Run& run : kept_row(first)) append_run(row, run.last, concatenate(run.target, second));
      if (!node(first).nullable) break;
      const std::array both{row, kept_row(second)};
      row = merged(both, Kind::alternation);
      break;
    }
    case Kind::repeat: {
      const Regular rest = repeat(first, n.min == 0 ? 0 : n.min - 1, n.max == kUnbounded ? kUnbounded : n.max - 1);
      for (const Run& run : kept_row(first)) append_run(row, run.last, concatenate(run.target, rest));
      break;
    }
    case Kind::complement:
      for (const Run& run : kept_row(first)) append_run(row, run.last, complement(run.target));
      break;
    case Kind::alternation:
    case Kind::intersection: {
      std::vector<Row> rows;
      for (const Regular member : children(n)) rows.push_back(kept_row(member));
      row = merged(rows, n.kind);
      break;
    }
  }
  return row;
}

// Byte for byte the alternation or intersection of several rows.
RegularStore::Row RegularStore::merged(std::span<const Row> rows, Kind kind) {
  std::vector<std::size_t> at(rows.size(), 0);
  std::vector<Regular> targets, before;
  Row result;
  for (unsigned first = 0; first < 256;) {
    unsigned last = 255;
    targets.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Run& run = rows[i][at[i]];
      last = std::min<unsigned>(last, run.last);
      if (kind == Kind::intersection || run.target != Regular::nothing) targets.push_back(run.target);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) at[i] += rows[i][at[i]].last == last ? 1U : 0U;
    const bool same = first > 0 && targets == before;
    const Regular target = same                        ? result.back().target
                           : kind == Kind::alternation ? alternate(targets)
                                                       : intersect(targets);
    append_run(result, last, target);
    std::swap(targets, before);
    first = last + 1;
  }
  return result;
}

Regular RegularStore::derivative(Regular a, std::uint8_t byte) {
  const auto runs = row(a);
  return std::ranges::lower_bound(runs, byte, {}, &Run::last)->target;
}

bool RegularStore::matches(Regular a, std::string_view text) {
  for (const char byte : text) {
    if (a == Regular::nothing) return false;
    a = derivative(a, static_cast<std::uint8_t>(byte));
  }
  return nullable(a);
}

}  // namespace plm
