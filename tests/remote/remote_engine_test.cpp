// SPDX-License-Identifier: Apache-2.0
#include "remote/remote_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "policy/catalog.h"
#include "remote/snapshot_receiver.h"
#include "remote/snapshot_sender.h"
#include "runtime/runs.h"
#include "runtime/session/runner.h"
#include "runtime/wait_for.h"

namespace kvscope::remote {
namespace {

using namespace kvscope::testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr SessionOptions kOptions{.precision = DType::f32, .n_threads = 1};

EngineOptions options_of(std::string version = KVSCOPE_VERSION) { return {.version = std::move(version), .own_model = embedded_model()}; }

Address here(std::string program = KVSCOPE_CLI) { return {.host = "", .path = std::move(program)}; }

/// Runs that evict, that merge, and one changed by hand.
RunRequest a_request(int n_generate = 6) {
  RunRequest request;
  request.prompt = "Once upon a time there was a castle, and in the castle lived a king who had a daughter.";
  request.n_generate = n_generate;
  request.measures = MeasureSet::all();
  for (const char* lane : {"full", "h2o:slots=12", "keepkv:slots=10", "h2o:slots=12@evict=3,step=1", "snapkv:ratio=0.5"})
    request.lanes.push_back(parse_lane_spec(lane));
  return request;
}

bool done(const Snapshot& s, std::uint64_t generation) { return s.generation == generation && s.phase == RunPhase::idle; }

/// Bytes of everything that travels, but for clocks: two snapshots are the same where these are.
std::string bytes_of(const SnapshotPtr& snapshot) {
  auto still = std::make_shared<Snapshot>(*snapshot);
  still->generation = still->lanes_of = still->sequence = 0;
  still->started_us = still->published_us = 0;
  still->total_ms = still->tokens_per_s = 0;
  for (LaneSnapshot& lane : still->lanes) {
    lane.compress_ms = lane.prompt_compress_ms = 0;
    for (StepPtr& step : lane.steps) {
      StepRecord record = *step;
      record.ms = record.policy_ms = 0;
      step = std::make_shared<const StepRecord>(std::move(record));
    }
  }
  std::string out;
  SnapshotSender sender([&out](Kind kind, const std::string& bytes) { out += static_cast<char>(kind) + bytes; });
  sender.show(still, 0);
  while (sender.send_numbers()) continue;
  return out;
}

SnapshotPtr at_home(const RunRequest& request) {
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(embedded_model(), kOptions);
  const std::uint64_t last = runner.submit(request);
  return wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
}

/// A program that is no kvscope-cli, or one with a wrapping.
std::string script(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(::testing::TempDir()) / name;
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

std::string failure_of(const std::string& program, const std::string& version = KVSCOPE_VERSION) {
  Mailbox mailbox;
  RemoteEngine engine(here(program), options_of(version), mailbox, [] {});
  const std::uint64_t asked = engine.submit(a_request());
  return wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::failed && s.generation == asked; })->failure;
}

TEST(RemoteEngine, GivesTheNumbersOfAnEngineAtHomeBitByBit) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model(embedded_model(), kOptions);
  const RunRequest request = a_request();
  const std::uint64_t last = engine.submit(request);
  const SnapshotPtr there = wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
  const SnapshotPtr here = at_home(request);
  ASSERT_EQ(there->lanes.size(), request.lanes.size());
  expect_same_run(*here, *there);
  EXPECT_TRUE(bytes_of(here) == bytes_of(there));
  for (std::size_t l = 0; l < here->lanes.size(); ++l)
    for (std::size_t h = 0; h < here->lanes[l].fates->heads.size(); ++h)
      for (int t = 0; t < here->lanes[l].fates->n_tokens; ++t)
        ASSERT_EQ(here->lanes[l].fates->heads[h].lost(t), there->lanes[l].fates->heads[h].lost(t)) << l << " " << h << " " << t;
  ASSERT_TRUE(there->vocabulary);
  EXPECT_EQ(there->vocabulary->size(), here->vocabulary->size());
  EXPECT_TRUE(engine.link().connected);
  EXPECT_GE(engine.link().step_ms, 0);
}

TEST(RemoteEngine, SendsAgainOnlyWhatIsNew) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model("", kOptions);
  std::uint64_t last = engine.submit(a_request(20));
  wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
  const double first = engine.link().bytes;
  last = engine.submit(a_request(21));  // one step more
  const SnapshotPtr more = wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
  EXPECT_EQ(more->lanes[1].steps.size(), 22u);
  EXPECT_LT(engine.link().bytes - first, first / 3);
  EXPECT_TRUE(bytes_of(more) == bytes_of(at_home(a_request(21))));
}

