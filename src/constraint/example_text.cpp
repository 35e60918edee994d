#include "constraint/example_text.h"

#include "base/philox.h"

namespace plm {
namespace {

constexpr double kEnds = 0.2;             // where the text may end
constexpr double kStaysPrintable = 0.97;  // where it may
constexpr std::size_t kLongestEnd = std::size_t{1} << 20U;

// The `index`th byte of a set.
std::uint8_t nth_byte(const ByteSet& set, std::size_t index) {
  unsigned byte = 0;
  while (!set.contains(static_cast<std::uint8_t>(byte)) || index-- > 0) ++byte;
  return static_cast<std::uint8_t>(byte);
}

}  // namespace

Result<std::string> example_text(Automaton& automaton, std::uint64_t seed, std::size_t length) {
  std::uint32_t draws = 0;
  const auto draw = [&] { return uniform({.seed = seed, .cell = draws++}); };
  StateId state = automaton.start();
  std::string text;
  while (text.size() < length) {
    const ByteSet next = automaton.next_bytes(state);
    if (automaton.accepts(state) && (next.empty() || draw() < kEnds)) return text;
    const ByteSet plain = next & ByteSet::range(' ', '~');
    const ByteSet& from = !plain.empty() && draw() < kStaysPrintable ? plain : next;
    if (from.empty()) break;
    const std::uint8_t byte = nth_byte(from, static_cast<std::size_t>(draw() * static_cast<double>(from.size())));
    text.push_back(static_cast<char>(byte));
    state = automaton.step(state, byte);
  }
  if (automaton.failure()) return tl::unexpected<Error>(*automaton.failure());
  PLM_TRY_ASSIGN(const auto end, automaton.completion(state, kLongestEnd));
  for (const Automaton::Piece& piece : end) {
    const auto* part = std::get_if<std::string>(&piece);
    if (part == nullptr) return fail(ErrorKind::bad_input, "the constraint asks for a token, which has no text");
    text += *part;
  }
  return text;
}

}  // namespace plm
