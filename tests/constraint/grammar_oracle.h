// Whether a grammar has a text, the slow and plain way: all ends of every part at every place. An oracle that shares
// nothing with the matcher but the representation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "constraint/grammar.h"

namespace plm::testing {

class GrammarOracle {
 public:
  explicit GrammarOracle(Grammar& grammar) : grammar_(grammar) {}

  bool accepts(std::string_view text) {
    text_ = text;
    known_.clear();
    return ends(grammar_.root(), 0).contains(text.size());
  }

 private:
  using Ends = std::set<std::size_t>;

  // By value: the memory of earlier answers moves while later ones are found.
  Ends ends(Part part, std::size_t from) {
    const auto key = std::pair(static_cast<std::uint32_t>(part), from);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Ends result = find_ends(part, from);
    known_.emplace(key, result);
    return result;
  }

  Ends find_ends(Part part, std::size_t from) {
    const Grammar::Node node = grammar_.node(part);
    switch (node.kind) {
      case Grammar::Kind::empty: return {from};
      case Grammar::Kind::nothing:
      case Grammar::Kind::token: return {};
      case Grammar::Kind::regular: return regular_ends(static_cast<Regular>(node.first), from);
      case Grammar::Kind::rule: return ends(grammar_.rule(static_cast<RuleId>(node.first)).body, from);
      case Grammar::Kind::sequence: {
        Ends at{from};
        for (const Part child : grammar_.children(node)) at = step(child, at);
        return at;
      }
      case Grammar::Kind::choice: {
        Ends all;
        for (const Part child : grammar_.children(node)) all.merge(ends(child, from));
        return all;
      }
      case Grammar::Kind::repeat: return repeat_ends(node, from);
    }
    return {};
  }

  Ends step(Part part, const Ends& at) {
    Ends next;
    for (const std::size_t place : at) next.merge(ends(part, place));
    return next;
  }

  Ends repeat_ends(const Grammar::Node& node, std::size_t from) {
    Ends at{from}, all;
    if (node.min == 0) all.insert(from);
    std::set<Ends> seen;
    for (std::uint32_t count = 1; count <= node.max && !at.empty(); ++count) {
      at = step(static_cast<Part>(node.first), at);
      if (count >= node.min) all.insert(at.begin(), at.end());
      if (count >= node.min && !seen.insert(at).second) break;
    }
    return all;
  }

  Ends regular_ends(Regular regular, std::size_t from) {
    Ends found;
    for (std::size_t i = from;; ++i) {
      if (grammar_.regular().nullable(regular)) found.insert(i);
      if (i >= text_.size() || regular == Regular::nothing) break;
      regular = grammar_.regular().derivative(regular, static_cast<std::uint8_t>(text_[i]));
    }
    return found;
  }

  Grammar& grammar_;
  std::string_view text_;
  std::map<std::pair<std::uint32_t, std::size_t>, Ends> known_;
};

}  // namespace plm::testing
