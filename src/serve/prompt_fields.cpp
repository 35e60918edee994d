#include "serve/prompt_fields.h"

#include <algorithm>

#include "base/utf8.h"
#include "engine/infill.h"
#include "serve/text_fields.h"
#include "text/detokenizer.h"

namespace plm {
namespace {

bool is_id_list(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& id) { return id.is_number_integer(); });
}

Result<TextPrompt> ids_prompt(const ServedModel& model, const Json& ids) {
  TextPrompt prompt;
  for (const Json& id : ids) {
    const bool fits = id.is_number_integer() && id >= 0 && id < model.vocabulary().size();
    if (!fits) {
      return fail(ErrorKind::usage, "found {}, expected the id of a token, from 0 to {}", printable(json_text(id), 40),
                  model.vocabulary().size() - 1);
    }
    prompt.tokens.push_back(id.get<TokenId>());
  }
  prompt.text = detokenize(model.vocabulary(), prompt.tokens, {.show_special = true});
  return prompt;
}

// Texts and ids mixed: one prompt of all of them.
Result<TextPrompt> mixed_prompt(const ServedModel& model, const Json& parts, bool add_special) {
  TextPrompt prompt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_text = parts[i].is_string();
    PLM_TRY_ASSIGN(TextPrompt part, is_text ? text_prompt(model, parts[i].get<std::string>(), add_special && i == 0)
                                            : ids_prompt(model, Json::array({parts[i]})));
    prompt.tokens.insert(prompt.tokens.end(), part.tokens.begin(), part.tokens.end());
    prompt.text += part.text;
  }
  return prompt;
}

Result<TextPrompt> one_prompt(const ServedModel& model, const Json& value, bool add_special) {
  if (value.is_string()) return text_prompt(model, value.get<std::string>(), add_special);
  if (value.is_object() && value.contains("prompt_string") && value["prompt_string"].is_string()) {
    return text_prompt(model, value["prompt_string"].get<std::string>(), add_special);
  }
  if (is_id_list(value)) return ids_prompt(model, value);
  if (value.is_array()) return mixed_prompt(model, value, add_special);
  return fail(ErrorKind::usage, "found {}, expected a text or an array of token ids", printable(json_text(value), 80));
}

}  // namespace

Result<TextPrompt> text_prompt(const ServedModel& model, std::string_view text, bool add_special) {
  TextPrompt prompt{.tokens = {}, .text = std::string(text)};
  // Prompts are written by clients that serialise conversations themselves: control tokens may be spelled in them.
  PLM_TRY_ASSIGN(prompt.tokens, model.tokenizer().encode(text, {.add_special = add_special, .parse_special = true}));
  // What an encoder expects behind a text would end it before the page.
  const std::vector<TokenId>& after = model.tokenizer().surroundings().after;
  const bool is_ended = add_special && model.engine.diffusion().has_value() && prompt.tokens.size() >= after.size();
  if (is_ended) prompt.tokens.resize(prompt.tokens.size() - after.size());
  return prompt;
}

Result<void> read_prompts(const RequestFields& fields, std::string_view field, const ServedModel& model,
                          TextPlan& plan) {
  const Json* value = fields.find(field);
  if (value == nullptr) return fail(ErrorKind::usage, "{}: missing, expected a text", field);
  const bool add_special = fields.boolean("add_bos_token", true);
  const auto add = [&](const Json& one, const std::string& where) -> Result<void> {
    auto prompt = one_prompt(model, one, add_special);
    if (!prompt.has_value()) return tl::unexpected<Error>(prompt.error().within(where));
    plan.prompts.push_back(*std::move(prompt));
    return {};
  };
  const auto holds = [&](auto is) { return value->is_array() && !value->empty() && std::ranges::all_of(*value, is); };
  const bool has_several = holds([](const Json& one) { return one.is_string() || one.is_array() || one.is_object(); });
  if (!has_several) return add(*value, std::string(field));
  if (value->size() > kTextLimits.prompts) {
    return fail(ErrorKind::usage, "{}: {} prompts, expected at most {}", field, value->size(), kTextLimits.prompts);
  }
  for (std::size_t i = 0; i < value->size(); ++i) PLM_TRY(add((*value)[i], fmt::format("{}[{}]", field, i)));
  return {};
}

