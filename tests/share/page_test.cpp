// SPDX-License-Identifier: Apache-2.0
#include "app/share/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/share/how_made.h"
#include "app/share/packing.h"
#include "app/share/page_data.h"
#include "core/error.h"
#include "io/sha256.h"
#include "snapshot/number_text.h"
#include "viz/draw/format.h"
#include "viz/reduce/finding.h"
#include "viz/reduce/generated.h"
#include "viz/reduce/text.h"
#include "viz/synthetic.h"

namespace kvscope::share {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const synthetic::Shape kSmall{.n_prompt = 60, .n_generated = 8, .slots = 20};

/// A page's data as its script reads them.
class Data {
 public:
  explicit Data(const Snapshot& snapshot, const PageFacts& facts = {}) : bytes_(page_data(snapshot, facts)) {
    for (std::size_t i = 0; i < 4; ++i) from_ |= static_cast<std::size_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    header = Json::parse(bytes_.substr(4, from_));
    from_ += 4;
  }
  std::uint32_t at(int run, const char* column, std::size_t i) const {
    const Json& where = header["runs"][static_cast<std::size_t>(run)]["columns"][column];
    if (where.contains("all")) return where["all"];
    std::uint32_t value = 0;
    const std::size_t n = where["n"], begin = from_ + where["at"].get<std::size_t>();
    for (std::size_t plane = 0; plane < where["bytes"]; ++plane)
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_.at(begin + plane * n + i))) << (8 * plane);
    return value;
  }
  std::string number(std::uint32_t place) const { return header["numbers"][place]; }

  Json header;

 private:
  std::string bytes_;
  std::size_t from_ = 0;
};

TEST(PageData, HoldsEveryFateAndNumberThatTheWindowShows) {
  const Snapshot s = synthetic::make_snapshot(kSmall);
  const Data data(s);
  const std::size_t n_tokens = s.tokens.size();
  ASSERT_EQ(data.header["runs"].size(), s.lanes.size());
  for (int run = 0; run < static_cast<int>(s.lanes.size()); ++run) {
    const LaneSnapshot& lane = s.lanes[static_cast<std::size_t>(run)];
    const std::size_t n_steps = lane.steps.size();
    for (std::size_t step = 0; step < n_steps; step += 5) {
      for (std::size_t head = 0; head < lane.steps[step]->heads.size(); head += 7) {
        const viz::HeadPick pick = viz::pick_head(
            s, {.lane = run, .layer = static_cast<int>(head) / 4, .kv_head = static_cast<int>(head) % 4, .step = static_cast<int>(step)});
        const viz::HeadColumns columns = viz::head_columns(s, pick);
        for (std::size_t t = 0; t < static_cast<std::size_t>(columns.size()); ++t) {
          const std::size_t i = (head * n_steps + step) * n_tokens + t;
          const Json& fate = data.header["fates"][data.at(run, "fate", i)];
          ASSERT_EQ(fate[0], static_cast<int>(columns.category[t]));
          ASSERT_EQ(fate[1], viz::fate_text(columns, static_cast<int>(t)));
          const std::uint32_t attention = data.at(run, "attention", i);
          const bool lost = std::isfinite(columns.lost[t]);
          ASSERT_EQ(attention % 2 == 1, lost);
          ASSERT_EQ(data.number(attention / 2), viz::format_attention(lost ? columns.lost[t] : columns.attention[t]));
          ASSERT_EQ(data.number(data.at(run, "score", i)), format_number(columns.score[t]));
          ASSERT_EQ(data.at(run, "votes", i), static_cast<std::uint32_t>(columns.votes[t]));
          const int slot = slot_of(*lane.fates, *lane.steps[step], static_cast<int>(head), static_cast<int>(t));
          ASSERT_EQ(static_cast<int>(data.at(run, "slot", i)), slot < 0 ? 0 : slot == static_cast<int>(t) ? 1 : 2 + slot);
        }
      }
    }
  }
}

TEST(PageData, GivesTheReasonsOfTheWindow) {
  const Snapshot s = synthetic::make_snapshot(kSmall);
  const Data data(s);
  int n = 0;
  for (int run = 1; run < static_cast<int>(s.lanes.size()); ++run) {
    const Json& own = data.header["runs"][static_cast<std::size_t>(run)];
    for (std::size_t head = 0; head < own["events"].size(); head += 5) {
      const Json& events = own["events"][head];
      for (std::size_t i = 0; i + 4 < events.size(); i += 5 * 11) {
        const viz::HeadPick pick = viz::pick_head(
            s, {.lane = run, .layer = static_cast<int>(head) / 4, .kv_head = static_cast<int>(head) % 4, .step = events[i].get<int>()});
        const viz::Why why = viz::why_of(pick, events[i + 2]);
        const Json& card = own["cards"][events[i + 4].get<std::size_t>()];
        EXPECT_EQ(card[0], viz::why_headline(s.tokens, why));
        const std::vector<viz::WhyStep> steps = viz::why_steps(s, pick, why);
        ASSERT_EQ(card.size(), steps.size() + 1);
        for (std::size_t k = 0; k < steps.size(); ++k) EXPECT_EQ(card[k + 1][0], steps[k].title);
        ++n;
      }
    }
  }
  EXPECT_GT(n, 20);
}

