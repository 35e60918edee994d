// What a request may ask about the model while the engine's thread works: everything here is immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/sampling_defaults.h"
#include "text/chat/chat_template.h"

namespace plm {

struct ServedModel {
  const Engine& engine;  ///< only what is const
  VocabularyTexts texts;
  std::string name;          ///< as clients call it
  std::string version;       ///< of the program
  std::int64_t created = 0;  ///< seconds since 1970
  std::uint64_t file_bytes = 0;
  std::optional<ChatTemplate> chat_template = {};
  std::string template_problem = {};  ///< why there is no template
  SamplingDefaults sampling_defaults = {};
  bool reuses_prefixes = true;  ///< what one request left may serve another

  [[nodiscard]] const Vocabulary& vocabulary() const { return engine.vocabulary(); }
  [[nodiscard]] const Tokenizer& tokenizer() const { return engine.tokenizer(); }
  /// The template, or why there is none (usage).
  [[nodiscard]] Result<const ChatTemplate*> conversation_template() const {
    if (chat_template.has_value()) return &*chat_template;
    return fail(ErrorKind::usage, "messages: {}", template_problem);
  }
};

}  // namespace plm
