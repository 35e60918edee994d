#include "plan/latency.h"

#include <cmath>

#include "plan_cases.h"

namespace plm {
namespace {

RateCurve curve_of(const Json& points) {
  RateCurve curve;
  for (const Json& point : points) curve.emplace_back(point[0].get<double>(), point[1].get<double>());
  return curve;
}

MachineRates machine_of(const Json& profile) {
  return {.bandwidth = curve_of(profile["bandwidth"]),
          .linear = profile.contains("rate_points") ? curve_of(profile["rate_points"]) : RateCurve{},
          .linear_limit = profile.value("r_inf", 0.0),
          .linear_half = profile.value("m_half", 0.0),
          .attention = profile["r_attn"],
          .barrier = profile["barrier_s"],
          .barriers_per_layer = profile["barriers_per_layer"],
          .fixed = profile["fixed_s"],
          .per_draw = profile.value("sample_s", 0.0)};
}

PassModel model_of(const Json& model) {
  return {.layers = model["n_layers"],
          .q_heads = model["nq"],
          .head_size = model["hd"],
          .body_parameters = model["body_params"],
          .body_bytes = model["body_bytes"],
          .head_parameters = model["head_params"],
          .head_bytes = model["head_bytes"],
          .kv_per_token = model["kv_per_token"]};
}

std::optional<double> predicted(const Json& one) {
  const MachineRates machine = machine_of(one["profile"]);
  const PassModel model = model_of(one["model"]);
  const Json& args = one["args"];
  const std::string function = one["fn"];
  if (function == "decode") return decode_time(machine, model, args["T"], args["batch"]).total();
  if (function == "prefill") return prefill_time(machine, model, args["P"], args["ubatch"]);
  if (function == "ar_generate") return writing_time(machine, model, args["T"], args["tokens"]);
  if (function == "block_pass") return block_time(machine, model, args["T"], args["B"], args["head_rows"]).total();
  if (function == "crossover_tpf") return even_tokens_per_pass(args["t1"], args["tB"], args["tC"], args["B"]);
  return block_writing_time(machine, model,
                            {.past = args["T"],
                             .block = args["B"],
                             .tokens = args["tokens"],
                             .per_pass = args["tpf"],
                             .keeps = args.value("commit_pass", true)});
}

TEST(Latency, EveryCase) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("latency");
  EXPECT_EQ(cases.size(), 49U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const auto seconds = predicted(one);
    if (one["expect"].is_null()) {
      EXPECT_FALSE(seconds.has_value());
      continue;
    }
    ASSERT_TRUE(seconds.has_value());
    const double expected = one["expect"];
    EXPECT_NEAR(*seconds, expected, std::abs(expected) * one["rel_tol"].get<double>());
  }
}

TEST(Latency, CurvesAreLinearInTheLogarithmAndFlatOutside) {
  const RateCurve curve{{1, 10}, {100, 30}};
  EXPECT_DOUBLE_EQ(rate_at(curve, 0.5), 10);
  EXPECT_DOUBLE_EQ(rate_at(curve, 10), 20);
  EXPECT_DOUBLE_EQ(rate_at(curve, 1000), 30);
}

TEST(Latency, ReadingOrComputingWhicheverTakesLonger) {
  const MachineRates machine{.bandwidth = {{1, 100}}, .linear = {{1, 1000}}};
  const PassModel model{.layers = 1, .body_parameters = 50, .body_bytes = 200};
  EXPECT_DOUBLE_EQ(pass_time(machine, model, {.rows = 1, .head_rows = 0}).total(), 2);  // 200 bytes at 100 a second
  EXPECT_TRUE(pass_time(machine, model, {.rows = 1, .head_rows = 0}).body_reads);
  EXPECT_DOUBLE_EQ(pass_time(machine, model, {.rows = 40, .head_rows = 0}).total(), 4);  // 4000 operations
  EXPECT_FALSE(pass_time(machine, model, {.rows = 40, .head_rows = 0}).body_reads);
}

TEST(Latency, KeepingABlockMayCostAsMuchAsWritingIt) {
  EXPECT_FALSE(even_tokens_per_pass(1, 1, 4, 4).has_value());
  EXPECT_DOUBLE_EQ(even_tokens_per_pass(1, 1, 0, 4).value(), 1);
  EXPECT_DOUBLE_EQ(even_tokens_per_pass(2, 3, 4, 4).value(), 3);
}

}  // namespace
}  // namespace plm
