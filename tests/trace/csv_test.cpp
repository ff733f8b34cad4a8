// SPDX-License-Identifier: Apache-2.0
#include "trace/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/sample_run.h"

namespace kvscope {
namespace {

using ::testing::HasSubstr;

TEST(Csv, QuotesOnlyCellsThatNeedIt) {
  EXPECT_EQ(csv_line(std::vector<std::string>{"a", "", "1.5"}), "a,,1.5\n");
  EXPECT_EQ(csv_line(std::vector<std::string>{"x:a=1,b=2", "say \"hi\"", "two\nlines"}),
            "\"x:a=1,b=2\",\"say \"\"hi\"\"\",\"two\nlines\"\n");
}

TEST(Csv, LanesAreRowsWithEmptyCellsWhereANumberIsMissing) {
  Snapshot s = sample_run();
  s.lanes[0].steps.clear();
  EXPECT_EQ(
      lanes_csv(s),
      "policy,spec,slots,kl,nll,top1_same,local_rel_l2,local_l1_wo,attention_loss,bytes,tokens_per_s,theta,predictor_error,hidden_rel_l2,kv_bytes\n"
      "full,full,,,,,,,,,,,,,\n"
      "pairs,\"pairs:slots=2,form=zip\",2.0,,,,0.013,0.4,0.02,1024.0,250.0,0.5,0.25,0.0625,768.0\n");
  EXPECT_THAT(lanes_csv(sample_run()), HasSubstr("\npairs,\"pairs:slots=2,form=zip\",2.0,1.1,,0.0,0.013,"));
}

TEST(Csv, StepsAreRowsWithMeansOverHeads) {
  const std::string text = steps_csv(sample_run());
  EXPECT_THAT(text, HasSubstr(",attention_loss,theta,predictor_error,hidden_rel_l2_0\nfull,0,2,9,2.31,0.0,true,3.0,0,0.0,0.0,0.0,,0.0\n"));
  EXPECT_THAT(text, HasSubstr("\n\"pairs:slots=2,form=zip\",1,3,,,1.1,false,2.0,3,0.013,0.02,0.5,0.25,0.0625\n"));
}

TEST(Csv, StepsOfARunWithoutHeadsKeepTheirOtherFigures) {
  Snapshot s = sample_run();
  auto bare = std::make_shared<StepRecord>(*s.lanes[0].steps[0]);
  bare->heads.clear();
  s.lanes[0].steps[0] = bare;
  EXPECT_THAT(steps_csv(s), HasSubstr("\nfull,0,2,9,2.31,0.0,true,,,,,,,0.0\n"));
}

}  // namespace
}  // namespace kvscope