TEST(PageData, OpensWhereARunFirstSaysSomethingElse) {
  const Snapshot s = synthetic::make_snapshot(kSmall);
  int run = 0, step = -1;
  for (int i = 1; i < static_cast<int>(s.lanes.size()) && step < 0; ++i) {
    run = i;
    step = viz::next_changed_step(s, s.lanes[static_cast<std::size_t>(i)], -1);
  }
  ASSERT_GE(step, 0) << "the synthetic runs differ somewhere";
  const Json open = Data(s).header["open"];
  EXPECT_EQ(open["run"], run);
  EXPECT_EQ(open["step"], step);
}

/// Of two texts no step is the same or another one, and no probability stands beside another.
TEST(PageData, WhatTheFileDoesNotSayOfAPolicyIsNotSaid) {
  Snapshot s = synthetic::make_snapshot(kSmall);
  const auto says = [&s] { return Data(s).header["runs"][1]["policy"].dump().find("\"question\"") != std::string::npos; };
  s.lanes[1].looks_at = "attention";
  EXPECT_TRUE(says());
  s.lanes[1].looks_at.clear();  // a trace of slots alone
  EXPECT_FALSE(says());
}

TEST(PageData, NothingIsComparedAfterTheTextsPart) {
  Snapshot s = synthetic::make_snapshot(kSmall);
  s.follow = "self";
  auto other = std::make_shared<StepRecord>(*s.lanes[1].steps[2]);
  ++other->next_token;
  s.lanes[1].steps[2] = other;
  const Json steps = Data(s).header["runs"][1]["steps"];
  for (const viz::GeneratedToken& token : viz::generated_tokens(s, s.lanes[1]))
    EXPECT_EQ(steps.at(static_cast<std::size_t>(token.step))["says_same"], token.step > 2 ? Json() : Json(token.same)) << token.step;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool parted = i > 2;
    EXPECT_EQ(steps[i]["same"], parted ? Json() : Json(s.lanes[1].steps[i]->top1_same)) << i;
    EXPECT_EQ(steps[i]["kl"] == "n/a", parted) << i;
    EXPECT_EQ(steps[i]["p"] == "n/a", parted) << i;
    for (const Json& row : steps[i]["top"]) {
      for (const std::size_t cell : {2u, 4u}) EXPECT_EQ(row[cell] == "n/a", parted) << i << " " << row;
      EXPECT_FALSE(parted && row[1].get<std::string>().find("→") != std::string::npos) << row;
    }
  }
}

TEST(PageData, OpensWhereOneWasWhenItWasWritten) {
  const Snapshot s = synthetic::make_snapshot(kSmall);
  const int run = static_cast<int>(s.lanes.size()) - 1;
  viz::Selection at;
  at.lane = run;
  at.layer = 1;
  at.kv_head = 1;
  at.select({3, 5});
  Json open = Data(s, {.opens_at = at}).header["open"];
  EXPECT_EQ(open["run"], run);
  EXPECT_EQ(open["step"], static_cast<int>(s.lanes[static_cast<std::size_t>(run)].steps.size()) - 1) << "the latest";
  EXPECT_EQ(open["head"], s.model.n_kv_heads + 1);
  EXPECT_EQ(open["token"], 3);
  at.step = 2;
  at.kv_head.reset();
  open = Data(s, {.opens_at = at}).header["open"];
  EXPECT_EQ(open["step"], 2);
  EXPECT_EQ(open["head"], -1);
}

TEST(PageData, RefusesWhatItCannotShow) {
  EXPECT_THROW(page_data({}, {}), Error) << "no runs";
  Snapshot figures = synthetic::make_snapshot(kSmall);
  for (LaneSnapshot& lane : figures.lanes)
    for (StepPtr& step : lane.steps) {
      StepRecord bare = *step;
      bare.heads.clear();
      step = std::make_shared<StepRecord>(bare);
    }
  EXPECT_THROW(page_data(figures, {}), Error) << "no slots";
  EXPECT_THROW(page_data(synthetic::make_huge_snapshot(32, 32, 32768, 1), {}), Error) << "too many numbers";
}

