// What stands in for the things that a chat template has no words for. Tested by tests/text/chat/test_stand_ins.cpp.
#pragma once

#include <string>
#include <vector>

#include "text/chat/chat_template.h"

namespace plm {

/// The conversation in terms that a template with these abilities understands: a system message in front of the user's
/// next message, tools described in the system message, calls and results as ordinary messages, contents as parts.
/// What was done is appended to `notes`, a sentence each.
[[nodiscard]] Conversation with_stand_ins(Conversation conversation, const ChatAbilities& abilities,
                                          std::vector<std::string>& notes);

}  // namespace plm
