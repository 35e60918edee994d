#include "engine/framed_text.h"

#include <algorithm>
#include <utility>

namespace plm {
namespace {

Result<std::vector<TokenId>> encode_inside(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {.add_special = false});
}

// Room for words beside `around` tokens.
Result<std::size_t> room_for(std::size_t most_tokens, std::size_t around) {
  if (most_tokens > around) return most_tokens - around;
  return fail(ErrorKind::usage,
              "text: at most {} tokens are to be read, but {} stand around every text; raise --context", most_tokens,
              around);
}

// Lengths of two texts that together have at most `room` tokens: the longer one loses first.
std::pair<std::size_t, std::size_t> cut_lengths(std::size_t first, std::size_t second, std::size_t room) {
  if (first + second <= room) return {first, second};
  const std::size_t few = std::min(std::min(first, second), room / 2);
  return first <= second ? std::pair(few, room - few) : std::pair(room - few, few);
}

}  // namespace

Result<FramedText> frame_text(const Tokenizer& tokenizer, std::string_view text, std::size_t most_tokens) {
  const Surroundings& around = tokenizer.surroundings();
  PLM_TRY_ASSIGN(const std::size_t room, room_for(most_tokens, around.before.size() + around.after.size()));
  PLM_TRY_ASSIGN(auto inside, encode_inside(tokenizer, text));
  FramedText framed{.tokens = around.before, .is_cut = inside.size() > room};
  inside.resize(std::min(inside.size(), room));
  framed.tokens.insert(framed.tokens.end(), inside.begin(), inside.end());
  framed.tokens.insert(framed.tokens.end(), around.after.begin(), around.after.end());
  return framed;
}

Result<FramedText> frame_pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second,
                              std::size_t most_tokens) {
  const Surroundings& around = tokenizer.surroundings();
  PLM_TRY_ASSIGN(const std::size_t room,
                 room_for(most_tokens, around.before.size() + around.between.size() + around.after.size()));
  PLM_TRY_ASSIGN(auto left, encode_inside(tokenizer, first));
  PLM_TRY_ASSIGN(auto right, encode_inside(tokenizer, second));
  const auto [left_size, right_size] = cut_lengths(left.size(), right.size(), room);
  FramedText framed{.tokens = around.before, .is_cut = left_size < left.size() || right_size < right.size()};
  left.resize(left_size);
  right.resize(right_size);
  framed.tokens.insert(framed.tokens.end(), left.begin(), left.end());
  framed.tokens.insert(framed.tokens.end(), around.between.begin(), around.between.end());
  framed.types.assign(framed.tokens.size(), 0);
  framed.tokens.insert(framed.tokens.end(), right.begin(), right.end());
  framed.tokens.insert(framed.tokens.end(), around.after.begin(), around.after.end());
  framed.types.resize(framed.tokens.size(), around.second_type ? 1 : 0);
  return framed;
}

}  // namespace plm
