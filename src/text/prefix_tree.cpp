#include "text/prefix_tree.h"

#include <algorithm>

namespace plm {

PrefixTree::PrefixTree(std::vector<Entry> entries) {
  roots_.fill(kNone);
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });
  std::sort(entries.begin(), entries.end());

  // Nodes in order of depth: each knows the range of entries that go through it.
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> ranges;
  // Appends a node for each byte that the entries of `range` have at `depth`; returns how many.
  const auto append_children = [&](Range range, std::size_t depth) {
    std::uint16_t count = 0;
    for (std::size_t begin = range.begin; begin < range.end; ++count) {
      const char byte = entries[begin].first[depth];
      std::size_t end = begin + 1;
      while (end < range.end && entries[end].first[depth] == byte) ++end;
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ranges.push_back({begin, end});
      begin = end;
    }
    return count;
  };
  append_children({0, entries.size()}, 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) roots_[nodes_[i].byte] = static_cast<std::uint32_t>(i);

  std::size_t depth = 0;
  for (std::size_t level_begin = 0; level_begin < nodes_.size();) {
    ++depth;
    const std::size_t level_end = nodes_.size();
    for (std::size_t i = level_begin; i < level_end; ++i) {
      Range range = ranges[i];
      // Entries that end here sort first; the lowest id of equal texts comes first among them.
      if (entries[range.begin].first.size() == depth) nodes_[i].id = entries[range.begin].second;
      while (range.begin < range.end && entries[range.begin].first.size() == depth) ++range.begin;
      const auto first_child = static_cast<std::uint32_t>(nodes_.size());
      const std::uint16_t children = append_children(range, depth);
      nodes_[i].first_child = first_child;
      nodes_[i].children = children;
    }
    level_begin = level_end;
  }
}

std::uint32_t PrefixTree::child(const Node& node, unsigned char byte) const {
  const auto begin = nodes_.begin() + node.first_child;
  const auto end = begin + node.children;
  const auto found = std::lower_bound(begin, end, byte, [](const Node& a, unsigned char b) { return a.byte < b; });
  return found == end || found->byte != byte ? kNone : static_cast<std::uint32_t>(found - nodes_.begin());
}

}  // namespace plm
