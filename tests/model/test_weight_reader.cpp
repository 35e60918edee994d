#include "model/weight_reader.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu_device.h"
#include "model/tiny_llama.h"

namespace plm {
namespace {

constexpr MatrixSize kWide{.outputs = 64, .inputs = 32};

class WeightReaderTest : public testing::Test {
 protected:
  // The numbers of a gain, seen through the one operation that uses them.
  std::vector<float> normed_with(const Weight& gain) {
    const std::vector<float> ones(gain.inputs, 1.0F);
    const auto storage = device_->allocate(2 * gain.inputs * sizeof(float)).value();
    const View in = dense_view(*storage, 1, gain.inputs);
    const View out = dense_view(*storage, 1, gain.inputs, quant_f32, gain.inputs * sizeof(float));
    std::vector<float> result(gain.inputs);
    device_->upload(in, std::as_bytes(std::span(ones)));
    device_->rms_norm(in, gain, 0, out);
    device_->download(out, std::as_writable_bytes(std::span(result)));
    EXPECT_TRUE(device_->wait().has_value());
    return result;
  }

  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
};

TEST_F(WeightReaderTest, TakesAMatrixWithItsRole) {
  TinyLlama model;
  model.tensors["blk.0.ffn_up.weight"].type = "Q8_0";
  OpenTiny open(model);
  WeightReader reader(open.file, *device_);
  const auto weight = reader.matrix("blk.0.ffn_up.weight", WeightRole::ffn_up, kWide);
  ASSERT_TRUE(weight.has_value()) << weight.error().message;
  EXPECT_EQ((*weight)->role, WeightRole::ffn_up);
  EXPECT_EQ((*weight)->type, find_storage_type("q8_0"));
  EXPECT_EQ((*weight)->outputs, 64U);
  EXPECT_EQ((*weight)->inputs, 32U);
}

TEST_F(WeightReaderTest, LooksWithoutTaking) {
  TinyLlama model;
  model.tensors["output_norm.weight"].type = "F16";
  model.tensors["blk.0.ffn_up.weight"].fill = std::numeric_limits<float>::quiet_NaN();  // not looked at yet
  OpenTiny open(model);
  std::vector<double> told;
  open.file.set_progress([&](double fraction) { told.push_back(fraction); });
  WeightReader look(open.file);
  EXPECT_EQ(look.matrix("blk.0.ffn_up.weight", WeightRole::ffn_up, kWide).value(), nullptr);
  EXPECT_EQ(look.vector("output_norm.weight", WeightRole::norm, 32).value(), nullptr);
  EXPECT_FALSE(look.matrix("blk.0.ffn_down.weight", WeightRole::ffn_down, kWide).has_value());
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(open.file.warnings().empty());
  WeightReader take(open.file, *device_);
  EXPECT_NE(take.vector("output_norm.weight", WeightRole::norm, 32).value(), nullptr);
  EXPECT_EQ(told.size(), 1U);
  EXPECT_EQ(open.file.warnings().size(), 1U);
}

TEST_F(WeightReaderTest, KnowsWhatTheFileHas) {
  OpenTiny open(TinyLlama{});
  const WeightReader reader(open.file, *device_);
  EXPECT_TRUE(reader.has("output_norm.weight"));
  EXPECT_FALSE(reader.has("output.weight"));
}

TEST_F(WeightReaderTest, RefusesWhatIsNotThereOrOfAnotherShape) {
  OpenTiny open(TinyLlama{});
  WeightReader reader(open.file, *device_);
  for (const auto& result : {reader.matrix("nothing.weight", WeightRole::ffn_up, kWide),
                             reader.matrix("blk.0.ffn_down.weight", WeightRole::ffn_down, kWide),
                             reader.vector("output_norm.weight", WeightRole::norm, 31)}) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(result.error().message.find("tiny.gguf: tensor "), 0U) << result.error().message;
  }
}

TEST_F(WeightReaderTest, RefusesDamagedNumbersAndNamesFileAndTensor) {
  TinyLlama model;
  model.tensors["blk.1.ffn_up.weight"].fill = std::numeric_limits<float>::quiet_NaN();
  OpenTiny open(model);
  WeightReader reader(open.file, *device_);
  const auto weight = reader.matrix("blk.1.ffn_up.weight", WeightRole::ffn_up, kWide);
  ASSERT_FALSE(weight.has_value());
  EXPECT_EQ(weight.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(weight.error().message.find("tiny.gguf: tensor blk.1.ffn_up.weight: NaN"), 0U) << weight.error().message;
}

TEST_F(WeightReaderTest, ConvertsAVectorThatIsNotFloat32AndSaysSo) {
  TinyLlama model;
  model.tensors["output_norm.weight"].fill = 1.25F;  // exact in every type
  OpenTiny plain(model);
  WeightReader plain_reader(plain.file, *device_);
  const auto expected = plain_reader.vector("output_norm.weight", WeightRole::norm, 32).value();
  EXPECT_EQ(normed_with(*expected), std::vector<float>(32, 1.25F));
  EXPECT_TRUE(plain.file.warnings().empty());

  for (const char* type : {"F16", "BF16", "Q8_0"}) {
    model.tensors["output_norm.weight"].type = type;
    OpenTiny open(model);
    WeightReader reader(open.file, *device_);
    const auto weight = reader.vector("output_norm.weight", WeightRole::norm, 32);
    ASSERT_TRUE(weight.has_value()) << weight.error().message;
    const std::vector<float> numbers = normed_with(**weight);
    for (const float number : numbers) EXPECT_NEAR(number, 1.25F, 0.01F) << type;
    ASSERT_EQ(open.file.warnings().size(), 1U);
    const std::string& warning = open.file.warnings()[0];
    EXPECT_EQ(warning.find("tiny.gguf: tensor output_norm.weight: stored as "), 0U) << warning;
    EXPECT_NE(warning.find("expected f32; converted"), std::string::npos) << warning;
  }
}

}  // namespace
}  // namespace plm
