// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/lineage.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

namespace {

constexpr float kRowMost = 38, kRowLeast = 17;  // pixels between two lines
constexpr float kLabelsAbove = 27;              // from this distance on, cosine and weight stand above their line

/// Steps on x. The prompt of a prefill has no steps of its own: its tokens come in from the left edge.
struct StepAxis {
  float x0 = 0, x1 = 0;
  double first = 0, last = 1;
  float x(double step) const { return x0 + static_cast<float>((step - first) / (last - first)) * (x1 - x0); }
};

StepAxis step_axis(const Lineage& lineage, float x0, float x1) {
  int earliest = lineage.shown_step;
  for (const LineageLine& line : lineage.lines) {
    if (line.into >= 0) earliest = std::min(earliest, line.end);
    if (lineage.merges == 0) earliest = std::min(earliest, line.born);
  }
  const double last = lineage.shown_step;
  const double lead = std::max(0.9, 0.55 * (last - earliest));
  return {x0, x1, earliest - lead, last};
}

struct CosineRange {
  double low = kNotAvailable, high = kNotAvailable;
  bool any() const { return std::isfinite(low); }
  double unit(double cos) const { return high > low ? std::clamp((cos - low) / (high - low), 0.0, 1.0) : 1.0; }
};

/// Ends rounded outwards to 0.05, so that the legend reads well.
CosineRange cosine_range(const Lineage& lineage) {
  CosineRange out;
  for (const LineageLine& line : lineage.lines) {
    if (!std::isfinite(line.cos)) continue;
    out.low = out.any() ? std::min(out.low, line.cos) : line.cos;
    out.high = std::isfinite(out.high) ? std::max(out.high, line.cos) : line.cos;
  }
  if (!out.any()) return out;
  out.low = std::floor(out.low * 20 + 1e-9) / 20;
  out.high = std::ceil(out.high * 20 - 1e-9) / 20;
  if (out.high <= out.low) out.high = out.low + 0.05;
  return out;
}

class River {
 public:
  River(Painter& p, const Rect& area, const Snapshot& snapshot, const Lineage& all)
      : p_(p), snapshot_(snapshot), theme_(p.theme()), area_(area), cos_(cosine_range(all)) {
    legend_ = area_.cut_bottom(p.px(28));
    head_ = area_.cut_top(p.px(20));
    area_.cut_top(p.px(10));
    const int fit = std::max(1, static_cast<int>((area_.height() - p.px(8)) / p.px(kRowLeast)));
    tree_ = trimmed(all, fit);
    const auto n = static_cast<float>(std::max<std::size_t>(1, tree_.lines.size()));
    row_ = std::clamp(area_.height() / (n + 0.3f), p.px(kRowLeast), p.px(kRowMost));
    above_ = row_ >= p.px(kLabelsAbove);
    axis_ = step_axis(tree_, area_.x0 + p.px(112), area_.x1 - p.px(64));
    // Words above a line need a line that is long enough; one that is not puts them all into a column.
    for (const LineageLine& line : tree_.lines) {
      if (line.into >= 0 && start_of(line) + p.px(118) > axis_.x(line.end) - turn()) above_ = false;
    }
    if (!above_) axis_ = step_axis(tree_, area_.x0 + p.px(196), area_.x1 - p.px(64));
    for (const LineageLine& line : tree_.lines) most_votes_ = std::max(most_votes_, line.last_votes());
  }

  std::vector<LineageHit> draw() {
    draw_axis();
    for (const LineageLine& line : tree_.lines) {
      if (line.into >= 0) draw_body(line);
    }
    for (const LineageLine& line : tree_.lines) {
      if (line.into < 0) draw_body(line);
    }
    for (const LineageLine& line : tree_.lines) {
      if (line.into >= 0) draw_turn(line);
    }
    draw_end();
    std::vector<LineageHit> hits;
    for (std::size_t i = 0; i < tree_.lines.size(); ++i) hits.push_back(draw_labels(tree_.lines[i]));
    draw_legend();
    return hits;
  }

