#include "engine/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/engine_runs.h"
#include "model/tiny_llama.h"

namespace plm {
namespace {

const std::string kTwin = std::string(PLM_MODELS) + "/twin-ar.gguf";
constexpr std::string_view kSum = "A385+739=";  // the twin answers 1124 and ends the text

// A file that a test may change, gone at its end.
class TemporaryModel {
 public:
  explicit TemporaryModel(const TinyLlama& model) { EXPECT_TRUE(model.writer().write(path()).has_value()); }
  ~TemporaryModel() { std::filesystem::remove(path()); }
  [[nodiscard]] std::string path() const {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return testing::TempDir() + "plm-" + std::to_string(getpid()) + test->name() + ".gguf";
  }
};

std::string refusal_to_load(const TinyLlama& model) {
  const TemporaryModel file(model);
  const auto engine = Engine::load(file.path(), make_cpu_device({.threads = 1}));
  if (engine.has_value()) return "accepted";
  EXPECT_EQ(engine.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(engine.error().message.find(file.path() + ": "), 0U) << engine.error().message;
  return engine.error().message.substr(file.path().size() + 2);
}

TEST(Engine, SaysWhatIsWrongWithAFile) {
  const auto missing = Engine::load("no/such/model.gguf", make_cpu_device({.threads = 1}));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::bad_input);
  EXPECT_NE(missing.error().message.find("no/such/model.gguf"), std::string::npos);

  TinyLlama model;
  model.keys["general.architecture"] = "nonsense";
  EXPECT_EQ(refusal_to_load(model).find("general.architecture: unknown architecture \"nonsense\""), 0U)
      << "said before anything about a vocabulary that is missing too";
  model.keys["general.architecture"] = "llama";
  EXPECT_EQ(refusal_to_load(model).find("tokenizer.ggml.model"), 0U);
  model.with_vocabulary(TinyLlama::kVocab - 1);
  EXPECT_EQ(refusal_to_load(model), "tokenizer.ggml.tokens: 47 tokens, but token_embd.weight has 48 rows");
  model.with_vocabulary().keys.erase("llama.block_count");
  EXPECT_NE(refusal_to_load(model).find("llama.block_count"), std::string::npos);
}

TEST(Engine, TellsOfItsProgressAndOfWhatIsOdd) {
  TinyLlama model;
  model.with_vocabulary().tensors["stray"] = {.dims = {4}};
  const TemporaryModel file(model);
  std::vector<double> told;
  const auto engine =
      load_engine(file.path(), {.context_length = 100, .on_load = [&](double done) { told.push_back(done); }});
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_GT(told.back(), 0.9);
  EXPECT_LT(told.back(), 1.0) << "but for the tensor that nobody asked for";
  EXPECT_EQ(engine->context_length(), 100U);
  const auto says = [&](std::string_view words) {
    return std::any_of(engine->warnings().begin(), engine->warnings().end(),
                       [&](const std::string& warning) { return warning.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("context of 100 tokens, the model was trained with 64"));
  EXPECT_TRUE(says("tensor stray: not used"));
  EXPECT_EQ(load_engine(file.path())->context_length(), TinyLlama::kContext);
}

TEST(Engine, MetadataCanBeOverridden) {
  TinyLlama model;
  const TemporaryModel file(model.with_vocabulary());
  const auto load = [&](std::vector<std::string> overrides, std::vector<std::string> model_settings) -> std::string {
    const auto engine = Engine::load(file.path(), make_cpu_device({.threads = 1}),
                                     {.overrides = std::move(overrides), .model_settings = std::move(model_settings)});
    return engine.has_value() ? "accepted" : engine.error().message;
  };
  EXPECT_EQ(load({"llama.attention.sliding_window=4", "tokenizer.ggml.eos_token_id=3"}, {}), "accepted");
  EXPECT_NE(load({"llama.block_count=3"}, {}).find("llama.block_count = 3: must be 2"), std::string::npos);
  EXPECT_EQ(load({"llama.block_count=two"}, {}).find("override llama.block_count: \"two\""), 0U);
  EXPECT_EQ(load({"llama.nonsense=1"}, {}).find("override llama.nonsense: architecture llama reads no such key"), 0U);
  EXPECT_NE(load({}, {"rope.scaling.type=str:dynamic"}).find("llama.rope.scaling.factor"), std::string::npos);
  EXPECT_EQ(load({}, {"rope.scaling.type=str:dynamic", "rope.scaling.factor=float:4"}), "accepted");
}

class TwinEngine : public testing::Test {
 protected:
  Written write_sum(GenerationRequest request) {
    request.prompt = encoded(*engine_, kSum);
    if (request.max_tokens == 0) request.max_tokens = 20;
    return write(*engine_, std::move(request));
  }
  static Settings warm() {
    Settings settings(sampling_parameters());
    EXPECT_TRUE(settings.set_text("temperature", "4").has_value());
    return settings;
  }
  std::string refusal(GenerationRequest request) {
    const auto generation = engine_->start(std::move(request));
    if (generation.has_value()) return "accepted";
    EXPECT_EQ(generation.error().kind, ErrorKind::usage);
    return generation.error().message;
  }

  std::unique_ptr<Engine> engine_ = load_engine(kTwin, {.most_sequences = 32});
};

TEST_F(TwinEngine, RefusesWhatCannotBeWritten) {
  EXPECT_NE(refusal({}).find("prompt: empty"), std::string::npos);
  const std::string too_long = refusal({.prompt = std::vector<TokenId>(300, 65)});
  for (const char* part : {"300 tokens", "the context holds 256", "--context"}) {
    EXPECT_NE(too_long.find(part), std::string::npos) << too_long;
  }
  EXPECT_EQ(refusal({.prompt = {65, 288}}), "prompt: token 1 is 288, expected an id from 0 to 287");
  EXPECT_EQ(refusal({.prompt = {-1}}), "prompt: token 0 is -1, expected an id from 0 to 287");
  EXPECT_NE(refusal({.prompt = {65}, .decoder = "ouija"}).find("\"ouija\""), std::string::npos);
  EXPECT_NE(refusal({.prompt = {65}, .stops = {"ok", ""}}).find("stop string"), std::string::npos);
  Settings settings(sampling_parameters());
  ASSERT_TRUE(settings.set_text("samplers", "top_k;tarot").has_value());
  EXPECT_NE(refusal({.prompt = {65}, .sampling = &settings}).find("tarot"), std::string::npos);
  EXPECT_TRUE(engine_->run().has_value()) << "nothing of all this waits";
}

TEST_F(TwinEngine, EveryTextEndsForItsReason) {
  EXPECT_EQ(write_sum({}), (Written{{49, 49, 50, 52, 257}, {1, 1, 1, 1, 1}, "1124", FinishReason::end_of_text}));
  EXPECT_EQ(write_sum({.max_tokens = 2}), (Written{{49, 49}, {1, 1}, "11", FinishReason::length}));
  EXPECT_EQ(write_sum({.stops = {"124"}}), (Written{{49, 49, 50, 52}, {1, 1, 1, 1}, "1", FinishReason::stop}));
  EXPECT_EQ(write_sum({.stops = {"125", "zz"}}).text, "1124") << "what might have become a stop string comes after all";
  const Written on = write_sum({.max_tokens = 8, .ignore_end = true});
  EXPECT_EQ(on.ids.size(), 8U);
  EXPECT_EQ(on.reason, FinishReason::length);

  const auto prompt = encoded(*engine_, kSum);
  const auto narrow = load_engine(kTwin, {.context_length = prompt.size() + 3});
  EXPECT_EQ(write(*narrow, {.prompt = prompt, .max_tokens = 20}),
            (Written{{49, 49, 50}, {1, 1, 1}, "112", FinishReason::context}));
  const auto full = load_engine(kTwin, {.context_length = prompt.size()});
  EXPECT_EQ(write(*full, {.prompt = prompt, .max_tokens = 20}), (Written{{}, {}, "", FinishReason::context}));
}

// All runs of the golden file at once. The reference works in float64; the closest decision is far above float32 noise.
TEST_F(TwinEngine, GreedyTrajectoriesAreTheGoldenOnes) {
  std::ifstream file(std::string(PLM_GOLDEN) + "/decoding/trajectories_ar.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Json golden = parse_json(text, "trajectories").value();
  const Json& runs = golden.at("runs");
  ASSERT_EQ(runs.size(), 30U);
  std::vector<Written> written(runs.size());
  std::vector<std::unique_ptr<Generation>> generations;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto started = engine_->start({.prompt = encoded(*engine_, runs[i].at("prompt").get<std::string>()),
                                   .max_tokens = runs[i].at("length").get<std::size_t>(),
                                   .listener = written[i].listener()});
    ASSERT_TRUE(started.has_value()) << started.error().message;
    generations.push_back(std::move(*started));
  }
  ASSERT_TRUE(engine_->run().has_value());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(written[i].ids, runs[i].at("ids").get<std::vector<TokenId>>()) << runs[i].at("prompt");
    EXPECT_EQ(written[i].text, runs[i].at("text").get<std::string>());
    for (const Json& step : runs[i].at("steps")) EXPECT_GT(step.at("gap").get<double>(), 1e-3);
  }
}

TEST_F(TwinEngine, EqualSeedsGiveEqualTexts) {
  Settings settings = warm();
  ASSERT_TRUE(settings.set_text("samplers", "temperature").has_value());  // no cut: the model is too sure for one
  const auto with_seed = [&](std::uint64_t seed) { return write_sum({.sampling = &settings, .seed = seed}); };
  const Written first = with_seed(1);
  EXPECT_EQ(with_seed(1), first);
  std::size_t different = 0;
  for (std::uint64_t seed = 2; seed < 8; ++seed) different += with_seed(seed) == first ? 0 : 1;
  EXPECT_GT(different, 0U);
}

// The prompt computed once and forked gives, to the last bit of every probability, what each seed gives alone.
TEST_F(TwinEngine, ManyFromOnePromptAreEachWhatItsSeedGivesAlone) {
  const Settings settings = warm();
  for (const std::string_view prompt : {kSum, std::string_view("Thot hev:")}) {
    const GenerationRequest request{
        .prompt = encoded(*engine_, prompt), .max_tokens = 30, .sampling = &settings, .seed = 40};
    std::vector<Written> many(6);
    auto generations =
        engine_->start_many(request, many.size(), [&](std::size_t i) { return many[i].listener(); }).value();
    ASSERT_TRUE(engine_->run().has_value());
    for (std::size_t i = 0; i < many.size(); ++i) {
      GenerationRequest alone = request;
      alone.seed = request.seed + i;
      EXPECT_EQ(write(*engine_, alone), many[i]) << i;
    }
  }
  const GenerationRequest single{.prompt = {65}, .max_tokens = 3};
  Written one;
  const auto generations = engine_->start_many(single, 1, [&](std::size_t) { return one.listener(); }).value();
  ASSERT_TRUE(engine_->run().has_value());
  EXPECT_EQ(one, write(*engine_, single));
}

// most_sequences is what it says, also when all of them fork from one half-filled page.
TEST_F(TwinEngine, AsManyForksAsSequencesFit) {
  const auto engine = load_engine(kTwin, {.most_sequences = 4});
  std::vector<Written> many(4);
  const auto generations = engine->start_many({.prompt = encoded(*engine, kSum), .max_tokens = 10}, 4,
                                              [&](std::size_t i) { return many[i].listener(); });
  ASSERT_TRUE(generations.has_value()) << generations.error().message;
  ASSERT_TRUE(engine->run().has_value());
  for (const Written& written : many) EXPECT_EQ(written.text, "1124");
}

TEST_F(TwinEngine, TooManySequencesIsAnErrorOfTheLastOnly) {
  const auto engine = load_engine(kTwin, {.most_sequences = 1});
  const GenerationRequest request{.prompt = encoded(*engine, kSum), .max_tokens = 10};
  const auto first = engine->start(request).value(), second = engine->start(request).value();
  ASSERT_TRUE(engine->run().has_value());
  EXPECT_EQ(first->take()->reason, FinishReason::end_of_text);
  const auto outcome = second->take();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::no_room);
}

TEST_F(TwinEngine, AnInterruptedRunCanGoOn) {
  const Written expected = write_sum({});
  Written written;
  const auto generation =
      engine_->start({.prompt = encoded(*engine_, kSum), .max_tokens = 20, .listener = written.listener()}).value();
  int batches = 0;
  ASSERT_TRUE(engine_->run([&] { return ++batches > 3; }).has_value());
  EXPECT_FALSE(generation->done());
  EXPECT_GT(generation->state_length(), 0U);
  ASSERT_TRUE(engine_->run().has_value());
  EXPECT_TRUE(generation->done());
  EXPECT_EQ(written, expected);
}

TEST(Engine, BadLogitsNameThePosition) {
  TinyLlama model;
  model.with_vocabulary();
  model.tensors["token_embd.weight"].fill = 3e38F;  // finite, but twice as much is not
  model.tensors["blk.0.attn_output.bias"] = {.dims = {TinyLlama::kHidden}, .fill = 3e38F};
  const TemporaryModel file(model);
  const auto engine = load_engine(file.path());
  const auto generation = engine->start({.prompt = {1, 2, 3}, .max_tokens = 5}).value();
  ASSERT_TRUE(engine->run().has_value());
  const auto outcome = generation->take();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::failed);
  EXPECT_EQ(outcome.error().message.find("position 3: "), 0U) << outcome.error().message;
}

TEST(Engine, AFileThatChangedIsAnError) {
  const TemporaryModel file(TinyLlama{}.with_vocabulary());
  const auto engine = load_engine(file.path());
  const auto generation = engine->start({.prompt = {1, 2, 3}, .max_tokens = 5}).value();
  const auto written = std::filesystem::last_write_time(file.path());
  std::filesystem::last_write_time(file.path(), written + std::chrono::seconds(2));
  const auto outcome = engine->run();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().kind, ErrorKind::model_changed);
  EXPECT_NE(outcome.error().message.find(file.path()), std::string::npos);
}

}  // namespace
}  // namespace plm
