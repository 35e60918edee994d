#include "constraint/regular.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "text/unicode_class.h"

namespace plm {
namespace {

constexpr std::size_t kMembersPerNode = 8;  // what the limit of nodes allows alternations on average

std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) { return a > kUnbounded - b ? kUnbounded : a + b; }

std::uint32_t saturating_multiply(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{a} * b, kUnbounded));
}

std::uint64_t hash_of(const RegularStore::Node& node, std::span<const Regular> children) {
  std::uint64_t hash = mix_hash(static_cast<std::uint64_t>(node.kind), std::uint64_t{node.min} << 32U | node.max);
  if (children.empty()) return mix_hash(hash, std::uint64_t{node.first} << 32U | node.second);
  for (const Regular child : children) hash = mix_hash(hash, static_cast<std::uint32_t>(child));
  return hash;
}

}  // namespace

RegularStore::RegularStore(ConstraintLimits limits) : limits_(limits) {
  nodes_.push_back({.kind = Kind::nothing, .minimum = kNoLength});
  nodes_.push_back({.kind = Kind::empty, .nullable = true});
  row_places_.resize(nodes_.size());
}

Error RegularStore::exhaustion() const {
  return {ErrorKind::no_room,
          fmt::format("the constraint needs more than {} different regular expressions; make its repetitions, "
                      "intersections or exclusions simpler",
                      limits_.regular_nodes)};
}

// The one node like this. For alternations and intersections `first` and `second` say where the children lie.
Regular RegularStore::add(Node node, std::span<const Regular> children) {
  const std::uint64_t hash = hash_of(node, children);
  const auto found = index_.find(hash, [&](std::uint32_t id) {
    const Node& other = nodes_[id];
    if (other.kind != node.kind || other.min != node.min || other.max != node.max) return false;
    if (children.empty()) return other.first == node.first && other.second == node.second;
    return std::ranges::equal(this->children(other), children);
  });
  if (found) return static_cast<Regular>(*found);
  if (nodes_.size() >= limits_.regular_nodes || children_.size() >= kMembersPerNode * limits_.regular_nodes) {
    exhausted_ = true;
  }
  if (exhausted_) return Regular::nothing;
  if (!children.empty()) {
    node.first = static_cast<std::uint32_t>(children_.size());
    node.second = static_cast<std::uint32_t>(children.size());
    children_.insert(children_.end(), children.begin(), children.end());
  }
  describe(node, children);
  const auto id = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(node);
  row_places_.emplace_back();
  index_.insert(hash, id);
  return static_cast<Regular>(id);
}

// Whether the empty text is in the language, and how long a text is at least.
void RegularStore::describe(Node& node, std::span<const Regular> children) const {
  const auto child = [this](std::uint32_t id) -> const Node& { return nodes_[id]; };
  switch (node.kind) {
    case Kind::nothing:
    case Kind::empty:
    case Kind::state: break;  // described where it is made
    case Kind::bytes: node.minimum = 1; break;
    case Kind::concatenation: {
      const Node &head = child(node.first), &rest = child(node.second);
      node.nullable = head.nullable && rest.nullable;
      node.boolean = head.boolean || rest.boolean;
      node.minimum = saturating_add(head.minimum, rest.minimum);
      break;
    }
    case Kind::repeat: {
      const Node& body = child(node.first);
      node.nullable = node.min == 0 || body.nullable;
      node.boolean = body.boolean;
      node.minimum = saturating_multiply(body.minimum, node.min);
      break;
    }
    case Kind::complement:
      node.nullable = !child(node.first).nullable;
      node.boolean = true;
      node.minimum = node.nullable ? 0 : 1;
      break;
    case Kind::alternation:
      node.minimum = kNoLength;
      for (const Regular member : children) {
        node.nullable |= this->node(member).nullable;
        node.boolean |= this->node(member).boolean;
        node.minimum = std::min(node.minimum, this->node(member).minimum);
      }
      break;
    case Kind::intersection:
      node.nullable = node.boolean = true;
      for (const Regular member : children) {
        node.nullable &= this->node(member).nullable;
        node.minimum = std::max(node.minimum, this->node(member).minimum);
      }
      break;
  }
}

