// Loads an engine and lets it write, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "kernels/cpu_device.h"

namespace plm {

inline std::unique_ptr<Engine> load_engine(const std::string& path, const EngineOptions& options = {},
                                           CpuDeviceOptions device = {.threads = 1}) {
  auto engine = Engine::load(path, make_cpu_device(device), options);
  if (!engine.has_value()) throw std::runtime_error(engine.error().message);
  return std::move(*engine);
}

/// What a listener heard of one text.
struct Written {
  std::vector<TokenId> ids;  ///< committed, an end token among them
  std::vector<double> probabilities;
  std::string text;
  FinishReason reason = FinishReason::none;

  [[nodiscard]] Listener listener() {
    return [this](const Event& event) {
      if (event.kind == EventKind::committed) {
        ids.push_back(event.token);
        probabilities.push_back(event.probability);
      }
      if (event.kind == EventKind::stable_prefix) text += event.text;
      if (event.kind == EventKind::finished) reason = event.reason;
    };
  }
  bool operator==(const Written&) const = default;
};

/// Writes one text to its end.
inline Written write(Engine& engine, GenerationRequest request) {
  Written written;
  request.listener = written.listener();
  auto generation = engine.start(std::move(request));
  if (!generation.has_value()) throw std::runtime_error(generation.error().message);
  EXPECT_TRUE(engine.run().has_value());
  EXPECT_TRUE((*generation)->done());
  const auto outcome = (*generation)->take();
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  return written;
}

inline std::vector<TokenId> encoded(const Engine& engine, std::string_view text) {
  return engine.tokenizer().encode(text).value();
}

}  // namespace plm
