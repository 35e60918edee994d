#include "constraint/regular.h"

#include <gtest/gtest.h>
