// SPDX-License-Identifier: Apache-2.0
// What lanes ask about the prompt besides sums of attention, after edits: kept, gone back for, or gathered anew.
#include "policy/catalog.h"
#include "runs.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest edited_request(std::vector<int> ids, std::vector<std::string> lanes, PromptMode mode) {
  RunRequest request;
  request.prompt_ids = std::move(ids);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.n_generate = 3;
  request.measures = MeasureSet::all();
  return request;
}

const std::vector<std::string> kEditedLanes = {"knorm:slots=12",
                                               "scissorhands:slots=16,window=100",
                                               "scissorhands:slots=16,window=30",
                                               "pyramidinfer:slots=20,recent=0.5",
                                               "lm_infinite:slots=12,sinks=3",
                                               "criticalkv:slots=12,base=adakv,window=4,refresh=1",
                                               "criticalkv:slots=12,base=headkv,scores=headkv.json,refresh=2",
                                               "keepkv:slots=12,base=h2o",
                                               "keepkv:slots=12,base=snapkv,window=4",
                                               "keepkv:slots=12,base=pyramidinfer"};

void expect_edits_change_nothing(std::vector<std::string> lanes, PromptMode mode) {
  Session edited = open_session(tiny_model());
  std::vector<int> ids = random_ids(150, 64, 4);
  run(edited, edited_request(ids, lanes, mode));
  for (const int at : {149, 64, 63, 20}) {
    SCOPED_TRACE(at);
    ids[at] = (ids[at] + 1) % 64;
    Session fresh = open_session(tiny_model());
    expect_same_run(run(edited, edited_request(ids, lanes, mode)), run(fresh, edited_request(ids, lanes, mode)));
  }
  for (const int length : {152, 129, 40}) {
    SCOPED_TRACE(length);
    ids.resize(length, 5);
    Session fresh = open_session(tiny_model());
    expect_same_run(run(edited, edited_request(ids, lanes, mode)), run(fresh, edited_request(ids, lanes, mode)));
  }
}

TEST(PromptEdit, GivesTheSameRunAsAFreshSession) {
  std::vector<std::string> lanes = kEditedLanes;
  for (const char* spec : {"duo:slots=12,sinks=2", "duo:slots=30,sinks=1,sparsity=0.25"})
    lanes.push_back(spec);  // two pairs of sinks and recent
  expect_edits_change_nothing(lanes, PromptMode::prefill);
}

TEST(PromptEdit, InStreamModeTheSameRunAsAFreshSession) { expect_edits_change_nothing(kEditedLanes, PromptMode::stream); }

TEST(PromptEdit, ALaneThatAsksForMoreGetsItWithoutANewSession) {
  const std::vector<int> ids = random_ids(100, 64, 5);
  Session session = open_session(tiny_model());
  std::vector<std::string> lanes;
  for (const char* spec : {"h2o:slots=12", "scissorhands:slots=16,window=20", "scissorhands:slots=16,window=90", "knorm:slots=12",
                           "duo:slots=12,sinks=2", "duo:slots=12,sinks=3"}) {
    lanes.push_back(spec);
    SCOPED_TRACE(spec);
    Session fresh = open_session(tiny_model());
    expect_same_run(run(session, edited_request(ids, lanes, PromptMode::prefill)),
                    run(fresh, edited_request(ids, lanes, PromptMode::prefill)));
  }
}

TEST(PromptEdit, BudgetsOfAStreamedLaneMoveButItsStepsStay) {
  const std::vector<int> ids = random_ids(90, 64, 6);
  Session session = open_session(tiny_model());
  const RunRequest request = edited_request(ids, {"adakv:slots=10,window=2"}, PromptMode::stream);
  const Snapshot before = run(session, request);
  RunRequest longer = request;
  longer.prompt_ids.push_back(3);
  const Snapshot after = run(session, longer);
  for (int s = 0; s < 64; ++s) EXPECT_EQ(after.lanes[1].steps[s], before.lanes[1].steps[s]) << "the very same record, not computed again";
}

TEST(PromptNeeds, TheMemoryOfAPromptsLastRowsIsThatOfEveryNumberThatIsKept) {
  ModelConfig c;
  c.n_layers = 3;
  c.n_heads = 8;
  c.n_kv_heads = 2;
  c.head_dim = 4;
  PromptNeeds needs;
  const double last_row = 8.0 * 100 * 8 * 3;  // a double per token, query head and layer
  EXPECT_EQ(needs.bytes_of_rows(c, DType::f32, 100), last_row);
  needs.add({.rows = 5});
  EXPECT_EQ(needs.bytes_of_rows(c, DType::f32, 100), last_row + 8.0 * 100 * 5 * 2 * 3);
  needs.add({.z_rows = 7});
  EXPECT_EQ(needs.bytes_of_rows(c, DType::f32, 100), 8 * last_row + 8.0 * 100 * 5 * 2 * 3);
  EXPECT_EQ(needs.bytes_of_rows(c, DType::f32, 2), 8.0 * 2 * 3 * (8 * 3 + 2 * 2)) << "of a prompt that has no more";
  needs.queries = PromptNeeds::kAllQueries;
  EXPECT_EQ(needs.bytes_of_rows(c, DType::f32, 100), 8 * last_row + 8.0 * 100 * 5 * 2 * 3 + 4.0 * 100 * 8 * 4 * 3);
}

}  // namespace
}  // namespace kvscope
