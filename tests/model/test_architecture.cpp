#include "model/architecture.h"

#include <gtest/gtest.h>

#include <set>

#include "base/settings.h"
#include "kernels/cpu_device.h"
#include "model/tiny_llama.h"

namespace plm {
namespace {

TEST(Architecture, AnUnknownOneIsNamedWithThoseThatAreKnown) {
  TinyLlama model;
  model.keys["general.architecture"] = "quantum\nleap";
  OpenTiny open(model);
  const auto device = make_cpu_device({.threads = 1});
  const auto loaded = load_model(open.file, *device);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().kind, ErrorKind::bad_input);
  const std::string& message = loaded.error().message;
  EXPECT_EQ(message.find("tiny.gguf: general.architecture: unknown architecture \"quantum"), 0U) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << "a file's words are made printable";
  for (const Architecture* known : architectures()) {
    EXPECT_NE(message.find(known->head.name), std::string::npos) << message;
  }
}

TEST(Architecture, EveryOneIsDescribedAndFoundByName) {
  std::set<std::string> names;
  for (const Architecture* known : architectures()) {
    const std::string name(known->head.name);
    EXPECT_FALSE(known->head.summary.empty()) << name;
    EXPECT_FALSE(known->head.source.empty()) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    TinyLlama model;
    model.keys["general.architecture"] = name;
    EXPECT_EQ(find_architecture(OpenTiny(model).file).value(), known);
  }
}

TEST(Architecture, ALoadedModelSaysItsSizes) {
  TinyLlama tiny;
  tiny.tensors["stray"] = {.dims = {3}, .fill = 1.0F};
  OpenTiny open(tiny);
  const auto device = make_cpu_device({.threads = 1});
  const auto loaded = load_model(open.file, *device);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const ModelShape& shape = (*loaded)->shape();
  EXPECT_EQ(shape.architecture, "llama");
  EXPECT_EQ(shape.vocab_size, TinyLlama::kVocab);
  EXPECT_EQ(shape.hidden_size, TinyLlama::kHidden);
  EXPECT_EQ(shape.layer_count, TinyLlama::kLayers);
  EXPECT_EQ(shape.trained_context, TinyLlama::kContext);
  EXPECT_EQ(shape.parameter_count, open.file.parameter_count());
  EXPECT_NE(open.file.warnings().back().find("tensor stray: not used"), std::string::npos);

  for (const StorageType* type : {&quant_f32, &quant_f16, &quant_bf16}) {
    const StateLayout layout = (*loaded)->state_layout(*type).value();
    ASSERT_EQ(layout.layers.size(), TinyLlama::kLayers);
    EXPECT_EQ(layout.cell_bytes(), TinyLlama::kLayers * 2 * 2 * 8 * type->block_bytes)
        << "keys and values of two heads";
    EXPECT_EQ(layout.layers[1].offset, layout.layers[0].bytes()) << "layers do not overlap";
  }
  const auto refused = (*loaded)->state_layout(quant_q8_0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_NE(refused.error().message.find("q8_0 stores blocks of 32 numbers, but the heads of this model have 8; "
                                         "choose from f32, f16, bf16"),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace plm
