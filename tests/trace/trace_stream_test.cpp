// SPDX-License-Identifier: Apache-2.0
// A trace that is written while the run goes on is the trace of the finished run, to the byte, and no record of it stays.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/runs.h"
#include "trace/trace_writer.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest request_of(PromptMode mode, Follow follow, int n_generate) {
  RunRequest request;
  request.prompt_ids = random_ids(70, 64, 11);
  request.lanes = parse_lane_specs({"h2o:slots=12", "keepkv:slots=12,threshold=0.2", "streaming:slots=9"});
  request.mode = mode;
  request.follow = follow;
  request.n_generate = n_generate;
  request.seed = 7;
  request.measures = MeasureSet::all();
  return request;
}

std::string streamed(Session& session, const RunRequest& request, Detail detail, Snapshot* left = nullptr) {
  const CancelToken never;
  TraceStream stream({.detail = detail, .seed = request.seed}, request.measures, std::filesystem::temp_directory_path().string());
  const Snapshot end = session.run(request, never, {}, {}, &stream);
  std::string text;
  stream.finish(end, [&](std::string_view piece) { text += piece; });
  if (left != nullptr) *left = end;
  return text;
}

class TraceStream_ : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, TraceStream_, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(TraceStream_, HasTheBytesOfTheTraceThatIsWrittenAtTheEnd) {
  for (const Follow follow : {Follow::reference, Follow::self}) {
    for (const Detail detail : {Detail::summary, Detail::events, Detail::slots, Detail::why}) {
      SCOPED_TRACE(name_of(detail));
      RunRequest request = request_of(GetParam(), follow, 9);
      request.detail = detail;
      Session at_once = open_session(tiny_model()), while_running = open_session(tiny_model());
      const std::string expected = trace_text(run(at_once, request), {.detail = detail, .seed = request.seed});
      ASSERT_EQ(streamed(while_running, request, detail), expected);
    }
  }
}

TEST_P(TraceStream_, LeavesFiguresAndNoRecordOfAHead) {
  Session session = open_session(tiny_model()), other = open_session(tiny_model());
  const RunRequest request = request_of(GetParam(), Follow::reference, 5);
  Snapshot left;
  streamed(session, request, Detail::why, &left);
  const Snapshot whole = run(other, request);
  for (std::size_t l = 0; l < whole.lanes.size(); ++l) {
    ASSERT_EQ(left.lanes[l].steps.size(), whole.lanes[l].steps.size());
    for (std::size_t s = 0; s < whole.lanes[l].steps.size(); ++s) {
      EXPECT_TRUE(left.lanes[l].steps[s]->heads.empty());
      EXPECT_EQ(left.lanes[l].steps[s]->kl, whole.lanes[l].steps[s]->kl);
      EXPECT_EQ(left.lanes[l].steps[s]->next_token, whole.lanes[l].steps[s]->next_token);
    }
    EXPECT_EQ(left.lanes[l].warnings, whole.lanes[l].warnings);
  }
  expect_same_run(run(session, request), whole);  // afterwards a run whose records stay is made anew
}

TEST(TraceStream, SaysWhereThereIsNoRoomForIt) {
  Session session = open_session(tiny_model());
  const RunRequest request = request_of(PromptMode::prefill, Follow::reference, 2);
  const CancelToken never;
  TraceStream stream({}, request.measures, "/nonexistent/folder");
  try {
    session.run(request, never, {}, {}, &stream);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/folder: no file can be made there"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace kvscope
