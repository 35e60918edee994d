#include "kernels/watched_device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu_device.h"

namespace plm {
namespace {

class Listing : public DeviceWatcher {
 public:
  void on_operation(Device& device, const WatchedOperation& operation) override {
    EXPECT_EQ(device.describe(), make_cpu_device({.threads = 1})->describe()) << "the device behind";
    EXPECT_GE(operation.ms, 0);
    names.emplace_back(operation.name);
    weight_bytes += operation.weight_bytes;
  }
  std::vector<std::string> names;
  std::uint64_t weight_bytes = 0;
};

TEST(WatchedDevice, TellsEachOperationAndComputesTheSame) {
  Listing listing;
  WatchedDevice watched(make_cpu_device({.threads = 1}), listing);
  const auto plain = make_cpu_device({.threads = 1});
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6, 7, 8}, weights = {0.5F, -1, 2, 0.25F, 3, 1, -2, 4};
  const auto run = [&](Device& device) {
    const auto weight = device
                            .load_weight({.name = "w",
                                          .role = WeightRole::ffn_up,
                                          .type = &quant_f32,
                                          .outputs = 2,
                                          .inputs = 4,
                                          .bytes = std::as_bytes(std::span(weights))})
                            .value();
    const auto in = device.allocate(32).value(), out = device.allocate(16).value();
    device.upload(dense_view(*in, 2, 4), std::as_bytes(std::span(numbers)));
    device.linear(*weight, dense_view(*in, 2, 4), dense_view(*out, 2, 2));
    device.add(dense_view(*out, 2, 2), dense_view(*out, 2, 2));
    std::vector<float> result(4);
    device.download(dense_view(*out, 2, 2), std::as_writable_bytes(std::span(result)));
    EXPECT_TRUE(device.wait().has_value());
    return result;
  };
  EXPECT_EQ(run(watched), run(*plain));
  EXPECT_EQ(listing.names, (std::vector<std::string>{"upload", "linear", "add", "download"}));
  EXPECT_EQ(listing.weight_bytes, 32U);
}

}  // namespace
}  // namespace plm