TEST(RemoteEngine, AnswersTheNewestOfManyRequests) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model(tiny_model(), kOptions);
  std::uint64_t last = 0;
  RunRequest request;
  for (unsigned i = 0; i < 100; ++i) {
    request.prompt_ids = random_ids(40 + static_cast<int>(i % 60), 64, i);
    request.n_generate = 4;
    last = engine.submit(request);
  }
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
  EXPECT_EQ(out->n_prompt, 40 + 99 % 60);
}

TEST(RemoteEngine, StopKeepsWhatWasFinished) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model("", kOptions);
  const std::uint64_t last = engine.submit(a_request(900));
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == last && !s.lanes.empty() && s.lanes[0].steps.size() > 3; });
  engine.stop();
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::idle; });
  EXPECT_GT(out->lanes[0].steps.size(), 3u);
  EXPECT_LT(out->lanes[0].steps.size(), 901u);
}

TEST(RemoteEngine, AFailureThereIsASentenceHere) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model("", kOptions);
  const std::uint64_t good = engine.submit(a_request(2));
  wait_for(mailbox, [&](const Snapshot& s) { return done(s, good); });
  const std::uint64_t bad = engine.load_model("/no/such/folder", kOptions);
  const SnapshotPtr failed = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == bad && s.phase == RunPhase::failed; });
  EXPECT_THAT(failed->failure, HasSubstr("/no/such/folder"));
  EXPECT_EQ(failed->lanes.size(), 5u);  // still on screen
}

TEST(RemoteEngine, ComesBackWhenItsProcessIsKilledInTheMiddleOfARun) {
  Mailbox mailbox;
  RemoteEngine engine(here(), options_of(), mailbox, [] {});
  engine.load_model("", kOptions);
  std::uint64_t last = engine.submit(a_request(900));
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == last && !s.lanes.empty() && s.lanes[0].steps.size() > 3; });
  const int process = engine.process_id();
  ASSERT_GT(process, 0);
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  const SnapshotPtr broken = wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::failed; });
  EXPECT_THAT(broken->failure, HasSubstr("exec:"));
  EXPECT_GT(broken->lanes.at(0).steps.size(), 3u);  // the last result stays
  // By itself: the same request goes on being answered, by another process.
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == last && s.phase == RunPhase::computing; });
  EXPECT_NE(engine.process_id(), process);
  last = engine.submit(a_request());
  const SnapshotPtr again = wait_for(mailbox, [&](const Snapshot& s) { return done(s, last); });
  EXPECT_TRUE(bytes_of(again) == bytes_of(at_home(a_request())));
}

TEST(RemoteEngine, SaysBothVersionsWhereTheyDiffer) {
  const std::string failure = failure_of(KVSCOPE_CLI, "0.0.1");
  EXPECT_THAT(failure, HasSubstr("0.0.1"));
  EXPECT_THAT(failure, HasSubstr(KVSCOPE_VERSION));
}

TEST(RemoteEngine, SaysWhatIsNoEngine) {
  EXPECT_THAT(failure_of("/no/such/program"), HasSubstr("could not be started"));
  EXPECT_THAT(failure_of(script("greets", "echo 'Welcome to this machine, its rules are many'")), HasSubstr("Welcome"));
  EXPECT_THAT(failure_of(script("ends", "echo 'no entry' >&2; exit 3")), HasSubstr("no entry"));
  EXPECT_THAT(failure_of(script("silent", "exit 3")), HasSubstr("status 3"));
  EXPECT_THAT(failure_of("/bin/cat"), HasSubstr("exec:/bin/cat"));  // says what was said
  EXPECT_THAT(failure_of(script("zeros", "exec cat /dev/zero")), HasSubstr("expected"));
}

TEST(RemoteEngine, OneThatSaysNothingIsNotWaitedForWithoutEnd) {
  const std::string greets = script("greets and is silent", std::string(KVSCOPE_CLI) + " serve --stdio </dev/null; exec sleep 100");
  for (const std::string& program : {greets, script("is silent", "exec sleep 100")}) {
    EngineOptions options = options_of();
    options.patience = std::chrono::milliseconds(500);
    Mailbox mailbox;
    RemoteEngine engine(here(program), options, mailbox, [] {});
    engine.load_model("", kOptions);
    engine.submit(a_request());
    const SnapshotPtr out = wait_for(mailbox, [](const Snapshot& s) { return s.phase == RunPhase::failed; });
    ASSERT_TRUE(out) << program;
    EXPECT_THAT(out->failure, HasSubstr("did not answer"));
  }
}

