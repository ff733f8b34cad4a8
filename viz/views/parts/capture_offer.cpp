// SPDX-License-Identifier: Apache-2.0
#include "viz/views/parts/capture_offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "viz/draw/format.h"

namespace kvscope::viz {

std::string capture_words(const Snapshot& s) { return fmt::format("capture now ({})", format_ms(s.total_ms)); }

double recompute_ms(const Snapshot& s) {
  double sum = 0;
  for (const LaneSnapshot& lane : s.lanes) sum += std::isfinite(lane.prompt_compress_ms) ? lane.prompt_compress_ms : lane.compress_ms;
  return sum;
}

std::string measure_words(const Snapshot& s) {
  const double ms = recompute_ms(s);
  return std::isnan(ms) ? "measure now" : fmt::format("measure now ({} or more)", format_ms(ms));  // of stored results nobody knows
}

std::string CaptureOffer::missing(std::string_view what) const {
  const std::string_view is = offers_ == WantMeasure::What::history ? "not captured" : "not measured";
  return what.empty() ? std::string(is) : fmt::format("{}: {}", what, is);
}

std::string CaptureOffer::offer(const Snapshot& s) const {
  return offers_ == WantMeasure::What::history ? capture_words(s) : measure_words(s);
}

float CaptureOffer::draw(Painter& p, ImVec2 at, std::string_view what, float room) {
  const Theme& t = p.theme();
  if (p.frame().alone) return at.x + p.text_fit(at, missing(what), Face::caption, t.secondary, room);  // an exported picture has no buttons
  const std::string missing = this->missing(what) + " –", offer = this->offer(*p.frame().snapshot);
  const float x = at.x + p.text_fit(at, missing, Face::caption, t.secondary, room) + p.px(4);
  const float w = p.text_fit({x, at.y}, offer, Face::caption, t.accent, std::max(0.0f, at.x + room - x));
  p.hline(x, x + w, at.y + p.px(7), t.accent);
  rect_ = Rect{x - 4, at.y - p.px(13), x + w + 4, at.y + p.px(13)};
  p.mark(offers_ == WantMeasure::What::history ? "capture" : "measure", std::string(what), *rect_, missing + " " + offer);
  return x + w;
}

float CaptureOffer::plate_width(Painter& p, std::string_view what, float room) const {
  const float offer = p.width_of(Face::caption, " –") + p.px(4) + p.width_of(Face::caption, this->offer(*p.frame().snapshot));
  return std::min(room, p.width_of(Face::caption, missing(what)) + (p.frame().alone ? 0 : offer) + 2 * p.px(kPlatePad));
}

void CaptureOffer::draw_plate(Painter& p, ImVec2 top_left, std::string_view what, float room) {
  const float pad = p.px(kPlatePad), height = p.px(18), width = plate_width(p, what, room);
  p.fill({top_left.x, top_left.y, top_left.x + width, top_left.y + height}, p.theme().panel, 0.9, 3);
  draw(p, {top_left.x + pad, top_left.y + height / 2}, what, width - 2 * pad + 1);
  if (!rect_) return;
  rect_->y0 = std::max(rect_->y0, top_left.y);
  rect_->y1 = std::min(rect_->y1, top_left.y + height);
}

bool CaptureOffer::react(const Pointer& pointer, std::vector<Intent>& intents) const {
  if (!rect_ || !pointer.inside || !rect_->contains(pointer.at)) return false;
  if (pointer.clicked) ask(intents);
  return true;
}

void CaptureOffer::ask(std::vector<Intent>& intents) const { intents.push_back(WantMeasure{offers_, true, true}); }

}  // namespace kvscope::viz