Regular RegularStore::bytes(const ByteSet& set) {
  if (set.empty()) return Regular::nothing;
  std::uint64_t hash = 0;
  for (const std::uint64_t word : set.words()) hash = mix_hash(hash, word);
  auto number = set_index_.find(hash, [&](std::uint32_t id) { return sets_[id] == set; });
  if (!number) {
    number = static_cast<std::uint32_t>(sets_.size());
    sets_.push_back(set);
    set_index_.insert(hash, *number);
  }
  return add({.kind = Kind::bytes, .first = *number});
}

Regular RegularStore::literal(std::string_view text) {
  Regular result = Regular::empty;
  for (auto byte = text.rbegin(); byte != text.rend(); ++byte) {
    const auto value = static_cast<unsigned char>(*byte);
    result = concatenate_two(bytes(ByteSet::range(value, value)), result);
  }
  return result;
}

Regular RegularStore::literals(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return literals_from(texts, 0);
}

// Of texts that agree in their first `depth` bytes, what follows those.
Regular RegularStore::literals_from(std::span<const std::string> sorted, std::size_t depth) {
  if (sorted.empty()) return Regular::nothing;
  if (sorted.size() == 1) return literal(std::string_view(sorted[0]).substr(depth));
  std::size_t common = depth;
  while (common < sorted.front().size() && sorted.front()[common] == sorted.back()[common]) ++common;
  std::vector<Regular> members;
  std::size_t at = 0;
  if (sorted.front().size() == common) members.push_back(Regular::empty), at = 1;
  while (at < sorted.size()) {
    std::size_t end = at + 1;
    while (end < sorted.size() && sorted[end][common] == sorted[at][common]) ++end;
    const auto byte = static_cast<unsigned char>(sorted[at][common]);
    const Regular rest = literals_from(sorted.subspan(at, end - at), common + 1);
    members.push_back(concatenate_two(bytes(ByteSet::range(byte, byte)), rest));
    at = end;
  }
  const Regular prefix = literal(std::string_view(sorted.front()).substr(depth, common - depth));
  return concatenate(prefix, alternate(members));
}

Regular RegularStore::characters(const CodePoints& set) {
  std::vector<Regular> members;
  for (const CodePointRange& range : set.ranges()) {
    char32_t first = range.first;
    for (const char32_t last : {U'\x7F', U'\x7FF', U'\xFFFF', U'\x10FFFF'}) {
      if (first > last || first > range.last) continue;
      members.push_back(utf8({first, std::min(range.last, last)}));
      first = std::min(range.last, last) + 1;
    }
  }
  return alternate(members);
}

// Of a range whose characters all take as many bytes.
Regular RegularStore::utf8(const CodePointRange& range) {
  std::string low, high;
  append_character(range.first, low);
  append_character(range.last, high);
  constexpr int kFirstMore = 0x80, kLastMore = 0xBF;
  const Regular more = bytes(ByteSet::range(0x80, 0xBF));
  const auto byte = [](char value) { return int{static_cast<unsigned char>(value)}; };
  // From the byte `at` on: texts from low to high, texts from low on, texts up to high, and any text.
  Regular within = Regular::empty, from = Regular::empty, to = Regular::empty, any = Regular::empty;
  for (std::size_t at = low.size(); at-- > 0;) {
    const int first = byte(low[at]), last = byte(high[at]);
    const auto then = [&](int begin, int end, Regular rest) {
      if (begin > end) return Regular::nothing;
      return concatenate_two(bytes(ByteSet::range(static_cast<unsigned>(begin), static_cast<unsigned>(end))), rest);
    };
    within = first == last
                 ? then(first, first, within)
                 : alternate({then(first, first, from), then(first + 1, last - 1, any), then(last, last, to)});
    from = alternate({then(first, first, from), then(first + 1, kLastMore, any)});
    to = alternate({then(kFirstMore, last - 1, any), then(last, last, to)});
    any = concatenate_two(more, any);
  }
  return within;
}