Result<void> set_hole(std::string_view before, std::string_view behind, const ServedModel& model, TextPlan& plan) {
  TextPrompt prompt;
  if (plan.fills_page) {
    const std::size_t length = std::min<std::size_t>(plan.basis.max_tokens, model.engine.context_length());
    const HoleyText text{.texts = {std::string(before), std::string(behind)},
                         .lengths = {std::max<std::size_t>(1, length)}};
    PLM_TRY_ASSIGN(GivenAndHoles parts, encode_holes(model.tokenizer(), text, {}));
    prompt.tokens = std::move(parts.given);
    plan.basis.holes = std::move(parts.holes);
  } else if (fills_in_the_middle(model.vocabulary())) {
    PLM_TRY_ASSIGN(prompt.tokens, fill_in_the_middle_prompt(model.tokenizer(), before, behind, {}));
  } else {
    return fail(ErrorKind::usage, "suffix: this model was not made to fill in the middle; leave it out");
  }
  prompt.text = std::string(before);
  plan.prompts = {std::move(prompt)};
  return {};
}

Result<void> read_conversation(const Json& body, const ServedModel& model, TextPlan& plan) {
  PLM_TRY_ASSIGN(const ChatTemplate* chat_template, model.conversation_template());
  PLM_TRY_ASSIGN(const Conversation conversation, Conversation::parse(body));
  PLM_TRY_ASSIGN(const ChatPrompt prompt, chat_template->render(conversation));
  PLM_TRY_ASSIGN(auto tokens, model.tokenizer().encode(prompt.text, {.add_special = false, .parse_special = false}));
  plan.prompts = {{.tokens = std::move(tokens), .text = std::string(prompt.text.text())}};
  plan.splits_thinking = true;
  plan.thinking = chat_template->thinking();
  plan.begins_thinking = prompt.begins_thinking;
  plan.report.notes.insert(plan.report.notes.end(), prompt.notes.begin(), prompt.notes.end());
  return {};
}

Result<std::vector<std::string>> texts_of(const RequestFields& fields, std::string_view field,
                                          const ServedModel& model) {
  const Json* value = fields.find(field);
  if (value == nullptr) return fail(ErrorKind::usage, "{}: missing, expected a text or an array of texts", field);
  const bool is_one = !value->is_array() || (is_id_list(*value) && !value->empty());
  const Json list = is_one ? Json::array({*value}) : *value;
  if (list.empty() || list.size() > kTextLimits.prompts) {
    return fail(ErrorKind::usage, "{}: {} texts, expected 1 to {}", field, list.size(), kTextLimits.prompts);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& one = list[i];
    if (one.is_string()) {
      texts.push_back(one.get<std::string>());
    } else if (is_id_list(one)) {
      PLM_TRY_ASSIGN(const TextPrompt prompt, ids_prompt(model, one));
      texts.push_back(detokenize(model.vocabulary(), prompt.tokens));
    } else {
      return fail(ErrorKind::usage, "{}[{}]: found {}, expected a text", field, i, printable(json_text(one), 80));
    }
  }
  return texts;
}

Result<std::vector<TokenId>> ids_of(const RequestFields& fields, std::string_view field, const ServedModel& model) {
  const Json* ids = fields.find(field);
  if (ids == nullptr) return fail(ErrorKind::usage, "{}: missing, expected ids of tokens", field);
  auto prompt = ids_prompt(model, *ids);
  if (!prompt.has_value()) return tl::unexpected<Error>(prompt.error().within(field));
  return std::move(prompt->tokens);
}

}  // namespace plm
