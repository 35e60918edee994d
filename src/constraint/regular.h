// Regular languages over bytes: expressions that are built once each (equal expressions have equal numbers), with
// intersection and complement, and their derivatives, from which an automaton grows only where somebody looks.
//
// After Brzozowski, "Derivatives of Regular Expressions" (1964) and Owens, Reppy, Turon, "Regular-expression
// derivatives re-examined" (2009). Alternatives are kept sorted, without repetitions and with equal tails joined, so
// that the derivatives of an expression are finitely many; a repetition is a counter and is never written out.
// What must stay true: an expression without intersection and complement is kNothing or has a text; `row` agrees with
// `derivative`; numbers never change. Not thread-safe: every call may add expressions.
// Tested by tests/constraint/test_regular.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "constraint/byte_set.h"
#include "constraint/code_points.h"
#include "constraint/id_table.h"
#include "constraint/limits.h"

namespace plm {

/// An expression of one RegularStore.
enum class Regular : std::uint32_t {
  nothing = 0,  ///< no text at all
  empty = 1,    ///< the empty text
};

inline constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();
/// Length of the shortest text of a language that has none.
inline constexpr std::uint32_t kNoLength = std::numeric_limits<std::uint32_t>::max();

class RegularStore {
 public:
  explicit RegularStore(ConstraintLimits limits = {});

  // Building. Past Limits::regular_nodes every new expression is `nothing` and exhausted() is true: check it at the
  // end.
  [[nodiscard]] Regular bytes(const ByteSet& set);
  [[nodiscard]] Regular literal(std::string_view text);
  /// One of these texts, as a tree of their beginnings: thousands are fine.
  [[nodiscard]] Regular literals(std::vector<std::string> texts);
  /// One character in UTF-8.
  [[nodiscard]] Regular characters(const CodePoints& set);
  [[nodiscard]] Regular any_character() { return characters(CodePoints::all()); }
  /// Any well-formed UTF-8.
  [[nodiscard]] Regular any_text() { return star(any_character()); }

  [[nodiscard]] Regular concatenate(Regular a, Regular b);
  [[nodiscard]] Regular concatenate(std::span<const Regular> parts);
  [[nodiscard]] Regular concatenate(std::initializer_list<Regular> parts) {
    return concatenate(std::span(parts.begin(), parts.size()));
  }
  [[nodiscard]] Regular alternate(std::span<const Regular> parts);
  [[nodiscard]] Regular alternate(std::initializer_list<Regular> parts) {
    return alternate(std::span(parts.begin(), parts.size()));
  }
  [[nodiscard]] Regular intersect(std::span<const Regular> parts);
  [[nodiscard]] Regular intersect(std::initializer_list<Regular> parts) {
    return intersect(std::span(parts.begin(), parts.size()));
  }
  /// Every text of bytes that is not in `a`; intersect it with any_text() where UTF-8 is meant.
  [[nodiscard]] Regular complement(Regular a);
  /// In `a` and not in `b`.
  [[nodiscard]] Regular difference(Regular a, Regular b) { return intersect({a, complement(b)}); }
  /// From `min` to `max` times (kUnbounded: any number); `nothing` if max < min.
  [[nodiscard]] Regular repeat(Regular a, std::uint32_t min, std::uint32_t max);
  [[nodiscard]] Regular star(Regular a) { return repeat(a, 0, kUnbounded); }
  [[nodiscard]] Regular plus(Regular a) { return repeat(a, 1, kUnbounded); }
  [[nodiscard]] Regular optional(Regular a) { return repeat(a, 0, 1); }

  /// One state of an automaton that is made elsewhere: the bytes up to `last` of each run (the last run ends at 255)
  /// lead to the state `target`, or nowhere (kNoState).
  struct State {
    struct Run {
      std::uint8_t last = 0;
      std::uint32_t target = 0;
    };
    bool accepts = false;
    std::vector<Run> runs;
  };
  static constexpr std::uint32_t kNoState = std::numeric_limits<std::uint32_t>::max();
  /// The texts that lead from the first state to one that accepts; every state is an expression of its own.
  [[nodiscard]] Regular automaton(std::span<const State> states);

  // Asking.
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  /// The error to return where exhausted() is true.
  [[nodiscard]] Error exhaustion() const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Whether the empty text is in the language.
  [[nodiscard]] bool nullable(Regular a) const { return node(a).nullable; }
  /// What may follow `byte`.
  [[nodiscard]] Regular derivative(Regular a, std::uint8_t byte);
  [[nodiscard]] bool matches(Regular a, std::string_view text);