 private:
  float y_of(int token) const {
    const LineageLine* line = tree_.line(token);
    return line == nullptr ? area_.y0 : area_.y0 + row_ * (static_cast<float>(line - tree_.lines.data()) + 0.55f);
  }
  float width_of(int votes) const {
    const float share = static_cast<float>(votes - 1) / static_cast<float>(std::max(6, most_votes_ - 1));
    return p_.px(2.2f) + p_.px(6.5f) * share;
  }
  Rgb turn_colour(const LineageLine& line) const {
    return std::isfinite(line.cos) ? ramp(theme_.sequential, 0.25 + 0.75 * cos_.unit(line.cos)) : theme_.secondary;
  }
  Rgb body_colour(const LineageLine& line) const {
    if (line.into >= 0) return mix(theme_.disabled, theme_.secondary, 0.3);
    return tree_.evicted ? theme_.disabled : theme_.category[static_cast<std::size_t>(Category::kept)];
  }
  float start_of(const LineageLine& line) const {
    const bool from_prompt = snapshot_.prefill_mode && line.born == 0;
    const float x = from_prompt || line.born < 0 ? axis_.x0 : std::max(axis_.x0, axis_.x(line.born));
    return std::min(x, std::max(axis_.x0, axis_.x(line.end) - turn() - 8));
  }
  float turn() const { return std::clamp((axis_.x1 - axis_.x0) * 0.05f, p_.px(12), p_.px(24)); }

  void draw_axis() {
    const float y = head_.middle_y();
    p_.text({head_.x0, y}, "token, born", Face::caption, theme_.disabled);
    if (!above_) p_.text({axis_.x0 - p_.px(10), y}, cos_.any() ? "cos   w" : "w", Face::caption, theme_.disabled, Align::right);
    const float title = axis_.x0 + p_.text({axis_.x0, y}, "step", Face::caption, theme_.disabled);
    float end = title + 6;
    for (const double tick : nice_ticks(std::max(0.0, axis_.first), std::max(axis_.last, axis_.first + 1), 6)) {
      if (tick != std::floor(tick) || tick > axis_.last) continue;
      const float x = axis_.x(tick);
      const std::string label = format_count(static_cast<int>(tick));
      const float half = p_.width_of(Face::caption, label) / 2;
      p_.vline(x, area_.y0 - p_.px(6), area_.y1, theme_.line, 0.6);
      if (x - half < end) continue;
      p_.text({x, y}, label, Face::caption, theme_.secondary, Align::centre);
      p_.mark("tick", "step " + label, {x - half, head_.y0, x + half, head_.y1}, label);
      end = x + half + 8;
    }
  }

  void draw_body(const LineageLine& line) {
    const float y = y_of(line.token);
    const float stop = line.into >= 0 ? std::max(start_of(line) + 2, axis_.x(line.end) - turn()) : axis_.x(line.end);
    float x = start_of(line);
    for (std::size_t i = 0; i < line.votes.size(); ++i) {
      const float next = i + 1 < line.votes.size() ? std::clamp(axis_.x(line.votes[i + 1].first), x, stop) : stop;
      const float half = width_of(line.votes[i].second) / 2;
      p_.fill({x, y - half, next, y + half}, body_colour(line));
      x = next;
    }
    for (const auto& [gone, back] : line.gaps) {
      const float half = width_of(line.last_votes()) / 2 + 1, x0 = std::max(start_of(line), axis_.x(gone)), x1 = axis_.x(back);
      p_.fill({x0, y - half, x1, y + half}, theme_.panel);
      p_.line({x0, y}, {x1, y}, theme_.evicted_outline, 1);
      p_.mark("gap", fmt::format("t{}", line.token), {x0, y - half, x1, y + half}, fmt::format("no slot from step {} to {}", gone, back));
      // In the step in which it went, too: there the gap has no width.
      const float r = p_.px(5);
      p_.disc({x1, y}, r, theme_.panel);
      p_.ring({x1, y}, r - 1, theme_.accent, 1.6f);
      const std::string words = fmt::format("restored at step {}", back);
      if (line.into < 0 && row_ >= p_.px(kLabelsAbove)) p_.text({x1 - r, y - p_.px(13)}, words, Face::caption, theme_.secondary);
      p_.mark("restored", fmt::format("t{}", line.token), {x1 - r, y - r, x1 + r, y + r}, words);
    }
  }

