// What a Hugging Face folder says of a whole text's vector or scores, as keys and tensors of GGUF: how the hidden
// states of its tokens become one (1_Pooling), what is made of that (2_Dense, 2_Normalize), how long a text may be,
// which words go in front of it; of classifiers the labels. Sources: the modules.json of sentence-transformers,
// config.json of transformers. GGUF knows pooling_type, classifier.output_labels and dense_N; what it has no key for
// stands under "embedding." and is read back by SequenceHead. Tested by tests/model/test_sentence_settings.cpp.
#pragma once

#include "base/error.h"
#include "format/huggingface_folder.h"
#include "model/huggingface_form.h"

namespace plm {

/// Adds what modules.json and the files around it say; nothing where there is none. Errors (bad_input) name the file
/// and the field: a module or a way of pooling that this version does not know.
[[nodiscard]] Result<void> add_sentence_settings(const HuggingFaceFolder& folder, CheckpointDraft& draft);

/// Adds the pooling of a class that scores, and its labels where config.json names them.
[[nodiscard]] Result<void> add_score_settings(CheckpointDraft& draft);

}  // namespace plm
