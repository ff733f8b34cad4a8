// SPDX-License-Identifier: Apache-2.0
#include "viz/views/parts/filter_bar.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

constexpr float kSlot = 176, kLabel = 48, kTrack = 72, kHandle = 5;
constexpr std::array<const char*, 3> kNames = {"score ≥", "votes ≥", "age ≤"};
constexpr std::array<const char*, 3> kMarks = {"score", "votes", "age"};

float slot(const Painter& p, const Rect& area) { return std::min(p.px(kSlot), (area.width() - p.px(12)) / 3); }

int most_votes(const HeadColumns& all) { return all.votes.empty() ? 0 : *std::max_element(all.votes.begin(), all.votes.end()); }

}  // namespace

/// Narrower where all three would not fit, down to the handle's own room.
Rect FilterBar::track(const Painter& p, const Rect& area, int slider) {
  const float x = area.x0 + p.px(12) + slot(p, area) * static_cast<float>(slider) + p.px(kLabel);
  const float wide = std::clamp(slot(p, area) - p.px(kSlot - kTrack), p.px(2 * kHandle), p.px(kTrack));
  return {x, area.middle_y() - p.px(8), x + wide, area.middle_y() + p.px(8)};
}

double FilterBar::unit(const HeadColumns& all, int slider) const {
  if (slider == 0) return std::isfinite(filter_.min_score) ? std::clamp(scale_for(all.score).unit(filter_.min_score), 0.0, 1.0) : 0;
  if (slider == 1) return std::clamp(static_cast<double>(filter_.min_votes) / std::max(1, most_votes(all)), 0.0, 1.0);
  // Ages on a logarithm: the newest tokens are those that differ.
  return filter_.max_age < 0 ? 1 : std::clamp(std::log2(1.0 + filter_.max_age) / std::log2(1.0 + std::max(1, all.size())), 0.0, 1.0);
}

void FilterBar::set_unit(const HeadColumns& all, int slider, double unit) {
  unit = std::clamp(unit, 0.0, 1.0);
  if (slider == 0) {
    filter_.min_score = unit <= 0 ? kNotAvailable : scale_for(all.score).value(unit);
  } else if (slider == 1) {
    filter_.min_votes = static_cast<int>(std::lround(unit * most_votes(all)));
  } else {
    filter_.max_age = unit >= 1 ? -1 : static_cast<int>(std::lround(std::exp2(unit * std::log2(1.0 + std::max(1, all.size()))) - 1));
  }
}

std::string FilterBar::value_text(int slider) const {
  if (slider == 0) return std::isfinite(filter_.min_score) ? format_number(filter_.min_score) : "any";
  if (slider == 1) return filter_.min_votes > 0 ? format_count(filter_.min_votes) : "any";
  return filter_.max_age >= 0 ? format_count(filter_.max_age) : "any";
}

std::string FilterBar::words() const {
  std::string out;
  for (int s = 0; s < kSliders; ++s) out += fmt::format("{}{} {}", s > 0 ? ", " : "", kNames[static_cast<std::size_t>(s)], value_text(s));
  return out;
}

bool FilterBar::key(std::string_view key, const HeadColumns& all) {
  const bool back = key.starts_with("Shift+");
  const std::string_view letter = back ? key.substr(key.find('+') + 1) : key;
  const int slider = letter == "S" ? 0 : letter == "V" ? 1 : letter == "A" ? 2 : -1;
  if (slider < 0) return false;
  const double step = slider == 1 ? 1.0 / std::max(1, most_votes(all)) : 0.1;
  const int age = filter_.max_age;
  set_unit(all, slider, unit(all, slider) + (back == (slider == 2) ? step : -step));
  if (slider == 2 && age >= 0 && filter_.max_age == age) filter_.max_age = std::max(0, age + (back ? 1 : -1));  // among a few tokens
  return true;
}

void FilterBar::react(const Painter& p, const Rect& area, const HeadColumns& all) {
  const Pointer& m = p.pointer();
  for (int s = 0; s < kSliders; ++s) {
    const Rect r = track(p, area, s).inset(-p.px(kHandle), 0);
    if (m.pressed && r.contains(m.at)) held_ = s;
    if (!m.double_clicked || !r.contains(m.at)) continue;
    if (s == 0) filter_.min_score = kNotAvailable;
    if (s == 1) filter_.min_votes = 0;
    if (s == 2) filter_.max_age = -1;
    held_ = -1;
  }
  if (held_ >= 0 && m.down) {
    const Rect r = track(p, area, held_);
    set_unit(all, held_, static_cast<double>((m.at.x - r.x0) / r.width()));
  }
  if (!m.down) held_ = -1;
}

void FilterBar::draw(Painter& p, const Rect& area, const HeadColumns& all, const HiddenCount& hidden, const std::string& summary) const {
  const Theme& t = p.theme();
  const float y = area.middle_y();
  for (int s = 0; s < kSliders; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const Rect r = track(p, area, s);
    const std::string value = value_text(s);
    const bool on = value != "any";
    p.text({r.x0 - p.px(8), y}, kNames[i], Face::caption, on ? t.text : t.secondary, Align::right);
    if (p.frame().alone) {  // an exported picture has no handles: it states the filter
      p.text_fit({r.x0, y}, value, Face::caption, on ? t.text : t.disabled, area.x1 - r.x0);
      continue;
    }
    p.fill({r.x0, y - 1.5f, r.x1, y + 1.5f}, t.line, 1, 1.5f);
    const float x = r.x0 + r.width() * static_cast<float>(unit(all, s));
    if (on) p.fill(s == 2 ? Rect{r.x0, y - 1.5f, x, y + 1.5f} : Rect{x, y - 1.5f, r.x1, y + 1.5f}, t.accent, 1, 1.5f);
    p.disc({x, y}, p.px(kHandle), on || held_ == s ? t.accent : t.secondary);
    p.text_fit({r.x1 + p.px(10), y}, value, Face::caption, on ? t.text : t.disabled, area.x1 - r.x1 - p.px(10));
    p.mark("slider", kMarks[i], r, value);
  }
  float x = area.x0 + p.px(12) + slot(p, area) * kSliders;
  const std::string text = hidden.tokens == 0
                               ? "nothing hidden"
                               : fmt::format("hidden: {} of {} tokens, {} of {} slots", format_count(hidden.tokens),
                                             format_count(hidden.all_tokens), format_count(hidden.slots), format_count(hidden.all_slots));
  if (area.x1 - x < std::min(p.px(80), p.width_of(Face::caption, text))) return;
  const float wide = p.text_fit({x, y}, text, Face::caption, hidden.tokens > 0 ? t.accent : t.disabled, area.x1 - x);
  p.mark("hidden", "tokens", {x, area.y0, x + wide, area.y1}, text);
  x += wide + p.px(24);
  if (summary.empty() || area.x1 - p.px(12) - x < p.px(80)) return;
  p.text_fit({area.x1 - p.px(12), y}, summary, Face::caption, t.secondary, area.x1 - p.px(12) - x, Align::right);
  p.mark("summary", "selected tokens", {x, area.y0, area.x1, area.y1}, summary);
}

}  // namespace kvscope::viz
