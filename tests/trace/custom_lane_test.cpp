// SPDX-License-Identifier: Apache-2.0
// A named policy is a row over parts: the same parts chosen one by one decide exactly alike, to the byte of the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "policy/catalog.h"
#include "runtime/runs.h"
#include "trace/trace_writer.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

struct Pair {
  const char* named;
  const char* parts;
  bool whole_prompt = false;  // it looks at the whole prompt at once: no stream
};
constexpr Pair kPairs[] = {
    {"local", "stat=none,sinks=0"},
    {"random", "select=random,sinks=0,recent=0"},
    {"knorm", "stat=knorm,sinks=0,recent=0"},
    {"keydiff", "stat=keydiff,sinks=0,recent=0"},
    {"lagkv:lag=4", "stat=lagkv,lag=4,recent=0"},
    {"leverage:sketch=3", "stat=leverage,sketch=3,sinks=0,recent=0"},
    {"noncausal:chunk=9", "stat=noncausal,attention_chunk=9,sinks=0,recent=0", true},
    {"compactor:sinks=2,recent=1", "stat=compactor,sinks=2,recent=1", true},
    {"cur:window=5", "stat=cur,window=5,recent=0"},
    {"expected:eps=0.1", "stat=expected,expected_eps=0.1,recent=0", true},
    {"qfilter:file=q_filters.safetensors", "stat=qfilter,file=q_filters.safetensors,sinks=0,recent=0"},
    {"kvzap", "stat=kvzap,sinks=0,recent=0"},
    {"kvzap:file=kvzap_linear.safetensors,refresh=1", "stat=kvzap,kvzap_file=kvzap_linear.safetensors,refresh=1,sinks=0,recent=0"},
    {"fastkvzip:local=0.2", "stat=fastkvzip,alloc=flat,local=0.2,recent=0", true},
    {"lukv:future=9", "stat=expected,alloc=curves,expected_eps=0.02,future=9,recent=1", true},
    {"tri:every=4", "stat=tri,every=4,sinks=0,recent=0", true},
    {"rkv:every=5,window=4,lambda=0.2", "stat=rkv,every=5,window=4,mix=0.2,sinks=0"},
    {"dropkv:window=5,eps=0.1", "stat=dropkv,window=5,removal_eps=0.1,sinks=0"},
    {"finch:window=5,norm=0", "stat=question,window=5,norm=0,sinks=0,positions=cache"},
    {"chunkkv:chunk=5,window=6", "stat=pooled,select=chunks,chunk=5,window=6,sinks=0"},
    {"pages:block=4", "stat=sum,select=pages,block=4,sinks=0"},
    {"streaming", "stat=none,positions=cache"},
    {"lm_infinite:sinks=4", "positions=ceiling"},
    {"h2o", "stat=sum,sinks=0"},
    {"h2o:group=max,sinks=2,recent=0.2", "sinks=2,recent=0.2,group=max"},
    {"scissorhands:recent=3,window=8", "stat=count,sinks=0,recent=3,window=8"},
    {"scissorhands:recent=3,drop=3", "stat=count,sinks=0,recent=3,drop=3"},
    {"roco:recent=3", "stat=mean,spread=0.3,sinks=0,recent=3"},
    {"tova", "stat=last,unit=layer,sinks=0,recent=0"},
    {"pyramidinfer", "stat=recent,unit=layer,alloc=decay,recent=0.2"},
    {"snapkv:window=6,kernel=3", "stat=pooled,sinks=0,window=6,kernel=3"},
    {"snapkv:pool=avg,refresh=2", "stat=pooled,sinks=0,pool=avg,refresh=2"},
    {"pyramidkv:beta=4", "stat=pooled,sinks=0,alloc=pyramid,pyramid_beta=4"},
    {"adakv:refresh=1", "stat=pooled,sinks=0,alloc=ada,refresh=1"},
    {"headkv:scores=headkv.json", "stat=pooled,sinks=0,alloc=head,scores=headkv.json"},
    {"duo:heads=duo.json", "alloc=duo,heads=duo.json"},
    {"criticalkv", "stat=pooled,sinks=0,reweight=critical"},
    {"criticalkv:base=adakv,alpha=0.3", "stat=pooled,sinks=0,reweight=critical,alloc=ada,critical_alpha=0.3"},
    {"cam", "stat=none,positions=cache,merge=cam"},
    {"cam:base=h2o,m=3", "stat=sum,sinks=0,merge=cam,m=3"},
    {"d2o", "stat=sum,merge=d2o"},
    {"d2o:form=code,beta=0.2", "merge=d2o,form=code,d2o_beta=0.2"},
    {"kvmerger", "merge=kvmerger,sinks=0,recent=0.34"},
    {"kvmerger:fit=threshold,threshold=0.5,refresh=2", "select=heavy,sinks=0,recent=0.34,fit=threshold,threshold=0.5,refresh=2"},
    {"weightedkv", "stat=mean,merge=weightedkv"},
    {"weightedkv:merge=off", "stat=mean,select=in_turn"},
    {"zeromerge:recent=0.3", "stat=decayed,merge=zeromerge,recent=0.3"},
    {"keepkv:threshold=0.2", "stat=window,merge=keepkv,recent=0.2,threshold=0.2"},
    {"keepkv:threshold=0.2,form=zip,predict=current", "stat=window,merge=keepkv,recent=0.2,threshold=0.2,form=zip,predict=current"},
    {"keepkv:base=h2o,threshold=0.2,alpha=0.5", "stat=sum,sinks=0,merge=keepkv,threshold=0.2,ema_alpha=0.5"},
    {"keepkv:base=snapkv,threshold=0.2", "stat=pooled,sinks=0,merge=keepkv,threshold=0.2,cadence=every_step"},
    {"keepkv:base=pyramidinfer,threshold=0.2", "stat=recent,unit=layer,alloc=decay,recent=0.2,merge=keepkv,threshold=0.2"},
};

