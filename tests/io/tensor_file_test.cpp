// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope {
namespace {

using test::as_bytes;
using test::message_of;
using test::safetensors;
using testing::HasSubstr;

constexpr std::string_view kTwoTensors =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

std::string tensors_error(const std::string& bytes) {
  return message_of<Error>([&] { TensorFile::parse(as_bytes(bytes), "m.safetensors"); });
}
/// The message for a header over n_data bytes of data.
std::string header_error(std::string_view header, std::size_t n_data = 0) { return tensors_error(safetensors(header, n_data)); }

TEST(TensorFile, GivesShapeTypeAndBytesOfEveryTensor) {
  const std::string bytes = safetensors(kTwoTensors, 22);
  const TensorFile file = TensorFile::parse(as_bytes(bytes), "m");
  ASSERT_EQ(file.tensors().size(), 2u);
  const TensorView& a = file.tensors().at("a");
  EXPECT_EQ(a.dtype, DType::f32);
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(a.bytes.size(), 16u);
  EXPECT_EQ(std::to_integer<int>(a.bytes[5]), 5);
  const TensorView& b = file.tensors().at("b");
  EXPECT_EQ(b.dtype, DType::f16);
  EXPECT_EQ(std::to_integer<int>(b.bytes[0]), 16);
  EXPECT_TRUE(file.others().empty());
}

TEST(TensorFile, ListsIntegerTensorsWithoutAView) {
  const std::string bytes = safetensors(
      R"({"ids":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},"w":{"dtype":"BF16","shape":[],"data_offsets":[16,18]}})", 18);
  const TensorFile file = TensorFile::parse(as_bytes(bytes), "m");
  EXPECT_EQ(file.others().at("ids").dtype, "I64");
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_TRUE(file.tensors().at("w").shape.empty());  // a scalar
}

TEST(TensorFile, AcceptsAnEmptyTensorAndTrailingSpacesInTheHeader) {
  const std::string bytes = safetensors(R"({"w":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}}   )", 0);
  EXPECT_EQ(TensorFile::parse(as_bytes(bytes), "m").tensors().at("w").bytes.size(), 0u);
}

TEST(TensorFile, ReadsAFileOfOtherWritersAndKeepsItMappedWhileViewsAreUsed) {
  const TensorFile file = TensorFile::open(in_checkout("tests/golden/tiny-gqa/model.safetensors"));
  const TensorView& embedding = file.tensors().at("model.embed_tokens.weight");
  EXPECT_EQ(embedding.shape, (std::vector<std::int64_t>{64, 32}));
  EXPECT_EQ(embedding.bytes.size(), 64u * 32 * 4);
  const TensorFile copy = file;  // shares the map
  EXPECT_EQ(copy.tensors().at("model.embed_tokens.weight").bytes.data(), embedding.bytes.data());
}

TEST(TensorFile, RefusesEveryShorterFile) {
  const std::string whole = safetensors(kTwoTensors, 22);
  EXPECT_EQ(tensors_error(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string error = tensors_error(whole.substr(0, length));
    EXPECT_THAT(error, HasSubstr("m.safetensors: ")) << "at length " << length;
  }
}

TEST(TensorFile, RefusesALongerFile) {
  EXPECT_THAT(tensors_error(safetensors(kTwoTensors, 23)), HasSubstr("end at 22, expected the end of the data at 23"));
}

TEST(TensorFile, RefusesAHeaderLengthBeyondTheLimitOrTheFile) {
  std::string huge = safetensors("{}", 0);
  huge[7] = '\x7f';
  EXPECT_THAT(tensors_error(huge), HasSubstr("at most 100000000"));
  std::string beyond = safetensors("{}", 0);
  beyond[0] = 3;
  EXPECT_THAT(tensors_error(beyond), HasSubstr("should have 3 bytes, the file has 2"));
}

TEST(TensorFile, SaysWhatAForeignFileIs) {
  EXPECT_THAT(tensors_error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), HasSubstr("Git LFS pointer"));
  EXPECT_THAT(tensors_error(std::string("PK\3\4 a zip with a pickle inside")), HasSubstr("another format"));
  EXPECT_THAT(tensors_error(safetensors("[1]", 0)), HasSubstr("expected a safetensors header"));
}

TEST(TensorFile, RefusesOverlapsAndHoles) {
  EXPECT_THAT(
      header_error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
      HasSubstr("'b' begins at 4, expected 8 (the tensors must follow each other without overlap)"));
  EXPECT_THAT(
      header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
      HasSubstr("without a hole"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), HasSubstr("expected 0"));
}

TEST(TensorFile, RefusesOffsetsOutsideTheDataAndBackwards) {
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3), HasSubstr("outside the 3 bytes of data"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), HasSubstr("[4, 0)"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})", 4),
              HasSubstr("outside"));
}

TEST(TensorFile, RefusesAShapeThatDoesNotFillItsBytes) {
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("F32 [3] needs 12 bytes, its data_offsets span 8"));
  // 2^32 * 2^32 * 4 wraps to 0 in 64 bits
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"), HasSubstr("more than 2^63"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[18446744073709551615,0],"data_offsets":[0,0]}})"), HasSubstr("more than 2^63"));
}

TEST(TensorFile, RefusesHeadersThatAreNotTheFormat) {
  EXPECT_THAT(header_error("{"), HasSubstr("JSON"));
  EXPECT_THAT(header_error("{}garbage"), HasSubstr("JSON"));
  EXPECT_THAT(header_error(R"({"a":1})"), HasSubstr("expected an object for tensor 'a'"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1]}})"), HasSubstr("has no \"data_offsets\""));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"), HasSubstr("expected two data_offsets, got 1"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})"), HasSubstr("a longer list"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"), HasSubstr("got -1"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})"), HasSubstr("not a 64-bit unsigned integer"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})"), HasSubstr("a list"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})"), HasSubstr("at most 8"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F9","shape":[1],"data_offsets":[0,4]}})", 4), HasSubstr("unknown dtype 'F9'"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})"), HasSubstr("twice the key 'dtype'"));
  EXPECT_THAT(
      header_error(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
      HasSubstr("'a' is listed twice"));
  EXPECT_THAT(header_error(R"({"__metadata__":{"k":{"deep":1}}})"), HasSubstr("__metadata__"));
}

TEST(TensorFile, SurvivesHostileNesting) {
  EXPECT_NE(header_error("{\"a\":" + std::string(5'000'000, '[')), "");
  EXPECT_NE(header_error("{\"a\":{\"shape\":" + std::string(5'000'000, '[')), "");
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += "{\"a\":";
  EXPECT_NE(header_error(objects), "");
}

TEST(TensorFile, KeepsItsMessagesOneShortLineWhateverANameHolds) {
  const std::string error = header_error("{\"" + std::string(100'000, 'x') + "\\n\":1}");
  EXPECT_LT(error.size(), 400u);
  EXPECT_THAT(header_error(R"({"two\nlines":1})"), HasSubstr("'two?lines'"));
}

}  // namespace
}  // namespace kvscope
