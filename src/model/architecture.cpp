#include "model/architecture.h"

#include "base/settings.h"
#include "base/utf8.h"

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

Result<std::unique_ptr<Model>> load_model(ModelFile& file, Device& device) {
  for (const Architecture* known : architectures()) {
    if (!is_named(file.architecture(), known->head.name, known->head.aliases)) continue;
    PLM_TRY_ASSIGN(std::unique_ptr<Model> model, known->load(file, device));
    file.warn_about_unused_tensors();
    return model;
  }
  return fail(ErrorKind::bad_input, "{}: general.architecture: unknown architecture \"{}\"; this version knows {}",
              file.path(), printable(file.architecture(), 80), known_architectures());
}

}  // namespace plm
