// SPDX-License-Identifier: Apache-2.0
// What runs kept goes into a file, and the policy that comes with a file repeats it: the same slots and the same figures, to the bit.
#include "trace/kept_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "io/kept_file_reader.h"
#include "io/temp_folder.h"
#include "policy/catalog.h"
#include "runtime/runs.h"

namespace kvscope {
namespace {

using testing::expect_same_number;
using ::testing::HasSubstr;
using testing::open_session;
using testing::random_ids;
using testing::run;
using testing::tiny_model;

class KeptWriterTest : public ::testing::Test {
 protected:
  KeptWriterTest() : session(open_session(tiny_model())) {}

  RunRequest request(const std::vector<std::string>& lanes) {
    RunRequest out;
    out.prompt_ids = random_ids(40, 64, 5);
    out.n_generate = 6;
    out.detail = Detail::slots;
    out.lanes = parse_lane_specs(lanes);
    return out;
  }
  std::string refusal(const RunRequest& request) {
    try {
      run(session, request);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }

  Session session;
  test::TempFolder folder;
};

TEST_F(KeptWriterTest, RunsAreRepeatedFromTheirFile) {
  const std::vector<std::string> lanes = {"full",
                                          "h2o:slots=12",
                                          "snapkv:ratio=0.4",
                                          "adakv:ratio=0.4",
                                          "streaming:slots=9,positions=original",
                                          "random:slots=8",
                                          "streaming:slots=9",
                                          "finch:ratio=0.4,window=6",
                                          "custom:stat=mean,positions=cache,slots=12",
                                          R"(prefill_decode:prefill="streaming:slots=16",decode="streaming:slots=12")"};
  const Snapshot first = run(session, request(lanes));
  const std::string path = folder.write("kept.json", KeptWriter::text_of(first));
  std::vector<std::string> given = {"full"};
  for (const KeptFile::Run& run : read_kept_file(path).runs) given.push_back(given_spec(path, run.name));
  const Snapshot again = run(session, request(given));
  ASSERT_EQ(again.lanes.size(), first.lanes.size());
  for (std::size_t l = 1; l < lanes.size(); ++l) {
    SCOPED_TRACE(lanes[l]);
    ASSERT_EQ(again.lanes[l].steps.size(), first.lanes[l].steps.size());
    for (std::size_t s = 0; s < first.lanes[l].steps.size(); ++s) {
      const StepRecord &a = *first.lanes[l].steps[s], &b = *again.lanes[l].steps[s];
      expect_same_number(a.kl, b.kl, "KL of step " + std::to_string(s));
      expect_same_number(a.nll, b.nll, "nll of step " + std::to_string(s));
      for (std::size_t h = 0; h < a.heads.size(); ++h) {
        EXPECT_EQ(a.heads[h].pos, b.heads[h].pos) << "step " << s << " head " << h;
        expect_same_number(a.heads[h].local_l1_wo, b.heads[h].local_l1_wo, "head " + std::to_string(h));
      }
    }
  }
}

TEST_F(KeptWriterTest, HoldsTextMergesAndOnlyStepsInWhichSomethingLeft) {
  const Snapshot snapshot = run(session, request({"full", "keepkv:slots=12", "snapkv:slots=12"}));
  const KeptFile file = read_kept_file(folder.write("kept.json", KeptWriter::text_of(snapshot)));
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(file.n_prompt, 40);
  EXPECT_EQ(file.tokens.size(), snapshot.tokens.size());
  EXPECT_EQ(file.model, snapshot.model.name);
  EXPECT_EQ(file.runs[0].steps.size(), snapshot.lanes[1].steps.size()) << "in every step";
  EXPECT_GT(file.runs[0].n_merges, 0);
  EXPECT_EQ(file.runs[1].steps.size(), 1u) << "once, after the prompt";
  EXPECT_EQ(file.runs[1].n_merges, 0);
}

TEST_F(KeptWriterTest, WhereKeysStandIsWrittenAndGoesOnFromFileToFile) {
  const std::string path =
      folder.write("kept.json", KeptWriter::text_of(run(session, request({"full", "streaming:slots=9", "h2o:slots=12"}))));
  const Snapshot given = run(session, request({"full", given_spec(path, "streaming:slots=9"), given_spec(path, "h2o:slots=12")}));
  EXPECT_EQ(std::ranges::count(given.lanes[1].params, "positions", &ParamText::key), 1) << "it is shown";
  const KeptFile again = read_kept_file(folder.write("again.json", KeptWriter::text_of(given)));
  ASSERT_EQ(again.runs.size(), 2u);
  EXPECT_EQ(again.runs[0].positions, "cache");
  EXPECT_EQ(again.runs[1].positions, "original");
}

TEST_F(KeptWriterTest, ABoundedDistanceIsWrittenAndNotRepeated) {
  const std::string path = folder.write("kept.json", KeptWriter::text_of(run(session, request({"full", "lm_infinite:slots=12,sinks=3"}))));
  EXPECT_EQ(read_kept_file(path).runs[0].positions, "ceiling");
  EXPECT_THAT(refusal(request({"full", given_spec(path, "")})), HasSubstr("positions=ceiling"));
}

TEST_F(KeptWriterTest, RecordsWithoutSlotsAreRefused) {
  RunRequest wanted = request({"full", "h2o:slots=12"});
  wanted.detail = Detail::summary;
  const Snapshot snapshot = run(session, wanted);
  EXPECT_THROW(KeptWriter::text_of(snapshot), Error);
}

TEST_F(KeptWriterTest, AFileOfAnotherTextOrModelIsRefusedInASentence) {
  const std::string path = folder.write("kept.json", KeptWriter::text_of(run(session, request({"full", "h2o:slots=12"}))));
  RunRequest other = request({"full", given_spec(path, "")});
  EXPECT_EQ(refusal(other), "");
  other.prompt_ids.pop_back();
  EXPECT_THAT(refusal(other), HasSubstr("expected kept tokens of a prompt of 39 tokens, got 40"));
  other.prompt_ids.push_back(63 - request({}).prompt_ids.back());
  EXPECT_THAT(refusal(other), HasSubstr("token 39"));
  EXPECT_THAT(refusal(request({"full", given_spec(path, "h3o")})),
              HasSubstr("expected one of '" + path + "' has ('h2o:slots=12'), got 'h3o'"));
  EXPECT_THAT(refusal(request({"full", "given"})), HasSubstr("expected a file of kept tokens"));
  other = request({"full", given_spec(path, "")});
  other.mode = PromptMode::stream;
  EXPECT_THAT(refusal(other), HasSubstr("expected prompt mode prefill"));
  std::string ids;
  for (const int id : request({}).prompt_ids) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  const std::string model = folder.write("model.json", R"({"schema":"kvscope.kept/1","model":{"n_layers":1,"n_kv_heads":1},"tokens":[)" +
                                                           ids + R"(],"runs":[{"steps":[{"step":0,"kept":[[[0]]]}]}]})");
  EXPECT_THAT(refusal(request({"full", given_spec(model, "")})), HasSubstr("KV heads, got 1 x 1"));
}

}  // namespace
}  // namespace kvscope
