// plm template: a conversation as the model sees it. Tested by tests/cli/test_chat.py.
#include <algorithm>

#include "base/json.h"
#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_store.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    kChatTemplateFlag,
    kTemplateVariablesFlag,
    kThinkingFlag,
    kSpecialInMessagesFlag,
    {.name = "no_generation_prompt",
     .summary = "without the words that ask the model to answer",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "source",
     .summary = "prints the template itself, and nothing else",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json", .summary = "one JSON object", .type = ParameterType::boolean, .tag = Tag::pipe},
    kModelFlag,
};
constexpr Argument kArguments[] = {
    kModelArgument,
    {"MESSAGES",
     "a JSON file: an array of messages, or an object with messages and tools as in a chat completions request; - or "
     "not given is standard input",
     false},
};

Result<Conversation> read_conversation(const Invocation& call) {
  const std::string name = call.arguments.size() > 1 ? call.argument(1) : "-";
  PLM_TRY_ASSIGN(const std::string text, read_text(name));
  const std::string shown = name == "-" ? "standard input" : name;
  PLM_TRY_ASSIGN(const Json request, parse_json(text, shown));
  auto conversation = Conversation::parse(request);
  if (!conversation.has_value()) return fail(ErrorKind::bad_input, "{}: {}", shown, conversation.error().message);
  PLM_TRY(apply_chat_flags(call.settings, *conversation));
  if (call.settings.boolean("no_generation_prompt")) conversation->add_generation_prompt = false;
  return conversation;
}

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto file, GgufFile::open(path, {.least_tensors = 0}));
  PLM_TRY_ASSIGN(const auto tokenizer, Tokenizer::load(file));
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  PLM_TRY_ASSIGN(const ChatTemplate chat_template, load_chat_template(call, vocabulary));
  if (call.settings.boolean("source")) {
    call.terminal.data(chat_template.source().text + "\n");
    return 0;
  }
  PLM_TRY_ASSIGN(const Conversation conversation, read_conversation(call));
  PLM_TRY_ASSIGN(const ChatPrompt prompt, chat_template.render(conversation));
  PLM_TRY_ASSIGN(const std::vector<TokenId> ids, encode_prompt(prompt, *tokenizer, call.settings));

  const auto control =
      std::count_if(ids.begin(), ids.end(), [&](TokenId id) { return vocabulary.type(id) == TokenType::control; });
  if (call.settings.boolean("json")) {
    const Json object = {{"text", prompt.text.text()},
                         {"ids", ids},
                         {"control_tokens", control},
                         {"begins_thinking", prompt.begins_thinking},
                         {"template", chat_template.source().origin},
                         {"notes", prompt.notes}};
    call.terminal.data(json_text(object) + "\n");
    return 0;
  }
  for (const std::string& sentence : prompt.notes) call.terminal.note(sentence);
  call.terminal.data(pieces_of(ids, vocabulary));
  call.terminal.data("\n");
  call.terminal.line(fmt::format("[{} tokens, {} of them control tokens; template: {}]", ids.size(), control,
                                 chat_template.source().origin));
  return 0;
}

}  // namespace

extern constinit const Command command_template = {
    .head = {.name = "template",
             .aliases = "apply_template",
             .summary = "shows a conversation as the model sees it",
             .source = "datasheet 3, serialisation",
             .parameters = kFlags},
    .arguments = kArguments,
    .run = run,
};

}  // namespace plm
