// Profiles: what a control means at the back end that a person comes from. A profile fixes the order of the chain, the
// defaults, which tokens the penalties count, and what happens to a value out of range; what that back end does not
// have or cannot change is said in a warning, never dropped in silence.
//
// Source: the back ends' own code, as docs/reference/samplers.md lists it. Tested by tests/sampling/test_profile.cpp,
// also against llama.cpp's own reading of requests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/definition.h"
#include "base/error.h"
#include "base/json_forward.h"
#include "base/settings.h"

namespace plm {

/// What a profile says about one parameter.
struct ProfileValue {
  std::string_view name;
  Value standard = {};  ///< its default there; monostate: the declared one
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool clamps = false;   ///< a value out of range is brought into it; else it is refused
  bool is_list = false;  ///< a request gives it as a list that is not empty, never as one text
};

struct Profile {
  std::string_view name;
  std::string_view summary;
  std::string_view before = {};         ///< samplers that always come first, unless the order names them
  std::string_view order = {};          ///< of the rest, when the request gives none
  std::string_view after = {};          ///< samplers that always come last, unless the order names them
  std::string_view with_mirostat = {};  ///< the whole order when mirostat is on; empty: no mirostat
  bool order_is_fixed = false;          ///< the request cannot change it
  bool skips_unknown = false;           ///< unknown names in the order are passed over
  bool knows_all = false;               ///< every parameter; else only those in `values`
  std::span<const ProfileValue> values = {};
  /// Rules that a table cannot say; given the settings with all defaults in.
  void (*finish)(const Settings& given, Settings& effective, std::vector<std::string>& warnings) = nullptr;

  [[nodiscard]] const ProfileValue* find(std::string_view parameter) const;
};

inline constexpr std::string_view kProfileNames = "plm, llamacpp, koboldcpp, ollama, vllm, openai";

[[nodiscard]] std::span<const Profile> profiles();
/// One of kProfileNames.
[[nodiscard]] const Profile& find_profile(std::string_view name);

/// Sets a value from a request as the profile's back end would: brought into range with a warning where it clamps;
/// null is no value, a list or an object is its JSON text for a parameter that is a text. Errors (usage): as Settings,
/// and out of the profile's range.
Result<void> set_in_profile(const Profile& profile, Settings& settings, std::string_view name, const Json& value,
                            std::vector<std::string>& warnings);

/// The values that act: those given, as the profile allows them, else its defaults. `given` holds
/// sampling_parameters().
[[nodiscard]] Result<Settings> effective_settings(const Profile& profile, const Settings& given,
                                                  std::vector<std::string>& warnings);

}  // namespace plm
