// From the sampling controls of a request, under whichever names clients send them, to the settings of a chain.
//
// The names are those of sampling_parameters() with their aliases, and a few more that only requests have. A dialect
// has a profile, which says what the controls mean at the server that the client was made for; clients of OpenAI's API
// that send more than OpenAI has get every control, with OpenAI's defaults for what they leave out.
// Source: ../reference/ecosystem notes of the project, fields that clients send. Tested by
// tests/serve/test_sampling_fields.cpp.
#pragma once

#include <span>
#include <string_view>

#include "serve/field.h"
#include "serve/served_model.h"
#include "serve/text_plan.h"

namespace plm {

/// Fields that become sampling controls but are none themselves.
[[nodiscard]] std::span<const Field> sampling_only_fields();

/// The parameter that a field of this name sets; null: none.
[[nodiscard]] const Parameter* sampling_parameter_of(std::string_view field);

/// Reads the controls into `plan.sampling` and says in `plan.report` what became of them. Errors (usage) begin with the
/// field's name: a wrong type, out of range, an unknown sampler or profile.
Result<void> read_sampling(const RequestFields& fields, std::string_view profile, const ServedModel& model,
                           TextPlan& plan);

}  // namespace plm
