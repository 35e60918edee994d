// Reads the list of merges of a BPE vocabulary (tokenizer.ggml.merges: two tokens with a space between, best first).
// Tested by tests/text/test_merge_list.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace plm {

/// The merges of the vocabulary's file. Those that join or make what is no token, and those that would make a control
/// token of ordinary text, are left out; that they exist is appended to `warnings`.
/// Errors (bad_input): no list, or a merge without a space.
Result<MergeTable> load_merges(const Vocabulary& vocabulary, std::vector<std::string>& warnings);

}  // namespace plm
