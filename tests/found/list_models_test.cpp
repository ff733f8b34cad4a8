// SPDX-License-Identifier: Apache-2.0
#include "found/list_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "arch/model_files.h"
#include "found/fake_caches.h"
#include "found/usual_places.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using test::FakeCaches;
using test::GgufBuilder;
using test::message_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<FoundModel> listed(const fs::path& path, const ListOptions& options = {}) {
  return list_models({{"here", path.string()}}, options);
}

std::vector<std::string> names_of(const std::vector<FoundModel>& rows) {
  std::vector<std::string> out;
  for (const FoundModel& row : rows) out.push_back(row.name);
  return out;
}

std::string reason(const fs::path& model) {
  return message_of<Error>([&] { open_model(model.string()); });
}

TEST(UsualPlaces, AreWhatTheVariablesSayOrElseInTheHome) {
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}};
  const auto places = [&] {
    std::vector<std::string> out;
    for (const ModelPlace& p : usual_places([&](const char* name) {
           const auto found = variables.find(name);
           return found == variables.end() ? nullptr : found->second.c_str();
         }))
      out.push_back(p.label + " " + p.path);
    return out;
  };
  EXPECT_THAT(places(), ElementsAre("Hugging Face /home/me/.cache/huggingface/hub", "Ollama /home/me/.ollama/models",
                                    "Ollama /usr/share/ollama/.ollama/models", "LM Studio /home/me/.lmstudio/models",
                                    "LM Studio /home/me/.cache/lm-studio/models", "llama.cpp /home/me/.cache/llama.cpp"));
  EXPECT_EQ(usual_places().front().path, (fs::current_path() / "models").string());
  variables["HF_HOME"] = "~/hf";
  variables["OLLAMA_MODELS"] = "/big/ollama";
  variables["LLAMA_CACHE"] = "/big/llama";
  EXPECT_THAT(places(),
              ElementsAre("Hugging Face /home/me/hf/hub", "Ollama /big/ollama", "Ollama /usr/share/ollama/.ollama/models",
                          "LM Studio /home/me/.lmstudio/models", "LM Studio /home/me/.cache/lm-studio/models", "llama.cpp /big/llama"));
  variables["HF_HUB_CACHE"] = "/big/hub";
  EXPECT_EQ(places().front(), "Hugging Face /big/hub");
  variables = {};
  EXPECT_THAT(places(), ElementsAre("Ollama /usr/share/ollama/.ollama/models"));
}

TEST(ListModels, OfTheHuggingFaceCacheAreTheFilesOfTheRevisionThatMainNames) {
  const FakeCaches caches;
  const fs::path repository = caches.repository("models--org--tiny");
  caches.checkpoint("hub/models--org--tiny/snapshots/old");
  caches.write("hub/datasets--org--texts/refs/main", "abc");
  fs::create_directories(caches.path("hub/.locks"));
  const std::vector<FoundModel> rows = list_models({{"Hugging Face", caches.path("hub").string()}});
  ASSERT_THAT(rows, SizeIs(1));
  const FoundModel& row = rows[0];
  EXPECT_EQ(row.name, "org/tiny");
  EXPECT_EQ(row.place, "Hugging Face");
  EXPECT_EQ(row.path, (repository / "snapshots/abc").string());
  EXPECT_EQ(row.family, "llama");
  EXPECT_EQ(row.problem, "");
  const ModelFiles model = open_model(row.path);
  EXPECT_EQ(row.weight_bytes, model.weight_bytes);
  EXPECT_EQ(row.disk_bytes, fs::file_size(repository / "blobs/config.json") + fs::file_size(repository / "blobs/model.safetensors"));
}

TEST(ListModels, WithoutARefTheNewestRevisionCounts) {
  const FakeCaches caches;
  caches.checkpoint("hub/models--a--b/snapshots/1");
  caches.checkpoint("hub/models--a--b/snapshots/2");
  fs::last_write_time(caches.path("hub/models--a--b/snapshots/2"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto rows = listed(caches.path("hub"));
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].path, testing::EndsWith("snapshots/1"));
  EXPECT_TRUE(rows[0].opens());
}

