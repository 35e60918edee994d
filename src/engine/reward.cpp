#include "engine/reward.h"

#include <algorithm>

#include "base/utf8.h"
#include "engine/rerank.h"
#include "text/chat/chat_template.h"

namespace plm {
namespace {

std::vector<std::uint32_t> rows_of(const FramedText& text, TokenId token) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < text.tokens.size(); ++i) {
    if (text.tokens[i] == token) rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

std::vector<float> flattened(const std::vector<std::vector<float>>& rows) {
  std::vector<float> all;
  for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

}  // namespace

Result<std::vector<Reward>> reward(Engine& engine, std::span<const FramedText> texts, std::optional<TokenId> step,
                                   const ReadingHooks& hooks) {
  const SequenceHead& head = engine.sequence_head();
  if (!head.gives_scores()) {
    return fail(ErrorKind::usage,
                "this model has no head that scores; plm reward wants a reward model or a classifier");
  }
  std::vector<RowsWanted> wanted;
  for (const FramedText& text : texts) {
    const std::string where = fmt::format("text {}", wanted.size() + 1);
    if (text.tokens.empty()) return fail(ErrorKind::usage, "{}: empty; give some text", where);
    wanted.push_back({&text, step ? rows_of(text, *step) : rows_for(head.pooling(), text.tokens.size())});
    if (!wanted.back().rows.empty()) continue;
    return fail(ErrorKind::usage, "{}: no step in it: the token {} is not there", where,
                printable(engine.vocabulary().text(*step), 40));
  }
  std::vector<Reward> rewards(texts.size());
  const auto take = [&](std::size_t index, std::vector<std::vector<float>> rows) -> Result<void> {
    Reward& one = rewards[index];
    one.tokens = texts[index].tokens.size();
    one.is_cut = texts[index].is_cut;
    PLM_TRY_ASSIGN(const auto numbers, engine.apply_head(step ? flattened(rows) : pooled(rows)));
    const std::size_t outputs = head.outputs();
    for (std::size_t at = 0; step && at < numbers.size(); at += outputs) {
      const auto scores = std::span(numbers).subspan(at, outputs);
      one.steps.push_back(outputs == 2 ? relevance(scores) : scores.front());
    }
    one.scores.assign(numbers.end() - static_cast<std::ptrdiff_t>(outputs), numbers.end());
    return {};
  };
  PLM_TRY(read_rows(engine, wanted, take, hooks));
  return rewards;
}

Result<TokenId> step_token(const Engine& engine, std::string_view text) {
  PLM_TRY_ASSIGN(const auto ids, engine.tokenizer().encode(text, {.add_special = false, .parse_special = true}));
  if (ids.size() == 1) return ids.front();
  return fail(ErrorKind::usage, "step token \"{}\": {} tokens, expected one that the vocabulary has",
              printable(text, 40), ids.size());
}

Result<FramedText> frame_conversation(const Engine& engine, const Json& messages, std::string_view step_text) {
  PLM_TRY_ASSIGN(Conversation conversation, Conversation::parse(messages));
  conversation.add_generation_prompt = false;  // nothing is to be answered
  PLM_TRY_ASSIGN(auto source, chat_template_of(engine.vocabulary()));
  PLM_TRY_ASSIGN(const ChatTemplate chat_template, ChatTemplate::create(std::move(source), engine.vocabulary()));
  PLM_TRY_ASSIGN(const ChatPrompt prompt, chat_template.render(conversation));
  jinja::MarkedText marked;
  const std::string& text = prompt.text.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = step_text.empty() ? std::string::npos : text.find(step_text, at);
    const std::size_t end = std::min(found, text.size());
    marked.append(prompt.text, at, end);
    if (found != std::string::npos) marked.append(step_text, jinja::Origin::template_text);
    at = found == std::string::npos ? text.size() : end + step_text.size();
  }
  PLM_TRY_ASSIGN(auto tokens, engine.tokenizer().encode(marked, {.add_special = false}));
  return FramedText{.tokens = std::move(tokens)};
}

}  // namespace plm
