// What a text goes on from, in the shapes that clients send: texts, token ids, both, many of them, a hole between two
// texts, a conversation. Tested by tests/serve/test_text_fields.cpp and tests/serve/dialects/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/field.h"
#include "serve/served_model.h"
#include "serve/text_plan.h"

namespace plm {

/// `prompt`: a text, an array of token ids, or an array of those; of one text also ids and texts mixed. Errors (usage)
/// begin with the field's name.
Result<void> read_prompts(const RequestFields& fields, std::string_view field, const ServedModel& model,
                          TextPlan& plan);
/// One prompt from text. `parse_special`: control tokens may be spelled in it.
Result<TextPrompt> text_prompt(const ServedModel& model, std::string_view text, bool add_special);
/// A hole between two texts, filled as the model was made to.
Result<void> set_hole(std::string_view before, std::string_view behind, const ServedModel& model, TextPlan& plan);
/// The prompt of a conversation; `body` as Conversation::parse takes it.
Result<void> read_conversation(const Json& body, const ServedModel& model, TextPlan& plan);

/// Texts to be embedded: a text, an array of texts, token ids or arrays of them. Errors (usage) begin with the field's
/// name.
Result<std::vector<std::string>> texts_of(const RequestFields& fields, std::string_view field,
                                          const ServedModel& model);

/// A list of token ids. Errors (usage) begin with the field's name.
Result<std::vector<TokenId>> ids_of(const RequestFields& fields, std::string_view field, const ServedModel& model);

}  // namespace plm