std::string with_budget(std::string spec) { return spec + (spec.find(':') == std::string::npos ? ':' : ',') + "slots=12"; }

/// One lane of a run as a trace of its own, without what says how it was asked for.
std::string trace_of(const Snapshot& run, std::size_t lane) {
  Snapshot alone = run;
  alone.lanes = {run.lanes[lane]};
  LaneSnapshot& l = alone.lanes.front();
  l.spec = l.policy = l.title = l.statistic = l.looks_at = "";
  l.params.clear();
  l.sees_question = false;
  return trace_text(alone, {.detail = Detail::why});
}

class CustomLane : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, CustomLane, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(CustomLane, ThePartsOfANamedPolicyDecideExactlyLikeIt) {
  RunRequest request;
  request.prompt_ids = random_ids(40, 64, 3);
  request.mode = GetParam();
  request.n_generate = 12;
  for (const Pair& pair : kPairs) {
    if (pair.whole_prompt && GetParam() == PromptMode::stream) continue;
    request.lanes.push_back(parse_lane_spec(with_budget(pair.named)));
    request.lanes.push_back(parse_lane_spec(with_budget(std::string("custom:") + pair.parts)));
  }
  Session session = open_session(tiny_model());
  const Snapshot result = run(session, request);
  ASSERT_EQ(result.lanes.size(), request.lanes.size() + 1) << "the full cache comes first";
  for (std::size_t i = 1; i + 1 < result.lanes.size(); i += 2) {
    const std::string named = trace_of(result, i), parts = trace_of(result, i + 1);
    const std::size_t differ =
        static_cast<std::size_t>(std::mismatch(named.begin(), named.end(), parts.begin(), parts.end()).first - named.begin());
    EXPECT_TRUE(named == parts) << result.lanes[i].spec << " and " << result.lanes[i + 1].spec << "\n"
                                << named.substr(differ > 60 ? differ - 60 : 0, 120) << "\n"
                                << parts.substr(differ > 60 ? differ - 60 : 0, 120);
    EXPECT_NE(named.find("\"events\""), std::string::npos);
  }
}

TEST(CustomParts, PartsThatLookAtTheWholePromptRefuseToStream) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(20, 64, 3);
  request.mode = PromptMode::stream;
  for (const Pair& pair : kPairs) {
    if (!pair.whole_prompt) continue;
    for (const std::string& spec : {with_budget(pair.named), with_budget(std::string("custom:") + pair.parts)}) {
      request.lanes = {parse_lane_spec(spec)};
      EXPECT_THAT([&] { run(session, request); },
                  ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr("expected prompt mode prefill")))
          << spec;
    }
  }
}

}  // namespace
}  // namespace kvscope