Regular RegularStore::concatenate(Regular a, Regular b) {
  std::vector<Regular> heads;
  while (node(a).kind == Kind::concatenation) {
    heads.push_back(static_cast<Regular>(node(a).first));
    a = static_cast<Regular>(node(a).second);
  }
  Regular result = concatenate_two(a, b);
  for (auto head = heads.rbegin(); head != heads.rend(); ++head) result = concatenate_two(*head, result);
  return result;
}

Regular RegularStore::concatenate(std::span<const Regular> parts) {
  Regular result = Regular::empty;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) result = concatenate(*part, result);
  return result;
}

// `head` is no concatenation itself.
Regular RegularStore::concatenate_two(Regular head, Regular rest) {
  if (head == Regular::nothing || rest == Regular::nothing) return Regular::nothing;
  if (head == Regular::empty) return rest;
  if (rest == Regular::empty) return head;
  const Node& first = node(head);
  if (first.kind == Kind::repeat) {  // x{a,b} x{c,d} is x{a+c,b+d}
    const bool longer = node(rest).kind == Kind::concatenation;
    const Node& second = longer ? nodes_[node(rest).first] : node(rest);
    if (second.kind == Kind::repeat && second.first == first.first) {
      const auto tail = longer ? static_cast<Regular>(node(rest).second) : Regular::empty;
      const Regular joined = repeat(static_cast<Regular>(first.first), saturating_add(first.min, second.min),
                                    saturating_add(first.max, second.max));
      return concatenate_two(joined, tail);
    }
  }
  return add({.kind = Kind::concatenation,
              .first = static_cast<std::uint32_t>(head),
              .second = static_cast<std::uint32_t>(rest)});
}

Regular RegularStore::repeat(Regular a, std::uint32_t min, std::uint32_t max) {
  if (max < min) return Regular::nothing;
  if (max == 0 || a == Regular::empty) return Regular::empty;
  if (a == Regular::nothing) return min == 0 ? Regular::empty : Regular::nothing;
  const Node& body = node(a);
  if (body.nullable) min = 0;
  if (min == 1 && max == 1) return a;
  if (body.kind == Kind::repeat) {
    const auto inner = static_cast<Regular>(body.first);
    // x{a,b}{c,d} is x{ac,bd} if no count between is left out, which the first gap decides.
    const std::uint64_t before_gap = body.max == kUnbounded ? kUnbounded : std::uint64_t{min} * body.max;
    const bool no_gap = min == max || (std::uint64_t{min} + 1) * body.min <= (min == 0 ? 0 : before_gap) + 1;
    if (no_gap) return repeat(inner, saturating_multiply(body.min, min), saturating_multiply(body.max, max));
  }
  if (min == 0 && max == 1) return alternate({a, Regular::empty});
  return add({.kind = Kind::repeat, .first = static_cast<std::uint32_t>(a), .min = min, .max = max});
}

Regular RegularStore::complement(Regular a) {
  if (node(a).kind == Kind::complement) return static_cast<Regular>(node(a).first);
  return add({.kind = Kind::complement, .first = static_cast<std::uint32_t>(a)});
}

// The members of `parts`, those of its own kind opened.
void RegularStore::gather(Kind kind, std::span<const Regular> parts, std::vector<Regular>& members) const {
  for (const Regular part : parts) {
    const Node& inner = node(part);
    if (inner.kind != kind) {
      members.push_back(part);
    } else {
      const auto inside = children(inner);
      members.insert(members.end(), inside.begin(), inside.end());
    }
  }
}

namespace {

void sort_unique(std::vector<Regular>& members) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
}

}  // namespace

// [a] t | [b] t is [ab] t, so that derivatives of classes of characters do not multiply.
void RegularStore::join_bytes_by_tail(std::vector<Regular>& members) {
  std::vector<std::pair<Regular, ByteSet>> tails;
  std::size_t kept = 0;
  for (const Regular member : members) {
    const Node& n = node(member);
    const bool longer = n.kind == Kind::concatenation && nodes_[n.first].kind == Kind::bytes;
    if (n.kind == Kind::bytes) {
      tails.emplace_back(Regular::empty, byte_set(n));
    } else if (longer) {
      tails.emplace_back(static_cast<Regular>(n.second), byte_set(nodes_[n.first]));
    } else {
      members[kept++] = member;
    }
  }
  members.resize(kept);
  std::sort(tails.begin(), tails.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.words()) < std::tuple(b.first, b.second.words());
  });
  for (std::size_t at = 0; at < tails.size();) {
    ByteSet set;
    const Regular tail = tails[at].first;
    while (at < tails.size() && tails[at].first == tail) set = set | tails[at++].second;
    members.push_back(concatenate_two(bytes(set), tail));
  }
}

