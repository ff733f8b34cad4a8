// SPDX-License-Identifier: Apache-2.0
// Draws one canvas over a synthetic snapshot into a PNG, for people who work on the look of the canvases.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <set>

#include "snapshot/synthetic.h"
#include "viz/software_raster.h"
#include "viz/synthetic.h"
#include "viz/views.h"

using namespace kvscope;
using namespace kvscope::viz;
using namespace kvscope::viz::testing;

int main(int argc, char** argv) {
  CLI::App app{"draw a canvas over a synthetic snapshot"};
  std::string view_id, out = "canvas.png";
  synthetic::Shape shape;
  bool light = false, stream = false, huge = false, empty = false;
  std::vector<float> size = {828, 406}, mouse;
  std::vector<int> head, tokens;
  std::vector<std::string> keys;
  int step = -1, lane = 3, slot = -1;
  float scale = 1, wheel = 0;
  app.add_option("view", view_id, "atlas, head_grid, head_strip, inspector, timeline, compare")->required();
  app.add_option("-o,--out", out);
  app.add_option("--size", size)->expected(2);
  app.add_option("--layers", shape.n_layers);
  app.add_option("--heads", shape.n_kv_heads, "KV heads");
  app.add_option("--prompt", shape.n_prompt, "tokens");
  app.add_option("--generated", shape.n_generated, "tokens");
  app.add_option("--slots", shape.slots);
  app.add_option("--head", head, "selected layer and KV head")->expected(2);
  app.add_option("--tokens", tokens, "selected tokens, first and last")->expected(2);
  app.add_option("--mouse", mouse, "pointer")->expected(2);
  app.add_option("--wheel", wheel, "notches at the pointer");
  app.add_option("--key", keys, "keys sent first");
  app.add_option("--step", step);
  app.add_option("--lane", lane);
  app.add_option("--slot", slot);
  app.add_option("--scale", scale);
  app.add_flag("--light", light);
  app.add_flag("--stream", stream, "one step per prompt token");
  app.add_flag("--huge", huge, "no events; use with --layers 32 --heads 32 --prompt 32768");
  app.add_flag("--empty", empty);
  CLI11_PARSE(app, argc, argv);
  shape.prefill = !stream;
  shape.n_heads = 2 * shape.n_kv_heads;
  Snapshot snapshot;
  if (!empty)
    snapshot = huge ? synthetic::make_huge_snapshot(shape.n_layers, shape.n_kv_heads, shape.n_prompt) : synthetic::make_snapshot(shape);

  std::unique_ptr<View> view;
  for (auto& v : make_views()) {
    if (v->id() == view_id) view = std::move(v);
  }
  if (!view) {
    std::fprintf(stderr, "no view %s\n", view_id.c_str());
    return 2;
  }
  Headless canvas(snapshot, {size[0], size[1]}, !light, scale);
  FreeTypeText text(canvas.textures);
  canvas.frame.text = &text;
  canvas.frame.selection.lane = huge ? std::min(lane, 1) : lane;
  if (head.size() == 2) {
    canvas.frame.selection.layer = head[0];
    canvas.frame.selection.kv_head = head[1];
  }
  if (tokens.size() == 2) canvas.frame.selection.tokens = TokenRange{tokens[0], tokens[1]};
  if (step >= 0) canvas.frame.selection.step = step;
  if (slot >= 0) canvas.frame.selection.slot = slot;
  canvas.draw(*view);
  for (const std::string& key : keys) {
    canvas.frame.has_focus = true;
    view->key(canvas.frame, key, canvas.intents);
    canvas.apply();
    canvas.draw(*view);
  }
  if (mouse.size() == 2) {
    canvas.move(*view, {mouse[0], mouse[1]});
    if (wheel != 0) canvas.wheel(*view, {mouse[0], mouse[1]}, wheel);
    if (const auto* hover = canvas.last<HoverAt>()) {
      for (const std::string& line : hover->tooltip) std::printf("tooltip: %s\n", line.c_str());
    }
    canvas.apply();
  }
  const ImDrawData* data = canvas.draw(*view);
  std::printf("%s: %s\n%d vertices, %zu marks, preferred height %g\n", view->title(), view->facts(canvas.frame).c_str(),
              data->TotalVtxCount, view->marks().size(), static_cast<double>(view->preferred_height(canvas.frame)));
  return write_png(rasterise(*data, canvas), out) ? 0 : 1;
}