  void draw_turn(const LineageLine& line) {
    const float x1 = axis_.x(line.end), x0 = std::max(start_of(line) + 2, x1 - turn());
    const float ya = y_of(line.token), yb = y_of(line.into);
    const float bend = (x1 - x0) * 0.6f;
    p_.bezier({x0, ya}, {x0 + bend, ya}, {x1 - bend, yb}, {x1, yb}, turn_colour(line), width_of(line.last_votes()));
    p_.disc({x1, yb}, p_.px(4.2f), theme_.panel);
    p_.ring({x1, yb}, p_.px(3.8f), turn_colour(line), 1.6f);
    p_.mark("merge", fmt::format("t{} into t{}", line.token, line.into), {x1 - 5, yb - 5, x1 + 5, yb + 5},
            fmt::format("step {}, w {}, cos {}", line.end, format_number(line.w_removed), format_number(line.cos)));
  }

  void draw_end() {
    const LineageLine* root = tree_.line(tree_.root);
    if (root == nullptr) return;
    const ImVec2 at(axis_.x(root->end), y_of(root->token));
    const float r = p_.px(6);
    if (tree_.evicted) {
      p_.disc(at, r, theme_.panel);
      p_.ring(at, r, theme_.evicted_outline, 1.6f);
    } else {
      p_.disc(at, r + 2, theme_.accent);
      p_.disc(at, r, body_colour(*root));
    }
    const std::string votes = votes_text(root->last_votes());
    p_.text({at.x + p_.px(14), at.y}, tree_.evicted ? "evicted" : votes, Face::strong, tree_.evicted ? theme_.secondary : theme_.text);
    p_.mark("slot", fmt::format("slot {}", root->token), {at.x - r, at.y - r, at.x + r, at.y + r}, votes);
  }

  LineageHit draw_labels(const LineageLine& line) {
    const float y = y_of(line.token);
    const bool selected = line.into < 0;
    p_.text({area_.x0 + p_.px(22), y}, format_count(line.token), Face::caption, theme_.disabled, Align::right);
    const float limit = p_.px(72);
    const std::string text = p_.elide(token_text(tokens_of(snapshot_, p_.frame().selection.lane), line.token), Face::mono, limit);
    p_.token({area_.x0 + p_.px(32), y}, text, p_.size_of(Face::mono), selected ? theme_.accent : theme_.text, selected);
    const Rect row{area_.x0, y - row_ / 2, area_.x1, y + row_ / 2};
    if (line.into >= 0) {
      const std::string cos = std::isfinite(line.cos) ? fmt::format("{:.3f}", line.cos) : std::string("n/a");
      const std::string w = std::isfinite(line.w_removed) ? fmt::format("{:.3f}", line.w_removed) : std::string("n/a");
      if (above_) {
        const float x = start_of(line) + 2;
        const float label_y = y - p_.px(10);
        const std::string label = (cos_.any() ? "cos " + cos + "   w " : "w ") + w;
        // Curves end above it: the words go before them, on a patch of panel.
        if (x + p_.width_of(Face::caption, label) < axis_.x1) p_.text({x, label_y}, label, Face::caption, theme_.secondary);
      } else {
        p_.text({axis_.x0 - p_.px(10), y}, (cos_.any() ? cos + "  " : "") + w, Face::caption, theme_.secondary, Align::right);
      }
      p_.mark("lineage", fmt::format("t{}", line.token), row, fmt::format("cos {} w {}", cos, w));
    } else {
      p_.mark("lineage", fmt::format("t{}", line.token), row, votes_text(line.last_votes()));
    }
    return {row, line.token};
  }

