#include "engine/prefix_cache.h"

#include <gtest/gtest.h>

#include "engine/engine_runs.h"
#include "model/tiny_llama.h"
#include "state/host_memory.h"

namespace plm {
namespace {

using Tokens = std::vector<TokenId>;

class PrefixCacheTest : public testing::Test {
 protected:
  void keep(const Tokens& tokens) {
    SequenceState state(pool_);
    std::vector<PageCopy> copies;
    ASSERT_TRUE(state.reserve(tokens.size(), copies).has_value());
    state.keep(tokens.size());
    cache_.keep(tokens, state);
  }
  std::size_t length_for(const Tokens& tokens) { return cache_.longest(tokens).length(); }

  HostMemory memory_;
  PagePool pool_{memory_, 64, 3};
  PrefixCache cache_{pool_};
};

TEST_F(PrefixCacheTest, FindsTheEntryThatAgreesLongest) {
  EXPECT_EQ(length_for({1, 2}), 0U);
  keep({1, 2, 3, 4});
  keep({1, 5, 6});
  EXPECT_EQ(length_for({1, 2, 3, 9}), 3U);
  EXPECT_EQ(length_for({1, 5}), 2U);
  EXPECT_EQ(length_for({1, 5, 6, 7}), 3U);
  EXPECT_EQ(length_for({2}), 0U);
  EXPECT_EQ(length_for({}), 0U);
}

TEST_F(PrefixCacheTest, ALongerTextReplacesItsBeginning) {
  keep({1, 2});
  keep({1, 2, 3});
  EXPECT_EQ(cache_.size(), 1U);
  keep({1, 2, 4});
  EXPECT_EQ(cache_.size(), 2U);
}

TEST_F(PrefixCacheTest, TheEntryUnusedForLongestGoesFirst) {
  keep({1});
  keep({2});
  EXPECT_EQ(length_for({1}), 1U);
  EXPECT_TRUE(cache_.forget_oldest());
  EXPECT_EQ(length_for({2}), 0U);
  EXPECT_EQ(length_for({1}), 1U);
  EXPECT_TRUE(cache_.forget_oldest());
  EXPECT_FALSE(cache_.forget_oldest());
}

TEST_F(PrefixCacheTest, PagesThatEntriesHoldAreThereForWhoeverNeedsThem) {
  pool_.set_reclaim([this] { return cache_.forget_oldest(); });
  keep({1});
  keep({2});
  std::vector<Page> pages;
  for (int i = 0; i < 3; ++i) pages.push_back(pool_.take().value());
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_FALSE(pool_.take().has_value());
}

// A conversation through the engine: with and without reuse the same bits, and only what is new is computed.
class ReuseTest : public testing::Test {
 protected:
  const std::string path_ = std::string(PLM_MODELS) + "/twin-ar.gguf";
  std::unique_ptr<Engine> engine_ = load_engine(path_, {.context_length = 96, .most_sequences = 2});

  std::size_t reused(GenerationRequest request, Written& written) {
    request.reuse_prefix = true;
    request.listener = written.listener();
    const auto generation = engine_->start(std::move(request)).value();
    EXPECT_TRUE(engine_->run().has_value());
    EXPECT_TRUE(generation->take().has_value());
    return generation->reused_tokens();
  }
};

TEST_F(ReuseTest, ChangesNoBitAndComputesOnlyWhatIsNew) {
  GenerationRequest request{.prompt = encoded(*engine_, "A385+739="), .max_tokens = 20, .ignore_end = true};
  Written first;
  EXPECT_EQ(reused(request, first), 0U);
  EXPECT_EQ(first, write(*engine_, request));

  const auto continuation = encoded(*engine_, "A1+1=");
  Tokens grown = request.prompt;
  grown.insert(grown.end(), first.ids.begin(), first.ids.end());
  const std::size_t known = grown.size() - 1;  // the last token was drawn, never read
  grown.insert(grown.end(), continuation.begin(), continuation.end());
  Written second;
  request.prompt = grown;
  EXPECT_EQ(reused(request, second), known);
  EXPECT_EQ(second, write(*engine_, request));

  // An edited turn: the part before the edit is kept.
  request.prompt[12] = request.prompt[3];
  Written edited;
  EXPECT_EQ(reused(request, edited), 12U);
  EXPECT_EQ(edited, write(*engine_, request));
  Written again;
  EXPECT_EQ(reused(request, again), request.prompt.size() - 1);
  EXPECT_EQ(again, edited);
}

}  // namespace
}  // namespace plm
