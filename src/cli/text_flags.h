// The flags that commands which read or write texts have in common. Tested by tests/cli/test_sampling.py.
#pragma once

#include "base/definition.h"

namespace plm {

inline constexpr Parameter kDecoderFlag = {
    .name = "decoder",
    .summary = "how the text is written, one of the decoders in plm describe; not set: as the model was made to",
    .type = ParameterType::text,
    .unit = "NAME"};
inline constexpr Parameter kNoBosFlag = {.name = "no_bos",
                                         .summary = "do not put the beginning-of-text token in front",
                                         .type = ParameterType::boolean,
                                         .tag = Tag::pipe};
inline constexpr Parameter kSpecialFlag = {.name = "special",
                                           .aliases = "sp",
                                           .summary = "special tokens spelled in the text become those tokens",
                                           .type = ParameterType::boolean,
                                           .tag = Tag::pipe};
inline constexpr Parameter kBanPhraseFlag = {
    .name = "ban_phrase",
    .aliases = "banned_string, banned_strings",
    .summary = "a text that must not appear, letters of ASCII in either case; may be repeated",
    .type = ParameterType::text};
inline constexpr Parameter kNegativePromptFlag = {
    .name = "negative_prompt",
    .aliases = "cfg_negative_prompt",
    .summary = "a prompt behind which the text shall not fit; acts with --guidance-scale",
    .type = ParameterType::text};
inline constexpr Parameter kGuidanceScaleFlag = {
    .name = "guidance_scale",
    .aliases = "cfg_scale",
    .summary = "how far the logits move from those behind the negative prompt; 1: not at all",
    .type = ParameterType::real,
    .standard = 1.0,
    .neutral = 1.0,
    .min = 0,
    .max = 1000};
inline constexpr Parameter kLogprobsFlag = {
    .name = "logprobs",
    .aliases = "n_probs",
    .summary = "with --json: the log-probability of every token, and of so many of the likeliest beside it",
    .type = ParameterType::integer,
    .min = 0,
    .max = 1000};
inline constexpr Parameter kLogprobsOfFlag = {
    .name = "logprobs_of",
    .summary = "in the model's own distribution, in that among what a constraint allows, or in what the samplers left",
    .type = ParameterType::choice,
    .standard = "model",
    .choices = "model, masked, chain"};
inline constexpr Parameter kEchoFlag = {
    .name = "echo", .summary = "log-probabilities also of the prompt's tokens", .type = ParameterType::boolean};
inline constexpr Parameter kNoModelDefaultsFlag = {
    .name = "no_model_defaults",
    .summary = "sample as declared here, not as the makers of the model advise in its file",
    .type = ParameterType::boolean};
inline constexpr Parameter kTraceFlag = {.name = "trace",
                                         .summary = "writes what each sampler did to each token, for plm explain",
                                         .type = ParameterType::text,
                                         .unit = "FILE",
                                         .tag = Tag::pipe};
inline constexpr Parameter kTraceTopFlag = {.name = "trace_top",
                                            .summary = "how many of the likeliest tokens a trace names",
                                            .type = ParameterType::integer,
                                            .standard = std::int64_t{20},
                                            .min = 0,
                                            .max = 1000,
                                            .tag = Tag::pipe};
inline constexpr Parameter kRecipeOutFlag = {
    .name = "recipe_out",
    .summary = "writes everything that determined the text, for plm replay and plm diff",
    .type = ParameterType::text,
    .unit = "FILE",
    .tag = Tag::pipe};

}  // namespace plm
