#include "model/architecture.h"

#include "base/settings.h"
#include "base/utf8.h"
#include "model/sequence_head.h"

namespace plm {
namespace {

std::string known_architectures() {
  std::string names;
  for (const Architecture* known : architectures()) {
    if (!names.empty()) names += ", ";
    names += known->head.name;
  }
  return names;
}

}  // namespace

Result<const Architecture*> find_architecture(const ModelFile& file) {
  for (const Architecture* known : architectures()) {
    if (is_named(file.architecture(), known->head.name, known->head.aliases)) return known;
  }
  return fail(ErrorKind::bad_input, "{}: general.architecture: unknown architecture \"{}\"; this version knows {}",
              file.path(), printable(file.architecture(), 80), known_architectures());
}

Result<std::unique_ptr<Model>> load_model(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(const Architecture* architecture, find_architecture(file));
  PLM_TRY(SequenceHead::check(file, *architecture));
  PLM_TRY_ASSIGN(std::unique_ptr<Model> model, architecture->load(file, device));
  PLM_TRY(file.refuse_unread());
  file.warn_about_unused_tensors();
  return model;
}

}  // namespace plm
