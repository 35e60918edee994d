// Templates for models whose file brings none, by the name of the form. Each follows its form's published description;
// what a form has no words for (a system message, tools) is left to ChatTemplate's stand-ins.
// Tested by tests/text/chat/test_chat_template.cpp.
#include <algorithm>

#include "text/chat/chat_template.h"

namespace plm {
namespace {

constexpr BuiltinChatTemplate kTemplates[] = {
    {"alpaca",
     R"({%- for message in messages -%}
{%- if message.role == 'system' %}{{ message.content + '\n\n' }}
{%- elif message.role == 'user' %}{{ '### Instruction:\n' + message.content + '\n\n' }}
{%- else %}{{ '### Response:\n' + message.content + eos_token + '\n\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '### Response:\n' }}{% endif -%})",
     ""},
    {"chatml",
     R"({%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif -%})",
     "<|im_start|>"},
    {"deepseek",
     R"({{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'user' %}{{ 'User: ' + message.content + '\n\n' }}
{%- elif message.role == 'assistant' %}{{ 'Assistant: ' + message.content + eos_token }}
{%- else %}{{ message.content + '\n\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ 'Assistant:' }}{% endif -%})",
     ""},
    {"gemma",
     R"({{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'system' %}{{ raise_exception('gemma has no system messages') }}{% endif -%}
{%- set role = 'model' if message.role == 'assistant' else message.role -%}
{{- '<start_of_turn>' + role + '\n' + message.content | trim + '<end_of_turn>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif -%})",
     "<start_of_turn>"},
    {"llama2",
     R"({%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = '<<SYS>>\n' + message.content + '\n<</SYS>>\n\n' -%}
{%- elif message.role == 'user' -%}
{{- bos_token + '[INST] ' + ns.system + message.content | trim + ' [/INST]' -}}
{%- set ns.system = '' -%}
{%- else -%}
{{- ' ' + message.content | trim + ' ' + eos_token -}}
{%- endif -%}
{%- endfor -%})",
     ""},
    {"llama3",
     R"({{- bos_token -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif -%})",
     "<|start_header_id|>"},
    {"mistral",
     R"({{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content | trim + eos_token }}
{%- else %}{{ raise_exception('mistral has only user and assistant messages') }}
{%- endif -%}
{%- endfor -%})",
     "[INST]"},
    {"phi3",
     R"({%- for message in messages -%}
{{- '<|' + message.role + '|>\n' + message.content + '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif -%})",
     "<|assistant|>"},
    {"vicuna",
     R"({{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'user' %}{{ 'USER: ' + message.content }}
{%- elif message.role == 'assistant' %}{{ ' ASSISTANT: ' + message.content + eos_token }}
{%- else %}{{ message.content + ' ' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif -%})",
     ""},
    {"zephyr",
     R"({%- for message in messages -%}
{{- '<|' + message.role + '|>\n' + message.content + eos_token + '\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif -%})",
     ""},
};

std::string names() {
  std::string list;
  for (const BuiltinChatTemplate& row : kTemplates) list += (list.empty() ? "" : ", ") + std::string(row.name);
  return list;
}

}  // namespace

std::span<const BuiltinChatTemplate> builtin_chat_templates() { return kTemplates; }

Result<ChatTemplateSource> builtin_chat_template(std::string_view name) {
  for (const BuiltinChatTemplate& row : kTemplates) {
    if (row.name == name) {
      return ChatTemplateSource{std::string(row.text), fmt::format("the built-in template {}", name), ""};
    }
  }
  return fail(ErrorKind::usage, "chat template: \"{}\" is none of {}, and no file", name, names());
}

namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

Result<std::string> template_for_tools(const GgufFile& file) {
  PLM_TRY_ASSIGN(const auto text, file.optional_string(std::string(kTemplateKey) + ".tool_use"));
  return std::string(text.value_or(""));
}

}  // namespace

Result<ChatTemplateSource> chat_template_of(const Vocabulary& vocabulary) {
  const std::string& path = vocabulary.file().path();
  if (!vocabulary.chat_template().empty()) {
    PLM_TRY_ASSIGN(std::string for_tools, template_for_tools(vocabulary.file()));
    return ChatTemplateSource{std::string(vocabulary.chat_template()), fmt::format("{}, {}", path, kTemplateKey),
                              std::move(for_tools)};
  }
  for (const BuiltinChatTemplate& row : kTemplates) {
    if (row.marker.empty() || !vocabulary.find(row.marker)) continue;
    return ChatTemplateSource{
        std::string(row.text),
        fmt::format("the built-in template {}, since {} brings none and has the token {}", row.name, path, row.marker),
        ""};
  }
  return fail(ErrorKind::bad_input,
              "{}: no chat template ({} is missing) and no token that tells one; it may be no chat model. Give "
              "--chat-template NAME or FILE; names are {}",
              path, kTemplateKey, names());
}

}  // namespace plm
