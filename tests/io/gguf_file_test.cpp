// SPDX-License-Identifier: Apache-2.0
#include "io/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "io/gguf_builder.h"
#include "io/safetensors_builder.h"
#include "io/temp_folder.h"
#include "shared_files.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using test::as_bytes;
using test::GgufBuilder;
using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

constexpr std::uint32_t kF32 = 0, kQ4_0 = 2, kQ2_K = 10;

std::string gguf_error(const std::string& bytes) {
  return message_of<Error>([&] { GgufFile::parse(as_bytes(bytes), "m.gguf"); });
}
std::string gguf_error(const GgufBuilder& builder) { return gguf_error(builder.build()); }

GgufBuilder small() {
  GgufBuilder b;
  b.text("general.architecture", "toy").u32("toy.block_count", 3).f32("toy.eps", 0.5f).flag("toy.yes", true);
  b.texts("toy.words", {"a", "", "\xe2\x96\x81"}).i32s("toy.kinds", {1, -3}).f32s("toy.scores", {0, -1.5f});
  b.tensor("w", kF32, {3, 2}, std::string(24, '\1')).tensor("q", kQ4_0, {32, 2}, std::string(36, '\2'));
  b.tensor("other", kQ2_K, {256}, std::string(84, '\3'));
  return b;
}

TEST(GgufFile, GivesMetadataByKeys) {
  const std::string bytes = small().build();
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "m.gguf");
  EXPECT_EQ(file.text("general.architecture"), "toy");
  EXPECT_EQ(file.whole("toy.block_count"), 3);
  EXPECT_EQ(file.find("toy.eps")->real(), 0.5);
  EXPECT_TRUE(file.flag_or("toy.yes", false));
  EXPECT_EQ(file.whole_or("toy.none", 7), 7);
  EXPECT_EQ(file.find("toy.none"), nullptr);
  ASSERT_EQ(file.texts("toy.words")->size(), 3u);
  EXPECT_EQ(file.texts("toy.words")->text(2), "\xe2\x96\x81");
  EXPECT_EQ(file.wholes("toy.kinds")->whole(1), -3);
  EXPECT_EQ(file.reals("toy.scores")->real(1), -1.5);
}

TEST(GgufFile, GivesTensorsRowsFirst) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder b = small();
    b.version = version;
    const std::string bytes = b.build();
    const GgufFile file = GgufFile::parse(as_bytes(bytes), "m.gguf");
    const TensorView& w = file.tensors().tensors().at("w");
    EXPECT_EQ(w.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(w.dtype, DType::f32);
    EXPECT_EQ(w.bytes.size(), 24u);
    const TensorView& q = file.tensors().tensors().at("q");
    EXPECT_EQ(q.dtype, DType::q4_0);
    EXPECT_EQ(q.bytes.size(), 36u);
    EXPECT_EQ(std::to_integer<int>(q.bytes[35]), 2);
    EXPECT_EQ(file.tensors().others().at("other").dtype, "Q2_K");
  }
}

TEST(GgufFile, SaysWhatIsMissingOrOfAnotherKind) {
  const std::string bytes = small().build();
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "m.gguf");
  EXPECT_EQ(message_of<Error>([&] { file.text("toy.none"); }), "m.gguf: toy.none: is missing, expected a text");
  EXPECT_EQ(message_of<Error>([&] { file.text("toy.eps"); }), "m.gguf: toy.eps: expected a text, got something else");
  EXPECT_THAT(message_of<Error>([&] { file.whole("toy.eps"); }), HasSubstr("expected a whole number"));
  EXPECT_THAT(message_of<Error>([&] { file.whole("toy.kinds"); }), HasSubstr("expected a whole number"));
  EXPECT_THAT(message_of<Error>([&] { file.texts("toy.kinds"); }), HasSubstr("expected a list of texts"));
  EXPECT_THAT(message_of<Error>([&] { file.flag_or("toy.eps", true); }), HasSubstr("expected a flag"));
}

