// SPDX-License-Identifier: Apache-2.0
#include "viz/views/compare/compare_scene.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "viz/reduce/compare.h"

namespace kvscope::viz {

using namespace compare;

float compare::names_width(const Painter& p, float width) {
  constexpr float kMost = 0.26f;
  if (!p.frame().plain) return p.px(168);
  const Snapshot& s = *p.frame().snapshot;
  const float least = p.px(150);
  float widest = 0;
  for (const LaneSnapshot& run : s.lanes) {
    const std::string name = run.title.substr(0, run.title.find(": "));
    std::size_t n_differ = 0;
    const std::vector<std::string> parts = telling_params(s, run, &n_differ);
    const float told = &run == s.lanes.data() || n_differ == 0 ? 0 : p.px(8) + p.width_of(Face::caption, parts[0]);
    widest = std::max(widest, p.width_of(Face::strong, name) + told);
  }
  return std::clamp(std::ceil(beside_name(p) + widest), least, std::max(least, kMost * width));
}

ComparePlan plan_compare(const Painter& p, CompareMode mode, float token_px, float height) {
  using Rows = StripScale::Rows;
  const Snapshot& s = *p.frame().snapshot;
  const auto others = static_cast<float>(s.lanes.size() - 1);
  const float fixed = p.px(kHeader + kLegend);
  const float ideal = p.px(80) + StripScale{Rows::heads, 7, 4}.height(s.model.n_layers, s.model.n_kv_heads);
  const auto make = [&](const StripScale& scale, float pad, float text, bool difference) {
    ComparePlan out{scale, p.px(pad), 0, 0, difference};
    out.row = std::max(p.px(text), scale.height(s.model.n_layers, s.model.n_kv_heads)) + 2 * out.pad;
    out.reference_row = std::max(p.px(kReference) + 2 * out.pad, p.px(text + 8));
    return out;
  };
  const auto fits = [&](const ComparePlan& one) {
    return fixed + one.reference_row + others * one.row +
               (one.difference ? std::max(difference_least(p), one.scale.rows == Rows::heads && one.scale.px > 3 ? ideal : 0) : 0) <=
           height;
  };
  if (mode == CompareMode::pair && others > 0) {  // one line a run: the picture of the two has the room
    // Of many runs each line is lower, so that the difference that was asked for is there.
    for (const float text : {18.0f, 15.0f, 12.0f}) {
      ComparePlan thin = make({Rows::all, p.px(text - 6), 0}, text > 15 ? 4 : 1, text, true);
      thin.reference_row = thin.row;
      if (fits(thin)) return thin;
    }
  }
  const std::vector<StripScale> scales = strip_scales(token_px);
  // Rows of heads say more than the difference: layers only where no row of a head fits.
  const bool heads =
      std::any_of(scales.begin(), scales.end(), [&](const StripScale& one) { return !one.shares() && fits(make(one, 4, kName, false)); });
  for (const StripScale& scale : scales) {
    if (others == 0 || scale.shares() == heads || scale.px < 2 || mode == CompareMode::reference) continue;
    for (const float pad : {8.0f, 5.0f}) {
      const ComparePlan one = make(scale, pad, kName, true);
      if (fits(one)) return one;
    }
  }
  for (const StripScale& scale : scales) {
    if (!scale.shares() && scale.px > 3 && others > 0 && mode != CompareMode::reference) continue;
    for (const float pad : {8.0f, 4.0f}) {
      ComparePlan one = make(scale, pad, kName, false);
      if (!fits(one)) continue;
      // What is left over sets the runs apart.
      if (others > 0) one.row += std::min(p.px(14), std::floor((height - fixed - one.reference_row - others * one.row) / others));
      return one;
    }
  }
  // Less than the least: one line of text a run, and one row for all of its heads.
  ComparePlan last = make({Rows::all, 1, 0}, 2, 18, false);
  last.reference_row = last.row = std::max(p.px(16), (height - fixed) / (others + 1));
  last.scale.px = std::max(1.0f, last.row - 2 * last.pad);
  return last;
}

float prompt_end(const Snapshot& s, const TokenAxis& axis) {
  const float x = axis.x_of(s.n_prompt);
  return s.n_prompt > 0 && s.n_prompt < axis.n_tokens && x >= axis.x0 && x <= axis.x1 ? x : -1;
}

}  // namespace kvscope::viz