TEST(RemoteEngine, ALineThatEndsAtAnyByteIsASentence) {
  for (const int bytes : {1, 4, 5, 20, 60, 300, 5000, 50000}) {
    const std::string cut =
        script("cut", std::string(KVSCOPE_CLI) + " serve --stdio | (dd bs=1 count=" + std::to_string(bytes) + " 2>/dev/null; kill -9 $$)");
    Mailbox mailbox;
    RemoteEngine engine(here(cut), options_of(), mailbox, [] {});
    engine.load_model("", kOptions);
    engine.submit(a_request());
    const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::failed; });
    ASSERT_TRUE(out);
    EXPECT_THAT(out->failure, HasSubstr("exec:")) << bytes;
  }
}

TEST(RemoteEngine, GoesThroughTheSshOfTheUser) {
  // Stands for ssh: keeps its arguments, and runs the command as a login shell there would.
  const fs::path folder = fs::path(::testing::TempDir()) / "fake ssh";
  fs::create_directories(folder);
  const fs::path said = folder / "said", program = folder / "it's here";
  fs::remove(program);
  fs::create_symlink(KVSCOPE_CLI, program);
  std::ofstream(folder / "ssh") << "#!/bin/sh\nfor w in \"$@\"; do echo \"$w\"; done > '" << said.string()
                                << "'\nshift 6\nexec sh -c \"$*\"\n";
  fs::permissions(folder / "ssh", fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (folder.string() + ":" + before).c_str(), 1);
  Mailbox mailbox;
  {
    RemoteEngine engine(parse_address("ssh:me@box:" + program.string()), options_of(), mailbox, [] {});
    engine.load_model(embedded_model(), kOptions);
    const std::uint64_t last = engine.submit(a_request(2));
    wait_for(mailbox, [&](const Snapshot& s) { return done(s, last) || s.phase == RunPhase::failed; });
  }
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(mailbox.latest()->failure, "");
  std::ifstream file(said);
  const std::string words((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(words, HasSubstr("-T\n-o\nServerAliveInterval=10\n-o\nServerAliveCountMax=2\nme@box\n'"));
  EXPECT_THAT(words, HasSubstr("serve --stdio\n"));
}

TEST(Address, IsWhatItSays) {
  EXPECT_EQ(parse_address("exec:/opt/k v/kvscope-cli"), (Address{.host = "", .path = "/opt/k v/kvscope-cli"}));
  EXPECT_EQ(parse_address("ssh:box"), (Address{.host = "box", .path = "kvscope-cli"}));
  EXPECT_EQ(parse_address("ssh:me@box:~/k/kvscope-cli"), (Address{.host = "me@box", .path = "~/k/kvscope-cli"}));
  EXPECT_EQ(parse_address("ssh:[::1]:/k"), (Address{.host = "::1", .path = "/k"}));
  for (const char* text : {"exec:/a b", "ssh:box", "ssh:me@box:~/k", "ssh:[::1]:/k"}) EXPECT_EQ(text_of(parse_address(text)), text);
  EXPECT_EQ(command_of(parse_address("ssh:box:~/it's; rm")).back(), "~/'it'\\''s; rm' serve --stdio");
  for (const char* text : {"", "box", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "exec:", "ssh:box:", "ssh:[::1]x", "ssh:b\nx"})
    EXPECT_THROW(parse_address(text), UsageError) << text;
}

/// What a sender says of a run of the tiny model.
std::vector<Message> messages() {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(20, 64, 1);
  request.n_generate = 3;
  request.lanes = {parse_lane_spec("full"), parse_lane_spec("keepkv:slots=6")};
  std::vector<Message> out;
  SnapshotSender sender([&out](Kind kind, const std::string& bytes) { out.push_back({kind, bytes}); });
  sender.show(std::make_shared<const Snapshot>(run(session, request)), 0);
  while (sender.send_numbers()) continue;
  return out;
}

TEST(SnapshotReceiver, RefusesWhatIsCutOrChangedAndNeverBreaks) {
  const std::vector<Message> good = messages();
  int refused = 0, tried = 0;
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Message> bad = good;
    std::string& bytes = bad[random() % bad.size()].bytes;
    if (bytes.empty()) continue;
    if (round % 2 == 0)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % bytes.size()] = static_cast<char>(random());
    ++tried;
    SnapshotReceiver receiver(std::size_t(64) << 20);
    try {
      for (const Message& m : bad) receiver.take(m);
      (void)receiver.snapshot();
    } catch (const Error& e) {
      ++refused;
      EXPECT_STRNE(e.what(), "");
    }
  }
  EXPECT_GT(refused, tried / 3);  // another number is a number, too
}

TEST(SnapshotReceiver, FillsNoMoreMemoryThanItMay) {
  SnapshotReceiver receiver(1000);
  EXPECT_THROW(
      {
        for (const Message& m : messages()) receiver.take(m);
      },
      Error);
}

}  // namespace
}  // namespace kvscope::remote
