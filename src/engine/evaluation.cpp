#include "engine/evaluation.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace plm {
namespace {

constexpr std::size_t kMostItems = 1U << 20;
constexpr std::size_t kMostLength = 1U << 16;

Result<std::string> text_of(const Json& line, const char* key, const std::string& where) {
  if (!line.contains(key) || !line[key].is_string()) {
    return fail(ErrorKind::bad_input, "{}: {}: missing or no text", where, key);
  }
  return line[key].get<std::string>();
}

Result<EvalItem> parse_item(const Json& line, const std::string& where) {
  if (!line.is_object()) {
    return fail(ErrorKind::bad_input, "{}: expected an object with task, prompt, and answer or matches", where);
  }
  EvalItem item;
  PLM_TRY_ASSIGN(item.task, text_of(line, "task", where));
  PLM_TRY_ASSIGN(item.prompt, text_of(line, "prompt", where));
  if (line.contains("matches")) {
    PLM_TRY_ASSIGN(const std::string expression, text_of(line, "matches", where));
    auto pattern = Pattern::compile("^(?:" + expression + ")$");
    if (!pattern.has_value()) return tl::unexpected<Error>(pattern.error().within(where + ": matches"));
    item.matches = std::move(*pattern);
  } else {
    PLM_TRY_ASSIGN(item.answer, text_of(line, "answer", where));
  }
  if (!line.contains("length")) return item;
  const Json& length = line["length"];
  if (!length.is_number_unsigned() || length.get<std::uint64_t>() == 0 || length.get<std::uint64_t>() > kMostLength) {
    return fail(ErrorKind::bad_input, "{}: length: expected a number of tokens from 1 to {}", where, kMostLength);
  }
  item.length = length.get<std::size_t>();
  return item;
}

// One text while it is written.
struct Writing {
  EvalText* to = nullptr;
  std::unique_ptr<Generation> generation;  // last, so that it goes first

  void on_event(const Event& event) {
    to->cost.on_event(event);
    if (event.kind == EventKind::pass_ran) ++to->passes;
    if (event.kind == EventKind::stable_prefix) to->text += event.text;
  }
};

Result<void> write_some(Engine& engine, std::span<EvalText> texts, const GenerationRequest& base,
                        const EvalHooks& hooks) {
  std::vector<std::unique_ptr<Writing>> writings;
  for (EvalText& text : texts) {
    Writing& writing = *writings.emplace_back(std::make_unique<Writing>());
    writing.to = &text;
    GenerationRequest request = base;
    PLM_TRY_ASSIGN(request.prompt, engine.tokenizer().encode(text.item->prompt, {.add_special = true}));
    request.max_tokens = text.item->length;
    request.listener = [&writing](const Event& event) { writing.on_event(event); };
    PLM_TRY_ASSIGN(writing.generation, engine.start(std::move(request)));
  }
  PLM_TRY(engine.run(hooks.interrupted));
  for (const auto& writing : writings) {
    if (!writing->generation->done()) return fail(ErrorKind::interrupted, "evaluation: interrupted");
    PLM_TRY_ASSIGN(const DecodeOutcome outcome, writing->generation->take());
    EvalText& text = *writing->to;
    text.useful_tokens = std::min(outcome.tokens.size() + 1, text.item->length);
    PLM_TRY_ASSIGN(text.is_right, text.item->accepts(text.text));
  }
  return {};
}

}  // namespace

Result<bool> EvalItem::accepts(const std::string& text) const {
  if (!matches.has_value()) return text == answer;
  PatternSearch search(text.size());
  PLM_TRY_ASSIGN(const auto found, matches->find(text, 0, search));
  return found.has_value();
}

Result<std::vector<EvalItem>> parse_eval_items(std::string_view text, const std::string& name) {
  std::vector<EvalItem> items;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string where = fmt::format("{}: line {}", name, ++number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (items.size() == kMostItems) return fail(ErrorKind::bad_input, "{}: more than {} prompts", name, kMostItems);
    PLM_TRY_ASSIGN(const Json json, parse_json(line, where));
    PLM_TRY_ASSIGN(EvalItem item, parse_item(json, where));
    items.push_back(std::move(item));
  }
  if (items.empty()) return fail(ErrorKind::bad_input, "{}: holds no prompt; expected a JSON object a line", name);
  return items;
}

void EvalTally::add(const EvalText& text) {
  ++texts;
  right += text.is_right ? 1 : 0;
  passes += text.passes;
  useful_tokens += text.useful_tokens;
}

Interval wilson_interval(std::size_t right, std::size_t all) {
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(all);
  const double share = static_cast<double>(right) / n, scale = 1 + z * z / n;
  const double middle = (share + z * z / (2 * n)) / scale;
  const double reach = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale;
  return {std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

std::vector<EvalTally> tallies(std::span<const EvalText> texts) {
  std::vector<EvalTally> all;
  for (const EvalText& text : texts) {
    auto found = std::ranges::find(all, text.item->task, &EvalTally::task);
    if (found == all.end()) found = all.insert(all.end(), EvalTally{.task = text.item->task});
    found->add(text);
  }
  return all;
}

double harmonic_tokens_per_pass(std::span<const EvalTally> tallies) {
  double passes = 0;  // of one token of each task
  for (const EvalTally& tally : tallies) passes += 1 / tally.tokens_per_pass();
  return static_cast<double>(tallies.size()) / passes;
}

Result<std::vector<EvalText>> evaluate(Engine& engine, std::span<const EvalItem> items, const GenerationRequest& base,
                                       const EvalHooks& hooks) {
  std::vector<EvalText> texts(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) texts[i].item = &items[i];
  for (std::size_t first = 0; first < items.size();) {
    const std::size_t count = std::min(items.size() - first, engine.most_sequences());
    const Result<void> written = write_some(engine, std::span(texts).subspan(first, count), base, hooks);
    if (!written.has_value()) {
      return tl::unexpected<Error>(written.error().within(fmt::format("prompts {} to {}", first + 1, first + count)));
    }
    first += count;
    if (hooks.on_progress) hooks.on_progress(static_cast<double>(first) / static_cast<double>(items.size()));
  }
  return texts;
}

}  // namespace plm
