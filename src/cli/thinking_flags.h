// The flags of a budget for what a model thinks before it answers. Tested by tests/cli/test_thinking.py.
#pragma once

#include <optional>
#include <string_view>

#include "cli/command.h"
#include "engine/thinking_limit.h"
#include "text/chat/chat_template.h"

namespace plm {

inline constexpr Parameter kThinkFlag = {
    .name = "think",
    .aliases = "reasoning_budget",
    .summary = "tokens that the model may think: a number, a share of the prompt (0.5, 0.5+4000), or -1 for no bound",
    .type = ParameterType::text,
    .unit = "SIZE"};
inline constexpr Parameter kThinkScopeFlag = {
    .name = "think_scope",
    .summary = "what --think bounds: all thinking of an answer, or each part of it",
    .type = ParameterType::choice,
    .standard = "turn",
    .choices = "turn, block"};
inline constexpr Parameter kThinkGraceFlag = {.name = "think_grace",
                                              .summary = "tokens that may still follow until a line or a word ends",
                                              .type = ParameterType::integer,
                                              .standard = std::int64_t{32},
                                              .min = 1,
                                              .max = 1 << 20,
                                              .unit = "tokens"};
inline constexpr Parameter kThinkSoftFlag = {
    .name = "think_soft",
    .summary = "share of --think from which the end mark is made likelier; 1: never",
    .standard = 0.8,
    .neutral = 1.0,
    .min = 0,
    .max = 1};
inline constexpr Parameter kThinkMessageFlag = {
    .name = "think_message",
    .aliases = "reasoning_budget_message",
    .summary = "what is written in front of the end mark where --think closes the thinking",
    .type = ParameterType::text};
inline constexpr Parameter kThinkTagsFlag = {
    .name = "think_tags",
    .summary = "the marks around the thinking; not given: those of the model's chat template",
    .type = ParameterType::text,
    .unit = "BEGIN,END"};

/// What the flags say; nothing without --think. `tags`: the template's; `prompt`: the text that the model goes on from.
/// Error (usage): no marks are known.
[[nodiscard]] Result<std::optional<ThinkingLimit>> chosen_thinking(const Settings& settings,
                                                                   const std::optional<ThinkingTags>& tags,
                                                                   std::string_view prompt);

/// The marks of the model's own chat template; nothing: it has none, or no template.
[[nodiscard]] std::optional<ThinkingTags> thinking_tags(const Vocabulary& vocabulary);

}  // namespace plm