TEST(ListModels, ADamagedRepositoryIsARowWithTheReason) {
  const FakeCaches caches;
  caches.write("hub/models--a--outside/refs/main", "../../models--a--b/snapshots/1");
  caches.write("hub/models--b--gone/refs/main", "abc\n");
  fs::create_directories(caches.path("hub/models--c--empty/snapshots"));
  caches.write("hub/models--d--tokenizer/snapshots/1/tokenizer.json", "{}");
  caches.link("hub/models--e--dangling/snapshots/1/config.json", "../../blobs/none");
  fs::create_directories(caches.path("hub/models--f--pipe/refs"));
  ASSERT_EQ(::mkfifo(caches.path("hub/models--f--pipe/refs/main").c_str(), 0600), 0);
  const auto rows = listed(caches.path("hub"));
  ASSERT_THAT(names_of(rows), ElementsAre("a/outside", "b/gone", "c/empty", "d/tokenizer", "e/dangling", "f/pipe"));
  EXPECT_THAT(rows[0].problem, AllOf(HasSubstr("refs/main"), HasSubstr("expected the name of a revision")));
  EXPECT_THAT(rows[1].problem, AllOf(HasSubstr("'abc'"), HasSubstr("is the download complete?")));
  EXPECT_THAT(rows[2].problem, HasSubstr("holds no revision"));
  EXPECT_EQ(rows[3].problem, reason(rows[3].path));
  EXPECT_EQ(rows[4].problem, reason(rows[4].path));
  EXPECT_THAT(rows[5].problem, HasSubstr("refs/main"));
}

TEST(ListModels, OfOllamaAreTheFilesThatManifestsName) {
  const FakeCaches caches;
  caches.gguf(FakeCaches::blob('a'));
  caches.gguf(FakeCaches::blob('b'));
  caches.manifest("registry.ollama.ai/library/tiny/1b", 'a');
  caches.manifest("hf.co/org/repo/Q8_0", 'b');
  const auto rows = listed(caches.path("ollama"));
  ASSERT_THAT(names_of(rows), ElementsAre("hf.co/org/repo:Q8_0", "tiny:1b"));
  EXPECT_EQ(rows[1].path, caches.path(FakeCaches::blob('a')).string());
  for (const FoundModel& row : rows) EXPECT_EQ(row.problem, "");
}

