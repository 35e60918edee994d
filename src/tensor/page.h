// The page: the unit in which a sequence's memory is handed out, shared, and summed over by attention.
#pragma once

#include <cstddef>

namespace plm {

/// Cells (absolute positions) per page. Part of the numerics contract: attention adds up page by page, so another value
/// is another rounding.
inline constexpr std::size_t kPageCells = 256;

}  // namespace plm
