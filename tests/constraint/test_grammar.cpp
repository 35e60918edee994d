#include "constraint/grammar.h"

#include <gtest/gtest.h>