TEST(ListModels, AManifestThatLeadsNowhereIsARowWithTheReason) {
  const FakeCaches caches;
  fs::create_directories(caches.path("ollama/blobs"));
  const std::string library = "ollama/manifests/registry.ollama.ai/library/";
  const std::string head = R"({"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":)";
  caches.write(library + "broken/1", "{\"layers\": [");
  caches.write(library + "cloud/1", R"({"layers":[]})");
  caches.write(library + "deep/1", std::string(100'000, '['));
  caches.manifest("registry.ollama.ai/library/gone/1", 'c');
  caches.write(library + "number/1", R"({"layers":7})");
  caches.write(library + "outside/1", head + R"("sha256:../../../../etc/passwd"}]})");
  fs::create_directories(caches.path(library + "pipe"));
  ASSERT_EQ(::mkfifo(caches.path(library + "pipe/1").c_str(), 0600), 0);
  caches.link(library + "round", "..");
  const auto rows = listed(caches.path("ollama"));
  ASSERT_THAT(names_of(rows), ElementsAre("broken:1", "cloud:1", "deep:1", "gone:1", "number:1", "outside:1", "pipe:1"));
  for (const FoundModel& row : rows) EXPECT_THAT(row.problem, HasSubstr(row.name == "gone:1" ? "is missing" : row.path)) << row.name;
  EXPECT_THAT(rows[1].problem, HasSubstr("names no layer of the type application/vnd.ollama.image.model"));
  EXPECT_THAT(rows[5].problem, AllOf(HasSubstr("64 hexadecimal digits"), HasSubstr("passwd")));
}

TEST(ListModels, OfFoldersAreCheckpointsAndGgufsOnceEach) {
  const FakeCaches caches;
  const fs::path gguf = caches.gguf("models/publisher/repo/tiny-Q8_0.gguf");
  caches.write("models/publisher/repo/mmproj-tiny-F16.gguf", "no model");
  caches.checkpoint("models/mine");
  caches.write("models/mine/onnx/config.json", "{}");
  caches.link("models/mine again", "mine");
  caches.link("models/same.gguf", gguf);
  caches.write("models/project/config.json", "{}");  // of something else
  const auto rows = listed(caches.path("models"));
  ASSERT_THAT(names_of(rows), ElementsAre("same", "mine"));
  EXPECT_TRUE(rows[0].opens()) << rows[0].problem;
  EXPECT_EQ(rows[0].disk_bytes, fs::file_size(gguf));
  EXPECT_THAT(names_of(list_models({{"LM Studio", caches.path("models/publisher").string()}, {"opened", gguf.string()}})),
              ElementsAre("repo/tiny-Q8_0"));
  EXPECT_THAT(names_of(listed(caches.path("models/mine/"))), ElementsAre("mine"));
  EXPECT_THAT(names_of(listed(gguf)), ElementsAre("tiny-Q8_0"));
  EXPECT_THAT(listed(caches.path("none")), IsEmpty());
}

TEST(ListModels, AModelInSeveralFilesIsOneRow) {
  const FakeCaches caches;
  const auto part = [](std::uint32_t number) {
    return GgufBuilder().text("general.architecture", "llama").u32("split.count", 2).u32("split.no", number).build();
  };
  caches.write("models/big-00001-of-00002.gguf", part(0));
  caches.write("models/big-00002-of-00002.gguf", part(1));
  caches.write("models/half-00002-of-00002.gguf", part(1));
  const auto rows = listed(caches.path("models"));
  ASSERT_THAT(names_of(rows), ElementsAre("big", "half"));
  EXPECT_EQ(rows[0].path, caches.path("models/big-00001-of-00002.gguf").string());
  EXPECT_EQ(rows[0].disk_bytes, part(0).size() + part(1).size());
  EXPECT_EQ(rows[0].problem, reason(rows[0].path));
  EXPECT_THAT(rows[1].problem, HasSubstr("is part 2 of 2"));
}

TEST(ListModels, WhatDoesNotOpenSaysWhyAsOpeningItDoes) {
  const FakeCaches caches;
  caches.checkpoint("models/experts");
  caches.write("models/experts/config.json", R"({"model_type":"mixtral","vocab_size":10})");
  caches.checkpoint("models/json");
  caches.write("models/json/config.json", "{");
  caches.write("models/pickled/config.json", R"({"model_type":"llama"})");
  caches.write("models/pickled/pytorch_model.bin", "");
  caches.write("models/projector.gguf",
               GgufBuilder().text("general.architecture", "clip").tensor("v", 14, {256, 1}, std::string(210, '\0')).build());
  caches.write("models/words.gguf", "words");
  caches.link("models/nowhere.gguf", "none");
  caches.link("models/round.gguf", "round.gguf");
  ASSERT_EQ(::mkfifo(caches.path("models/pipe.gguf").c_str(), 0600), 0);
  const auto rows = listed(caches.path("models"));
  ASSERT_THAT(names_of(rows), ElementsAre("nowhere", "pipe", "projector", "round", "words", "experts", "json", "pickled"));
  for (const FoundModel& row : rows) {
    EXPECT_FALSE(row.opens()) << row.name;
    EXPECT_EQ(row.problem, reason(row.path)) << row.name;
    EXPECT_TRUE(std::isnan(row.weight_bytes)) << row.name;
  }
  EXPECT_EQ(rows[2].family, "clip");
  EXPECT_EQ(rows[2].numbers, "Q6_K");
  EXPECT_EQ(rows[5].family, "mixtral");
  EXPECT_THAT(rows[5].problem, HasSubstr("experts (MoE)"));
  EXPECT_THAT(rows[5].numbers, testing::Not(IsEmpty()));
}

TEST(ListModels, MemoryIsWeightsAndTheFullCacheAsFarAsTheModelGoes) {
  const FakeCaches caches;
  const fs::path folder = caches.checkpoint("models/tiny");
  const FoundModel row = listed(folder).at(0);
  const ModelConfig config = open_model(folder.string()).config;
  for (std::size_t i = 0; i < kFoundContexts.size(); ++i) {
    const int n = kFoundContexts[i];
    EXPECT_EQ(std::isnan(row.run_bytes[i]), n > config.max_positions) << n;
    if (n > config.max_positions) continue;
    EXPECT_EQ(row.run_bytes[i], row.weight_bytes + 2.0 * n * config.n_layers * config.kv_dim() * 4);
  }
  ListOptions little;
  little.memory = 1000;
  const FoundModel tight = listed(folder, little).at(0);
  EXPECT_THAT(tight.problem, HasSubstr("expected a model that fits into the 1000 B of memory"));
  EXPECT_EQ(tight.weight_bytes, row.weight_bytes);
}

TEST(ListModels, AFileThatPromisesMoreThanItHasIsRefusedAtOnce) {
  const FakeCaches caches;
  const std::uint64_t texts = std::uint64_t(1) << 32;
  const std::string list = GgufBuilder::bytes_of(std::uint32_t(8)) + GgufBuilder::bytes_of(texts);
  const fs::path path = caches.write("models/hole.gguf", GgufBuilder().text("general.architecture", "llama").pair("t", 9, list).build());
  fs::resize_file(path, texts * 8 + 4096);  // a hole: so many empty texts would be there
  const auto rows = listed(caches.path("models"));
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].problem, HasSubstr("expected at most 16777216 in all lists"));
}

TEST(ListModels, FoldersThatGoRoundOrTooDeepEnd) {
  const FakeCaches caches;
  caches.checkpoint("models/a/b/tiny");
  caches.link("models/a/round", "..");
  caches.link("models/a/b/up", caches.path("models"));
  caches.checkpoint("models/1/2/3/4/5/6/7/deep");
  EXPECT_THAT(names_of(listed(caches.path("models"))), ElementsAre("a/b/tiny"));
}

TEST(ListModels, MoreThanIsLookedThroughIsSaid) {
  const FakeCaches caches;
  for (int i = 0; i < 20; ++i) caches.write("models/" + std::to_string(10 + i) + ".gguf", "x");
  ListOptions options;
  options.limits.models = 3;
  const auto few_models = listed(caches.path("models"), options);
  ASSERT_THAT(few_models, SizeIs(4));
  EXPECT_THAT(few_models[3].problem, HasSubstr("expected at most 3 models"));
  options.limits = {};
  options.limits.entries = 5;
  const auto few_entries = listed(caches.path("models"), options);
  ASSERT_THAT(few_entries, SizeIs(6));
  EXPECT_EQ(std::ranges::count_if(few_entries, [](const FoundModel& m) { return m.problem.find("at most 5 files") != std::string::npos; }),
            1);
}

TEST(ListModels, TellsOfEveryModelAndStopsWhenAsked) {
  const FakeCaches caches;
  for (const char* name : {"models/a", "models/b", "models/c"}) caches.checkpoint(name);
  std::vector<std::string> seen;
  CancelToken cancel;
  ListOptions options;
  options.cancel = &cancel;
  options.on_model = [&](const FoundModel& row, std::size_t done, std::size_t all) {
    seen.push_back(row.name + " " + std::to_string(done) + "/" + std::to_string(all));
    if (done == 2) cancel.cancel();
  };
  EXPECT_THROW(listed(caches.path("models"), options), Cancelled);
  EXPECT_THAT(seen, ElementsAre("a 1/3", "b 2/3"));
  EXPECT_THROW(listed(caches.path("models"), options), Cancelled);  // already while it looks for them
}

TEST(ListModels, AFolderThatMayNotBeReadIsARow) {
  const FakeCaches caches;
  caches.checkpoint("models/closed/tiny");
  caches.write("models/words", "no folder");
  ASSERT_EQ(::chmod(caches.path("models/closed").c_str(), 0), 0);
  const auto rows = listed(caches.path("models"));
  ::chmod(caches.path("models/closed").c_str(), 0700);
  if (!rows.empty() && rows[0].opens()) GTEST_SKIP() << "this user may read everything";
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].problem, AllOf(HasSubstr("closed"), HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace kvscope
