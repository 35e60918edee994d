// The name of the JSON type without its definition, for headers.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace plm {

using Json = nlohmann::ordered_json;

}  // namespace plm
