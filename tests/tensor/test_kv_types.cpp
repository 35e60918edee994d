#include "tensor/kv_types.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

TEST(KvTypes, AreReadAsTheyAreWritten) {
  for (const char* text : {"f32", "f16", "bf16", "q8_0", "q4_0", "q8_0/q4_0", "f16/q8_0"}) {
    EXPECT_EQ(parse_kv_types(text).value().name(), text);
  }
  EXPECT_EQ(parse_kv_types("q8_0/q4_0").value(), KvTypes(quant_q8_0, quant_q4_0));
  EXPECT_EQ(parse_kv_types("q8_0/q8_0").value().name(), "q8_0");
  EXPECT_EQ(parse_kv_types("F16").value(), KvTypes(quant_f16));
}

TEST(KvTypes, OthersAreRefusedByName) {
  for (const char* text : {"", "/", "q8_0/", "/q8_0", "q8_0/q4_0/f16", "q4_k", "int8", "f16 "}) {
    const auto refused = parse_kv_types(text);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_NE(refused.error().message.find("f32, f16, bf16, q8_0, q4_0"), std::string::npos) << refused.error().message;
  }
}

TEST(KvTypes, FitWhereTheirBlocksDivideTheHead) {
  EXPECT_EQ(kv_type_names(64), "f32, f16, bf16, q8_0, q4_0");
  EXPECT_EQ(kv_type_names(80), "f32, f16, bf16");
}

TEST(KvTypes, OnlyTheCoarsestIsRotated) {
  for (const StorageType* type : {&quant_f32, &quant_f16, &quant_bf16, &quant_q8_0}) {
    EXPECT_EQ(kv_rotation(*type, 64), 0U);
  }
  EXPECT_EQ(kv_rotation(quant_q4_0, 64), 64U);
  EXPECT_EQ(kv_rotation(quant_q4_0, 256), 256U);
  EXPECT_EQ(kv_rotation(quant_q4_0, 96), 32U);
  EXPECT_EQ(kv_rotation(quant_q4_0, 192), 64U);
}

}  // namespace
}  // namespace plm