// x{a,b} t | x{c,d} t is x{a,d} t where the counts meet, so that nested counters do not multiply.
void RegularStore::join_counts(std::vector<Regular>& members) {
  struct Counted {
    std::uint32_t body = 0;
    Regular tail = Regular::empty;
    std::uint32_t min = 0, max = 0;
  };
  std::vector<Counted> counted;
  std::size_t kept = 0;
  for (const Regular member : members) {
    const Node& n = node(member);
    const bool longer = n.kind == Kind::concatenation;
    const Node& head = longer ? nodes_[n.first] : n;
    if (head.kind == Kind::repeat) {
      counted.push_back({head.first, longer ? static_cast<Regular>(n.second) : Regular::empty, head.min, head.max});
    } else {
      members[kept++] = member;
    }
  }
  members.resize(kept);
  const auto key = [](const Counted& c) { return std::tuple(c.body, c.tail, c.min, c.max); };
  std::sort(counted.begin(), counted.end(), [&](const Counted& a, const Counted& b) { return key(a) < key(b); });
  for (std::size_t at = 0; at < counted.size();) {
    Counted joined = counted[at++];
    while (at < counted.size() && counted[at].body == joined.body && counted[at].tail == joined.tail &&
           counted[at].min <= saturating_add(joined.max, 1)) {
      joined.max = std::max(joined.max, counted[at++].max);
    }
    members.push_back(concatenate_two(repeat(static_cast<Regular>(joined.body), joined.min, joined.max), joined.tail));
  }
}

Regular RegularStore::alternate(std::span<const Regular> parts) {
  if (parts.size() == 2 && (parts[0] == parts[1] || parts[1] == Regular::nothing)) return parts[0];
  if (parts.size() == 2 && parts[0] == Regular::nothing) return parts[1];
  std::vector<Regular> members;
  gather(Kind::alternation, parts, members);
  std::erase(members, Regular::nothing);
  sort_unique(members);
  if (members.size() > 1) {
    join_bytes_by_tail(members);
    join_counts(members);
    sort_unique(members);
  }
  const bool others_nullable =
      std::ranges::any_of(members, [this](Regular member) { return member != Regular::empty && nullable(member); });
  if (others_nullable) std::erase(members, Regular::empty);
  for (const Regular member : members) {
    const Node& n = node(member);
    if (n.kind == Kind::complement && n.first == static_cast<std::uint32_t>(Regular::nothing)) return member;
  }
  if (members.empty()) return Regular::nothing;
  if (members.size() == 1) return members[0];
  return add({.kind = Kind::alternation}, members);
}

Regular RegularStore::intersect(std::span<const Regular> parts) {
  std::vector<Regular> members;
  gather(Kind::intersection, parts, members);
  sort_unique(members);
  std::erase_if(members, [this](Regular member) {  // everything: no condition
    return node(member).kind == Kind::complement && node(member).first == static_cast<std::uint32_t>(Regular::nothing);
  });
  if (members.empty()) return complement(Regular::nothing);
  ByteSet common = ByteSet::all();
  bool all_bytes = true;
  for (const Regular member : members) {
    const Node& n = node(member);
    if (member == Regular::nothing) return Regular::nothing;
    if (n.kind == Kind::bytes) common = common & byte_set(n);
    all_bytes &= n.kind == Kind::bytes;
    if (n.kind == Kind::complement && std::ranges::binary_search(members, static_cast<Regular>(n.first))) {
      return Regular::nothing;
    }
  }
  if (all_bytes) return bytes(common);
  if (members.front() == Regular::empty) {
    return std::ranges::all_of(members, [this](Regular member) { return nullable(member); }) ? Regular::empty
                                                                                             : Regular::nothing;
  }
  if (members.size() == 1) return members[0];
  return add({.kind = Kind::intersection}, members);
}

}  // namespace plm
