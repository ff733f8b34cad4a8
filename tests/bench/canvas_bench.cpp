// SPDX-License-Identifier: Apache-2.0
// CPU time of one frame of every canvas over a synthetic cache of any size: what the window pays before the graphics card is asked for
// anything. Run it alone and with a real-time priority: chrt -f 10 canvas_bench
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "snapshot/synthetic.h"
#include "viz/headless.h"
#include "viz/views.h"

using namespace kvscope;
using namespace kvscope::viz;
using namespace kvscope::viz::testing;

namespace {

constexpr int kFrames = 60;

struct Bench {
  Headless& canvas;
  View& view;

  /// From `change` to the finished draw list, in milliseconds.
  double frame(const std::function<void()>& change) {
    const auto begin = std::chrono::steady_clock::now();
    change();
    const ImDrawData* drawn = canvas.draw(view);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    vertices = std::max(vertices, drawn->TotalVtxCount);
    return ms;
  }

  void print(const char* what, std::vector<double> ms) {
    std::sort(ms.begin(), ms.end());
    std::printf("%-11s %-22s %8.2f %8.2f %8.2f %8zu %8d\n", view.id(), what, ms[ms.size() / 2], ms[ms.size() * 95 / 100], ms.back(),
                view.marks().size(), vertices);
    std::fflush(stdout);
    vertices = 0;
  }

  /// Frames that `change` makes necessary, each timed from the change to the finished draw list.
  void run(const char* what, const std::function<void(int)>& change) {
    std::vector<double> ms;
    for (int i = 0; i < kFrames; ++i) {
      ms.push_back(frame([&] { change(i); }));
      canvas.io().MouseWheel = 0;
      canvas.apply();
    }
    print(what, std::move(ms));
  }

  int vertices = 0;  // the most of a frame since the last line
};

void bench_view(const Snapshot& snapshot, View& view, ImVec2 size, TokenWindow* window) {
  Headless canvas(snapshot, size);
  canvas.frame.selection.lane = static_cast<int>(snapshot.lanes.size()) - 1;
  canvas.frame.selection.layer = snapshot.model.n_layers / 2;
  canvas.frame.selection.kv_head = snapshot.model.n_kv_heads / 2;
  canvas.frame.fine_marks = false;  // as in the window
  const int n_steps = static_cast<int>(snapshot.lanes.back().steps.size());
  canvas.frame.selection.step = n_steps / 2;
  Bench bench{canvas, view};
  bench.print("first picture", {bench.frame([] {})});
  bench.run("still", [](int) {});
  bench.run("scrub by one step",
            [&](int i) { canvas.frame.selection.step = std::abs((n_steps / 2 + i) % (2 * n_steps - 2) - n_steps + 1); });
  bench.run("scrub end to end", [&](int i) { canvas.frame.selection.step = i % 2 == 0 ? 0 : n_steps - 1; });
  bench.run("hover", [&](int i) { canvas.io().MousePos = {size.x / 2 + static_cast<float>(i), size.y / 3}; });
  if (window != nullptr) {
    const double n = static_cast<double>(snapshot.tokens.size());
    for (const double shown : {n / 4, n / 32}) {
      bench.run(shown == n / 4 ? "pan, 1/4 shown" : "pan, 1/32 shown", [&](int i) { *window = {n / 4 + shown * 0.05 * i, shown}; });
    }
    *window = {};
  }
  bench.run("wheel in and out", [&](int i) {
    canvas.io().MousePos = {size.x / 2, size.y / 3};
    canvas.io().MouseWheel = i % 20 < 10 ? 1.0f : -1.0f;
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"time the frames of the canvases"};
  int layers = 32, heads = 32, tokens = 32768, generated = 16, lanes = 2;
  std::vector<float> size = {1600, 820};
  std::vector<std::string> only;
  app.add_option("--layers", layers)->capture_default_str();
  app.add_option("--heads", heads, "KV heads")->capture_default_str();
  app.add_option("--tokens", tokens)->capture_default_str();
  app.add_option("--generated", generated, "steps after the prefill")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--lanes", lanes)->capture_default_str();
  app.add_option("--size", size)->expected(2);
  app.add_option("--view", only, "atlas, compare, ...; default: all");
  CLI11_PARSE(app, argc, argv);
  const Snapshot snapshot = synthetic::make_huge_snapshot(layers, heads, tokens, generated, lanes);
  std::printf("%d layers x %d heads x %d tokens, %d steps, %d lanes, %g x %g px, ms of %d frames\n", layers, heads, tokens, generated + 1,
              lanes, static_cast<double>(size[0]), static_cast<double>(size[1]), kFrames);
  std::printf("%-11s %-22s %8s %8s %8s %8s %8s\n", "canvas", "", "median", "p95", "max", "marks", "vertices");
  const auto wanted = [&](const View& v) { return only.empty() || std::find(only.begin(), only.end(), v.id()) != only.end(); };
  const auto window = std::make_shared<TokenWindow>();
  const auto atlas = make_atlas(window);
  if (wanted(*atlas)) bench_view(snapshot, *atlas, {size[0], size[1]}, window.get());
  for (const auto& view : make_views()) {
    if (view->id() != std::string("atlas") && wanted(*view)) bench_view(snapshot, *view, {size[0], size[1]}, nullptr);
  }
  return 0;
}
