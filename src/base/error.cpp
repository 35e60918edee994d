#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace plm {

void broken_invariant(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace plm
