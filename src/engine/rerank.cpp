#include "engine/rerank.h"

#include <algorithm>

#include "base/portable_math.h"
#include "base/utf8.h"
#include "engine/embedding.h"

namespace plm {
namespace {

constexpr std::string_view kFormKey = "tokenizer.chat_template.rerank";
constexpr std::string_view kQwenForm =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: "
    "{instruction}\n<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

double logistic(double x) { return 1 / (1 + exp_f64(-x)); }

// The two answers of a model without a head.
struct Answers {
  TokenId yes = kNoToken, no = kNoToken;
};

Result<TokenId> answer_token(const Tokenizer& tokenizer, std::string_view word) {
  PLM_TRY_ASSIGN(const auto ids, tokenizer.encode(word, {.add_special = false}));
  if (ids.size() == 1) return ids.front();
  return fail(ErrorKind::usage, "answer \"{}\": {} tokens, expected one; name another word", printable(word, 40),
              ids.size());
}

struct Pair {
  std::string_view query, document;
};

// What a decoder is asked, in parts: words of the form, and places to be filled.
class Form {
 public:
  static Result<Form> of(const Engine& engine, const RerankOptions& options);
  [[nodiscard]] jinja::MarkedText fill(const Pair& pair) const;

 private:
  std::string text_, instruction_;
};

Result<Form> Form::of(const Engine& engine, const RerankOptions& options) {
  Form form;
  PLM_TRY_ASSIGN(const auto own, engine.vocabulary().file().optional_string(kFormKey));
  form.text_ = !options.form.empty() ? options.form : std::string(own.value_or(kQwenForm));
  form.instruction_ = options.instruction;
  for (const char* place : {"{query}", "{document}"}) {
    if (form.text_.find(place) != std::string::npos) continue;
    return fail(ErrorKind::usage, "form: has no {}; expected the places {{query}} and {{document}}", place);
  }
  return form;
}

// Only the words of the form may become control tokens.
jinja::MarkedText Form::fill(const Pair& pair) const {
  const std::pair<std::string_view, std::string_view> places[] = {
      {"{query}", pair.query}, {"{document}", pair.document}, {"{instruction}", instruction_}};
  jinja::MarkedText out;
  std::string_view rest = text_;
  while (!rest.empty()) {
    std::size_t at = rest.size();
    const std::pair<std::string_view, std::string_view>* next = nullptr;
    for (const auto& place : places) {
      const std::size_t found = rest.find(place.first);
      if (found >= at) continue;
      at = found;
      next = &place;
    }
    out.append(rest.substr(0, at), jinja::Origin::template_text);
    if (next == nullptr) break;
    out.append(next->second, jinja::Origin::input);
    rest.remove_prefix(at + next->first.size());
  }
  return out;
}

// The pair as a decoder reads it. The document is cut, never the words behind it.
Result<FramedText> frame_form(const Engine& engine, const Form& form, const Pair& pair, std::size_t most_tokens) {
  const Tokenizer& tokenizer = engine.tokenizer();
  PLM_TRY_ASSIGN(auto ids, tokenizer.encode(form.fill(pair), {.add_special = false}));
  FramedText framed{.tokens = std::move(ids)};
  if (framed.tokens.size() <= most_tokens) return framed;
  PLM_TRY_ASSIGN(const auto bare, tokenizer.encode(form.fill({pair.query, ""}), {.add_special = false}));
  if (bare.size() >= most_tokens) {
    return fail(ErrorKind::usage, "query: {} tokens with the words around it, at most {} are read; shorten it",
                bare.size(), most_tokens);
  }
  // Tokens at the cut may join differently; one document less than there is room for is always enough.
  PLM_TRY_ASSIGN(auto words, tokenizer.encode(pair.document, {.add_special = false}));
  words.resize(std::min(words.size(), most_tokens - bare.size()));
  for (;;) {
    const std::string cut = detokenize(engine.vocabulary(), words);
    PLM_TRY_ASSIGN(framed.tokens, tokenizer.encode(form.fill({pair.query, cut}), {.add_special = false}));
    if (framed.tokens.size() <= most_tokens || words.empty()) break;
    words.resize(words.size() - std::min(words.size(), framed.tokens.size() - most_tokens));
  }
  framed.is_cut = true;
  return framed;
}

Result<std::vector<FramedText>> frame(const Engine& engine, const RerankTask& task, const RerankOptions& options) {
  const std::size_t most =
      options.most_tokens > 0 ? std::min(options.most_tokens, engine.context_length()) : most_text_tokens(engine);
  // A decoder with a head and no form of its own reads two texts like an encoder.
  const bool has_form = !options.form.empty() || engine.vocabulary().file().find(kFormKey) != nullptr;
  const bool asks = engine.shape().is_causal && (has_form || engine.kind() == ModelKind::writer);
  std::optional<Form> form;
  if (asks) {
    PLM_TRY_ASSIGN(form, Form::of(engine, options));
  }
  std::vector<FramedText> framed;
  for (const std::string& document : task.documents) {
    auto one = form ? frame_form(engine, *form, {task.query, document}, most)
                    : frame_pair(engine.tokenizer(), task.query, document, most);
    const std::string where = fmt::format("document {}", framed.size() + 1);
    if (!one.has_value()) return tl::unexpected<Error>(one.error().within(where));
    if (one->is_cut && !options.cuts) {
      return fail(ErrorKind::usage, "{}: more than {} tokens with the query, which is what the model reads; shorten it",
                  where, most);
    }
    framed.push_back(std::move(*one));
  }
  return framed;
}

}  // namespace

double relevance(std::span<const float> logits, std::span<const std::string> labels) {
  if (logits.size() == 1) return logistic(logits[0]);
  PLM_CHECK(logits.size() == 2);
  const std::size_t yes = !labels.empty() && labels[0] == "yes" ? 0 : 1;
  return logistic(static_cast<double>(logits[yes]) - static_cast<double>(logits[1 - yes]));
}

Result<std::vector<Ranking>> rerank(Engine& engine, const RerankTask& task, const RerankOptions& options,
                                    const ReadingHooks& hooks) {
  const SequenceHead& head = engine.sequence_head();
  const bool has_head = head.gives_scores();
  if (has_head && head.outputs() > 2) {
    return fail(ErrorKind::usage,
                "this model sorts texts into {} kinds and does not rank; use plm reward for its scores",
                head.outputs());
  }
  Answers answers;
  if (!has_head) {
    PLM_TRY_ASSIGN(answers.yes, answer_token(engine.tokenizer(), options.yes));
    PLM_TRY_ASSIGN(answers.no, answer_token(engine.tokenizer(), options.no));
  }
  PLM_TRY_ASSIGN(const auto framed, frame(engine, task, options));
  std::vector<RowsWanted> wanted;
  for (const FramedText& text : framed) {
    wanted.push_back({&text, rows_for(has_head ? head.pooling() : Pooling::last, text.tokens.size()),
                      has_head ? YieldKind::hidden : YieldKind::logits});
  }
  std::vector<Ranking> rankings(task.documents.size());
  const auto take = [&](std::size_t index, std::vector<std::vector<float>> rows) -> Result<void> {
    Ranking& ranking = rankings[index];
    ranking = {.document = index, .tokens = framed[index].tokens.size(), .is_cut = framed[index].is_cut};
    if (has_head) {
      PLM_TRY_ASSIGN(ranking.logits, engine.apply_head(pooled(rows)));
    } else {
      const auto logit = [&](TokenId id) { return rows.front()[static_cast<std::size_t>(id)]; };
      ranking.logits = {logit(answers.no), logit(answers.yes)};
    }
    ranking.score = relevance(ranking.logits, head.labels());
    return {};
  };
  PLM_TRY(read_rows(engine, wanted, take, hooks));
  std::ranges::sort(rankings, [](const Ranking& a, const Ranking& b) {
    return a.score != b.score ? a.score > b.score : a.document < b.document;
  });
  return rankings;
}

}  // namespace plm