TEST(GgufFile, RefusesOtherFormatsAndVersions) {
  EXPECT_THAT(gguf_error(std::string()), HasSubstr("got an empty file"));
  EXPECT_THAT(gguf_error("PK\3\4 and so on and on and on"), HasSubstr("got another format"));
  EXPECT_THAT(gguf_error("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  GgufBuilder b = small();
  b.version = 1;
  EXPECT_THAT(gguf_error(b), HasSubstr("expected GGUF version 2 or 3 in little-endian order, got version 1"));
  b.version = 0x03000000;
  EXPECT_THAT(gguf_error(b), HasSubstr("got big-endian order"));
}

TEST(GgufFile, RefusesEveryBeginningOfAFile) {
  const std::string whole = small().build();
  for (std::size_t n = 0; n + 32 < whole.size(); ++n) EXPECT_NE(gguf_error(whole.substr(0, n)), "") << n;
}

TEST(GgufFile, RefusesTensorsThatDoNotFit) {
  const auto with = [](std::uint32_t type, const std::vector<std::uint64_t>& dims, std::size_t bytes, std::int64_t offset = -1) {
    GgufBuilder b = small();
    return gguf_error(b.tensor("x", type, dims, std::string(bytes, '\0'), offset));
  };
  EXPECT_EQ(with(kF32, {8}, 32), "");
  EXPECT_THAT(with(9999, {8}, 32), HasSubstr("tensor 'x' has the unknown type 9999"));
  EXPECT_THAT(with(4, {32}, 32), HasSubstr("unknown type 4"));
  EXPECT_THAT(with(kQ4_0, {33}, 32), HasSubstr("has rows of 33 numbers, expected a multiple of 32"));
  EXPECT_THAT(with(kF32, {0}, 0), HasSubstr("expected no dimension of 0"));
  EXPECT_THAT(with(kF32, {1ull << 40, 1ull << 40}, 32), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(with(kF32, {1, 1, 1, 1, 1}, 32), HasSubstr("expected 1 to 4 dimensions, got 5"));
  EXPECT_THAT(with(kF32, {}, 32), HasSubstr("expected 1 to 4 dimensions, got 0"));
  EXPECT_THAT(with(kF32, {8}, 32, 1ll << 40), HasSubstr("is the download complete?"));
  EXPECT_THAT(with(kF32, {9}, 32, 192), HasSubstr("outside the 224 bytes of data"));
  EXPECT_THAT(with(kF32, {8}, 32, 193), HasSubstr("expected a multiple of 32"));
  EXPECT_THAT(with(kF32, {8}, 32, 64), HasSubstr("without overlap"));
  EXPECT_THAT(with(kF32, {8}, 64, 224), HasSubstr("without a hole"));
  EXPECT_THAT(with(kF32, {8}, 96), HasSubstr("expected the end of the data"));
  GgufBuilder twice = small();
  EXPECT_THAT(gguf_error(twice.tensor("w", kF32, {8}, std::string(32, '\0'))), HasSubstr("tensor 'w' is listed twice"));
}

TEST(GgufFile, RefusesMetadataThatDoesNotFit) {
  const auto with = [](std::uint32_t kind, const std::string& value) {
    GgufBuilder b = small();
    return gguf_error(b.pair("x", kind, value));
  };
  const auto n = [](std::uint64_t x) { return GgufBuilder::bytes_of(x); };
  const auto kind = [](std::uint32_t x) { return GgufBuilder::bytes_of(x); };
  EXPECT_THAT(with(99, ""), HasSubstr("'x': expected a kind of value of 0 to 12, got 99"));
  EXPECT_THAT(with(8, n(~0ull)), HasSubstr("'x'"));
  EXPECT_THAT(with(9, kind(6) + n(1ull << 61)), HasSubstr("is the download complete?"));
  EXPECT_THAT(with(9, kind(8) + n(1ull << 61)), HasSubstr("texts"));
  EXPECT_THAT(with(9, kind(9) + n(1)), HasSubstr("lists of lists are not read"));
  EXPECT_THAT(with(7, "\2"), HasSubstr("expected flags of 0 or 1, got 2"));
  GgufBuilder twice = small();
  EXPECT_THAT(gguf_error(twice.u32("toy.block_count", 4)), HasSubstr("'toy.block_count' is there twice"));
  for (const std::uint32_t alignment : {0u, 3u, 1u << 20}) {
    GgufBuilder b = small();
    EXPECT_THAT(gguf_error(b.u32("general.alignment", alignment)), HasSubstr("expected a power of two"));
  }
  GgufBuilder b = small();
  EXPECT_THAT(gguf_error(b.text("general.alignment", "32")), HasSubstr("general.alignment: expected a whole number"));
}

TEST(GgufFile, PlacesDataByTheFilesAlignment) {
  GgufBuilder b;
  b.alignment = 128;
  b.u32("general.alignment", 128).tensor("a", kF32, {1}, "1234").tensor("b", kF32, {1}, "5678");
  const std::string bytes = b.build();
  const GgufFile file = GgufFile::parse(as_bytes(bytes), "m");
  EXPECT_EQ(static_cast<char>(file.tensors().tensors().at("b").bytes[0]), '5');
}

TEST(GgufFile, OpensAFileAndKnowsOneByItsBeginning) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", small().build());
  EXPECT_TRUE(GgufFile::is_one(path));
  EXPECT_FALSE(GgufFile::is_one(folder.write("x", "GGU")));
  EXPECT_FALSE(GgufFile::is_one(folder.path()));
  EXPECT_EQ(GgufFile::open(path).tensors().tensors().size(), 2u);
  EXPECT_THAT(message_of<Error>([&] { GgufFile::open(folder / "none.gguf"); }), HasSubstr("none.gguf"));
}

/// Broken files of another hand: none is a model, and none may be more than a sentence.
TEST(GgufFile, RefusesHostileFiles) {
  const fs::path hostile = test::shared_file("models/gguf/hostile");
  if (!fs::exists(hostile)) GTEST_SKIP() << "no hostile files; set KVSCOPE_SHARED to the folder above models/";
  int n = 0;
  for (const auto& entry : fs::directory_iterator(hostile)) {
    if (entry.path().extension() != ".gguf") continue;
    const std::string name = entry.path().filename().string(), number = name.substr(0, name.find('-'));
    // Well-formed containers, which the opening of a model refuses.
    const bool fine = number == "00" || number == "07d" || number == "12" || number == "14" || number == "14b";
    const std::string message = message_of<Error>([&] { GgufFile::open(entry.path().string()); });
    EXPECT_EQ(message.empty(), fine) << name << ": " << message;
    ++n;
  }
  EXPECT_GT(n, 30);
}

}  // namespace
}  // namespace kvscope
