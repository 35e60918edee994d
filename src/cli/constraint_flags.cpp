#include "cli/constraint_flags.h"

#include <array>
#include <utility>

#include "cli/engine_flags.h"
#include "cli/help.h"

namespace plm {
namespace {

// "a,b\,c" as "a" and "b,c".
void append_choices(std::string_view list, std::vector<std::string>& choices) {
  choices.emplace_back();
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == ',') {
      choices.emplace_back();
    } else {
      if (list[at] == '\\' && at + 1 < list.size() && (list[at + 1] == ',' || list[at + 1] == '\\')) ++at;
      choices.back().push_back(list[at]);
    }
  }
}

bool is_schema_itself(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (text[begin] == '{' || text == "true" || text == "false");
}

}  // namespace

Result<std::optional<ConstraintRequest>> chosen_constraint(const Invocation& call) {
  const Settings& settings = call.settings;
  constexpr std::array<std::pair<const char*, ConstraintLanguage>, 4> kFlags{{
      {"grammar", ConstraintLanguage::gbnf},
      {"json_schema", ConstraintLanguage::json_schema},
      {"regex", ConstraintLanguage::regex},
      {"choice", ConstraintLanguage::choice},
  }};
  ConstraintRequest request{.source = {}, .closes = !settings.boolean("no_close")};
  request.resamples = settings.text("constraint_mode") == "resample";
  request.source.lenient = settings.boolean("lenient");
  const char* given = nullptr;
  for (const auto& [flag, language] : kFlags) {
    if (!settings.was_given(flag)) continue;
    if (given != nullptr) {
      return fail(ErrorKind::usage, "{} and {}: a text fits one constraint at a time; give one of them",
                  flag_name(given), flag_name(flag));
    }
    given = flag;
    request.source.language = language;
  }
  if (given == nullptr) {
    for (const char* flag : {"lenient", "no_close"}) {
      if (settings.boolean(flag)) return fail(ErrorKind::usage, "{}: there is no constraint", flag_name(flag));
    }
    return std::nullopt;
  }
  const std::string text = settings.text(given);
  switch (request.source.language) {
    case ConstraintLanguage::choice:
      for (const std::string& list : call.all(given)) append_choices(list, request.source.choices);
      break;
    case ConstraintLanguage::regex: request.source.text = text; break;
    case ConstraintLanguage::gbnf: {
      PLM_TRY_ASSIGN(request.source.text, read_text(text));
      break;
    }
    case ConstraintLanguage::json_schema: {
      request.source.text = text;
      if (!is_schema_itself(text)) {
        PLM_TRY_ASSIGN(request.source.text, read_text(text));
      }
      break;
    }
  }
  return request;
}

}  // namespace plm