  void draw_legend() {
    p_.hline(legend_.x0 - p_.px(12), legend_.x1 + p_.px(12), legend_.y0, theme_.line);
    const float y = legend_.middle_y();
    float x = legend_.x0;
    x += p_.text({x, y}, cos_.any() ? "width = votes · colour = cosine" : "width = votes · joined without a nearest key", Face::caption,
                 theme_.secondary) +
         p_.px(14);
    if (cos_.any()) {
      RampLegend cosines;
      std::vector<Rgb> colours;
      for (int i = 0; i <= 8; ++i) colours.push_back(ramp(theme_.sequential, 0.25 + 0.75 * i / 8.0));
      cosines.colours = colours;
      cosines.low = fmt::format("{:.2f}", cos_.low);
      cosines.high = fmt::format("{:.2f}", cos_.high);
      x = draw_ramp_legend(p_, x, y, cosines);
    }
    std::string note = "w = weight of the removed slot";
    if (tree_.left_out > 0)
      note = fmt::format("{} of {} tokens, most votes first", tree_.lines.size(),
                         tree_.lines.size() + static_cast<std::size_t>(tree_.left_out));
    const float room = legend_.x1 - x;
    if (room > p_.px(60)) p_.text_fit({legend_.x1, y}, note, Face::caption, theme_.disabled, room, Align::right);
    if (tree_.left_out > 0) p_.mark("note", "lineage", legend_, note);
  }

  Painter& p_;
  const Snapshot& snapshot_;
  const Theme& theme_;
  Rect area_, head_, legend_;
  CosineRange cos_;
  Lineage tree_;
  StepAxis axis_;
  float row_ = 0;
  bool above_ = true;
  int most_votes_ = 1;
};

}  // namespace

std::vector<LineageHit> draw_lineage(Painter& p, const Rect& area, const Snapshot& snapshot, const Lineage& lineage) {
  if (lineage.root < 0 || area.height() < p.px(90) || area.width() < p.px(260)) return {};
  return River(p, area, snapshot, lineage).draw();
}

std::string lineage_headline(const Lineage& lineage) {
  if (lineage.root < 0) return {};
  const LineageLine* root = lineage.line(lineage.root);
  const bool restored = root != nullptr && !root->gaps.empty();
  const std::string back = restored ? fmt::format(" · restored at step {}", root->gaps.back().second) : std::string();
  if (lineage.evicted && root != nullptr)
    return fmt::format("slot {}{} · evicted {}at step {}", lineage.root, back, restored ? "again " : "", root->end);
  if (lineage.merges == 0) return fmt::format("slot {} · no merges{}", lineage.root, back);
  return fmt::format("slot {} · {} {}{}", lineage.root, format_count(lineage.merges), lineage.merges == 1 ? "merge" : "merges", back);
}

std::vector<std::string> lineage_lines(std::span<const TokenInfo> tokens, const Lineage& lineage, int token) {
  const LineageLine* line = lineage.line(token);
  if (line == nullptr) return {};
  std::vector<std::string> out = {fmt::format("token {} {}", token, quoted(token_text(tokens, token)))};
  for (const auto& [gone, back] : line->gaps) out.push_back(fmt::format("gone at step {}, restored at step {}", gone, back));
  if (line->into >= 0) {
    out.push_back(fmt::format("merged into slot {} at step {}", line->into, line->end));
    out.push_back(fmt::format("weight {}, cosine {}", format_number(line->w_removed), format_number(line->cos)));
    out.push_back(fmt::format("brought {}", votes_text(line->last_votes())));
  } else {
    out.push_back(lineage.evicted ? fmt::format("evicted at step {}", line->end) : votes_text(line->last_votes()));
  }
  return out;
}

}  // namespace kvscope::viz
