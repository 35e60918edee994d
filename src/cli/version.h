// The version, from CMakeLists.txt.
#pragma once

#include <string_view>

namespace plm {
inline constexpr std::string_view kVersion = PLM_VERSION;
}
