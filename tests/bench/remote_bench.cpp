// SPDX-License-Identifier: Apache-2.0
// A result of 32 x 8 heads and 8192 tokens over a line of 100 Mbit/s: how long until there is a picture, and until every number is there.
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/joined_thread.h"
#include "remote/channel.h"
#include "remote/child.h"
#include "remote/snapshot_receiver.h"
#include "remote/snapshot_sender.h"
#include "snapshot/synthetic.h"

namespace {

using namespace kvscope;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// What detail=why records of every head: attention of the step's query, over the slots and over the whole history. Numbers of which no bit
/// can be foretold.
void capture(Snapshot& snapshot) {
  std::mt19937 random(1);
  for (const TokenInfo& token : snapshot.tokens)
    if (token.text_begin >= 0) snapshot.prompt += token.bytes;
  for (LaneSnapshot& lane : snapshot.lanes) {
    for (StepPtr& step : lane.steps) {
      auto record = std::make_shared<StepRecord>(*step);
      for (HeadRecord& head : record->heads) {
        head.attended = head.pos;
        head.attention.resize(head.pos.size());
        head.reference_attention.resize(static_cast<std::size_t>(record->position) + 1);
        for (float& a : head.attention) a = static_cast<float>(random()) * 0x1p-45f;
        if (&lane == &snapshot.lanes.front())
          head.reference_attention = head.attention;
        else
          for (float& a : head.reference_attention) a = static_cast<float>(random()) * 0x1p-45f;
      }
      step = std::move(record);
    }
  }
}

SnapshotPtr first_steps(const Snapshot& all, std::size_t n) {
  auto out = std::make_shared<Snapshot>(all);
  for (LaneSnapshot& lane : out->lanes) lane.steps.resize(n);
  return out;
}

struct Line {
  Pipe pipe;
  double bytes_per_ms;
  std::size_t sent = 0;
  Clock::time_point free = Clock::now();
  /// In packets, each as long as the line takes for it.
  void send(remote::Kind kind, const std::string& bytes) {
    remote::write_message(pipe.write.get(), kind, bytes);
    sent += bytes.size() + 5;
    free = std::max(free, Clock::now()) +
           std::chrono::microseconds(static_cast<long>(1000 * static_cast<double>(bytes.size()) / bytes_per_ms));
    std::this_thread::sleep_until(free);
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("remote_bench");
  double mbit = 100;
  int layers = 32, heads = 8, n_prompt = 8192, n_steps = 6;
  app.add_option("--mbit", mbit, "of the line, a second")->capture_default_str();
  app.add_option("--layers", layers)->capture_default_str();
  app.add_option("--heads", heads, "KV heads of a layer")->capture_default_str();
  app.add_option("--tokens", n_prompt, "of the prompt")->capture_default_str();
  app.add_option("--steps", n_steps, "after the prompt")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Snapshot all = synthetic::make_huge_snapshot(layers, heads, n_prompt, n_steps);
  capture(all);
  Line line{.pipe = {}, .bytes_per_ms = mbit * 1e6 / 8 / 1000};
  remote::MessageReader in(line.pipe.read.get());
  remote::SnapshotReceiver receiver(std::size_t(4) << 30);
  std::printf("%d x %d heads, %d tokens, %zu runs, %.0f Mbit/s\n%-8s %14s %12s %16s %14s\n", layers, heads, n_prompt, all.lanes.size(),
              mbit, "step", "picture, ms", "its bytes", "all numbers, ms", "all bytes");
  remote::SnapshotSender sender([&line](remote::Kind kind, const std::string& bytes) { line.send(kind, bytes); });
  for (int s = 0; s <= n_steps; ++s) {
    const SnapshotPtr now = first_steps(all, static_cast<std::size_t>(s) + 1);
    line.sent = 0;
    std::size_t picture_bytes = 0;
    double picture = 0;
    const auto start = Clock::now();
    {
      const JoinedThread there([&] {
        sender.show(now, 0);
        picture_bytes = line.sent;
        while (sender.send_numbers()) continue;
      });
      while (!receiver.complete() || picture == 0) {
        const auto message = in.next();
        receiver.take(*message);
        if (message->kind != remote::Kind::snapshot) continue;
        if (!receiver.snapshot()) return 1;
        picture = ms_since(start);
      }
    }
    std::printf("%-8d %14.0f %12zu %16.0f %14zu\n", s, picture, picture_bytes, ms_since(start), line.sent);
  }
  return 0;
}