  /// Every derivative of an expression: the bytes up to `last` (after those of the run before) lead to `target`.
  struct Run {
    std::uint8_t last = 0;
    Regular target = Regular::nothing;
  };
  /// Valid until the next call that may add expressions.
  [[nodiscard]] std::span<const Run> row(Regular a);

  // Questions that may need a search. Errors: no_room (more than Limits::search_steps expressions, or too many in all).
  [[nodiscard]] Result<bool> is_nothing(Regular a);
  /// Bytes of the shortest text; kNoLength if there is none.
  [[nodiscard]] Result<std::uint32_t> shortest(Regular a);
  /// A shortest text, the smallest such in byte order; nullopt if the language has none.
  [[nodiscard]] Result<std::optional<std::string>> shortest_text(Regular a);
  /// Whether every text of `inner` is in `outer`.
  [[nodiscard]] Result<bool> contains(Regular outer, Regular inner);
  [[nodiscard]] Result<bool> disjoint(Regular a, Regular b) { return is_nothing(intersect({a, b})); }
  /// Every text, sorted; nullopt if there are more than `most` (or infinitely many).
  [[nodiscard]] Result<std::optional<std::vector<std::string>>> texts(Regular a, std::size_t most);

  // The shape of an expression, for those who walk over it.
  enum class Kind : std::uint8_t {
    nothing,
    empty,
    bytes,
    concatenation,
    alternation,
    intersection,
    complement,
    repeat,
    state
  };
  struct Node {
    Kind kind = Kind::nothing;
    bool nullable = false;
    bool boolean = false;      // has an intersection or a complement inside: `minimum` is only a lower bound
    std::uint32_t first = 0;   // bytes: number of the set; concatenation, complement, repeat: child; else into children
    std::uint32_t second = 0;  // concatenation: the rest; alternation, intersection: how many children; state: which
    std::uint32_t min = 0, max = 0;  // repeat
    std::uint32_t minimum = 0;       // bytes of the shortest text
  };
  [[nodiscard]] const Node& node(Regular a) const { return nodes_[static_cast<std::uint32_t>(a)]; }
  [[nodiscard]] const ByteSet& byte_set(const Node& node) const { return sets_[node.first]; }
  [[nodiscard]] std::span<const Regular> children(const Node& node) const {
    return std::span(children_).subspan(node.first, node.second);
  }
  [[nodiscard]] const ConstraintLimits& limits() const { return limits_; }
  /// Every set of bytes that some expression reads: bytes that no set tells apart behave alike everywhere.
  [[nodiscard]] std::span<const ByteSet> byte_sets() const { return sets_; }

 private:
  struct RowPlace {
    std::uint32_t begin = kUnbounded;
    std::uint32_t size = 0;
  };
  using Row = std::vector<Run>;

  Regular add(Node node, std::span<const Regular> children = {});
  void describe(Node& node, std::span<const Regular> children) const;
  Regular concatenate_two(Regular head, Regular rest);
  void gather(Kind kind, std::span<const Regular> parts, std::vector<Regular>& members) const;
  void join_bytes_by_tail(std::vector<Regular>& members);
  void join_counts(std::vector<Regular>& members);
  Regular literals_from(std::span<const std::string> sorted, std::size_t depth);
  Regular utf8(const CodePointRange& range);
  void push_missing_rows(Regular a, std::vector<Regular>& pending) const;
  [[nodiscard]] bool has_row(Regular a) const;
  Row compute_row(Regular a);
  Row merged(std::span<const Row> rows, Kind kind);
  [[nodiscard]] Row kept_row(Regular a) const;
  void keep_row(Regular a, const Row& row);
  [[nodiscard]] std::optional<std::uint32_t> known_shortest(Regular a) const;
  Result<std::uint32_t> search_shortest(Regular a);

  ConstraintLimits limits_;
  bool exhausted_ = false;
  std::vector<Node> nodes_;
  std::vector<Regular> children_;
  std::vector<ByteSet> sets_;
  IdTable index_;      // of nodes
  IdTable set_index_;  // of sets
  std::vector<RowPlace> row_places_;
  std::vector<Run> runs_;
  std::unordered_map<Regular, std::uint32_t> lengths_;  // shortest texts found by a search
};

}  // namespace plm