TEST(PageData, NoTextOfATokenIsLongerThanPeopleRead) {
  Snapshot s = synthetic::make_snapshot({.n_generated = 2});
  s.tokens[20].bytes = std::string(10 << 20, 'x');
  s.tokens[21].bytes = std::string(119, 'y') + "é and more";
  const Data data(s);
  EXPECT_EQ(data.header["tokens"][20], std::string(120, 'x') + "… (" + format_count(10 << 20) + " bytes)");
  EXPECT_EQ(data.header["tokens"][21], std::string(119, 'y') + "… (130 bytes)") << "cut between characters";
  EXPECT_LT(data.header.dump().size(), std::size_t(8) << 20);
}

TEST(HowMade, SaysHowManyTokensThereAreAndOfAskedForWhereThatDiffers) {
  for (const bool prefill : {true, false}) {
    const Snapshot s = synthetic::make_snapshot({.n_prompt = 20, .n_generated = 2, .prefill = prefill});
    const auto steps = [&s](int asked) {
      for (const auto& [name, value] : settings(s, {.n_generate = asked}))
        if (name == "steps") return value;
      return std::string();
    };
    EXPECT_THAT(steps(2), testing::StartsWith("2 tokens generated after the prompt; "));
    EXPECT_THAT(steps(12), testing::StartsWith("2 tokens generated after the prompt, of 12 asked for; ")) << "a text that was cut short";
  }
}

TEST(HowMade, TheCommandComputesThisAndNothingElse) {
  Snapshot s = synthetic::make_snapshot({.n_prompt = 3, .n_generated = 4});
  s.prompt = "abc", s.precision = "f32", s.follow = "reference", s.model.bos_id = s.tokens[0].id = 1;
  s.tokens[1].id = 300, s.tokens[2].id = 17;
  const auto command = [&s](bool by_ids = false) { return command_line(s, {.n_generate = 4, .by_ids = by_ids}, "run"); };
  EXPECT_THAT(command(), HasSubstr(" --prompt-file PROMPT --generate 4 --follow reference --lane "));
  EXPECT_THAT(command(true), HasSubstr(" --prompt-ids 1,300,17 --generate 4 "));
  s.prompt.clear();
  EXPECT_THAT(command(), HasSubstr(" --prompt-ids 1,300,17 ")) << "a trace without the text";
  s.prompt = "abc", s.tokens[0].id = 5;
  EXPECT_THAT(command(), HasSubstr(" --prompt-ids 5,300,17 ")) << "a text would begin with the start token";
  s.model.bos_id = -1;
  EXPECT_THAT(command(), HasSubstr(" --prompt-file PROMPT "));
  s.precision = "f64";
  EXPECT_THAT(command(), HasSubstr(" --precision f64 "));
  EXPECT_THAT(command(), Not(HasSubstr("--ignore-eos")));
  for (LaneSnapshot& lane : s.lanes) lane.text_end = n_generated(s) + 1;
  EXPECT_THAT(command(), Not(HasSubstr("--ignore-eos"))) << "nobody read what ends the text";
  for (LaneSnapshot& lane : s.lanes) lane.text_end = 2;
  EXPECT_THAT(command(), HasSubstr(" --ignore-eos "));
  s.lanes.back().text_end = -1;
  EXPECT_THAT(command(), Not(HasSubstr("--ignore-eos")));
}

TEST(PageData, ATextThatIsNotThereHasNoHash) {
  Snapshot s = synthetic::make_snapshot(kSmall);
  const auto hash = [&s] {
    const Data data(s);
    for (const Json& row : data.header["made"])
      if (row[0] == "hash of the prompt") return row[1].get<std::string>();
    return std::string();
  };
  s.prompt = "abc";
  EXPECT_EQ(hash(), "SHA-256 " + hexadecimal(sha256("abc")));
  s.prompt.clear();
  EXPECT_EQ(hash(), "n/a: the results do not have its text");
}

TEST(ReplayPage, RunsItsOwnScriptAndNothingElse) {
  Snapshot s = synthetic::make_snapshot({.n_generated = 2});
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  s.prompt = hostile;
  s.tokens[5].bytes = hostile;
  s.lanes[1].title = hostile;
  s.model.name = hostile;
  const std::string page = replay_page(s, {.files = {{hostile, hostile}}, .notes = {hostile}});
  EXPECT_THAT(page, Not(HasSubstr("alert(")));
  const auto between = [&page](const std::string& begin, const std::string& end) {
    const std::size_t from = page.find(begin) + begin.size();
    return page.substr(from, page.find(end, from) - from);
  };
  const auto source = [](const std::string& text) {
    const Sha256::Digest d = sha256(text);
    return "'sha256-" + base64({reinterpret_cast<const char*>(d.data()), d.size()}) + "'";
  };
  const std::string policy = between("Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy, "default-src 'none'; script-src " + source(between("<script>", "</script>")) + "; style-src " +
                        source(between("<style>", "</style>")) + "; base-uri 'none'; form-action 'none'");
  for (const char* outside : {"src=\"", "http:", "https:", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
  EXPECT_THAT(page, Not(HasSubstr("%%")));
}

}  // namespace
}  // namespace kvscope::share
