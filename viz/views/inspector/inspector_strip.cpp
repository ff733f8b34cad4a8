// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/inspector_strip.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "snapshot/held_bytes.h"
#include "viz/draw/format.h"
#include "viz/draw/legend.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

namespace {

constexpr float kTextFrom = 9;         // column width from which every token's text is legible
constexpr float kLabelPitch = 12;      // distance of single labels below that
constexpr float kAgreementFrom = 125;  // height of the rows of values from which agreement has one, too
constexpr float kOneRowFrom = 80;      // the same without the statistic's

class Strip {
 public:
  Strip(Painter& p, const StripRows& at, const TokenAxis& axis, const StripScene& scene)
      : p_(p),
        t_(p.theme()),
        at_(at),
        axis_(axis),
        scene_(scene),
        columns_(scene.columns),
        rows_{p, axis, fmt::format("L{} H{}", scene.pick.values->layer, scene.pick.values->kv_head)} {}

  StripHits draw() {
    const auto& tokens = p_.frame().selection.tokens;
    draw_token_axis(p_, at_.axis, axis_, "key (past)", tokens && tokens->first != tokens->last ? tokens : std::nullopt);
    if (p_.frame().hover.token) highlight(*p_.frame().hover.token);
    draw_score();
    draw_statistic();
    draw_probed();
    draw_attention();
    draw_agreement();
    if (at_.fate.height() > 0) {
      rows_.fates(at_.fate, columns_.category);
      draw_pins();
      rows_.row_label(at_.fate.middle_y(), "fate", "");
    }
    if (at_.votes.height() > 0) {
      rows_.votes(at_.votes, columns_.votes, true);
      rows_.row_label(at_.votes.y0 + p_.px(7), "votes", "");
    }
    draw_texts();
    draw_selection();
    draw_cutoff();
    draw_legend();
    return hits_;
  }

 private:
  void highlight(int token) {
    if (token < axis_.first_visible() || token > axis_.last_visible()) return;
    p_.fill(rows_.column(token, at_.all()), t_.text, 0.07);
  }

  /// Of a row in which a pixel shows the largest of its tokens.
  std::string folded(std::string unit) const { return axis_.px < 1 ? unit + ", max" : unit; }

  void draw_score() {
    const TokenBars bars = score_bars(t_, columns_);
    if (largest(bars.values) < 0) {
      rows_.row_label(at_.score.middle_y(), "ranking score", "");
      const std::vector<int>& ranked = scene_.pick.values->parts.pos;
      const bool shared = !ranked.empty() && no_score_of(*scene_.pick.values, ranked.front()) == NoScore::beside_observed;
      p_.text({axis_.x0, at_.score.middle_y()},
              only_figures(*scene_.pick.values) ? "only figures are kept of this step, for want of memory"
              : shared                          ? "no ranking score in this step: it is shared with observed tokens, which have none"
              : !ranked.empty()                 ? "no ranking score of this step is a finite number"
              : reads_pages(*scene_.pick.run)   ? "all slots stay: pages are ranked, by every query anew"
                                                : "no ranking score in this step: slots are kept by position or were ranked once",
              Face::caption, t_.disabled);
      p_.mark("empty", "score", at_.score, "no ranking score");
      return;
    }
    std::vector<double> values = bars.values;
    values.push_back(scene_.pick.values->cutoff);
    hits_.score_scale = scale_for(values);
    has_score_ = true;
    rows_.row_label(at_.score.middle_y(), "ranking score", folded(hits_.score_scale.root ? "√ scale" : "linear scale"));
    rows_.value_axis(at_.score, hits_.score_scale, p_.px(22));
    rows_.bars(at_.score, hits_.score_scale, bars, "score");
  }

  void draw_statistic() {
    if (at_.statistic.height() <= 0) return;
    const TokenBars bars = statistic_bars(t_, columns_);
    const LaneSnapshot& run = *scene_.pick.run;
    const std::string name = run.statistic.empty() ? "statistic" : run.statistic;
    const ValueScale scale = scale_for(bars.values);
    const std::string unit = scale.root ? "√" : "linear";
    rows_.row_label(
        at_.statistic.middle_y(), name,
        folded(std::isfinite(run.half_life) ? fmt::format("half-life {}, {}", format_number(run.half_life, 2), unit) : unit + " scale"), -1,
        at_.statistic.height() + p_.px(8));
    rows_.value_axis(at_.statistic, scale, p_.px(18));
    rows_.bars(at_.statistic, scale, bars, "statistic");
  }

  void draw_probed() {
    if (at_.probed.height() <= 0) return;
    const TokenBars bars = probed_bars(t_, columns_);
    ValueScale scale = scale_for(bars.values);
    scale.percent = true;
    rows_.row_label(at_.probed.middle_y(), "probe", folded("attention, %, √"));
    rows_.value_axis(at_.probed, scale, p_.px(18));
    rows_.bars(at_.probed, scale, bars, "probed");
  }

  void draw_attention() {
    const TokenBars bars = attention_bars(t_, columns_);
    const int highest = largest(bars.values);
    rows_.row_label(at_.attention.middle_y(), "attention", folded(fmt::format("%, step {}, √", scene_.pick.step)));
    if (highest < 0) {
      p_.text({axis_.x0, at_.attention.middle_y()}, "not captured in this step", Face::caption, t_.disabled);
      p_.mark("empty", "attention", at_.attention, "not captured");
      return;
    }
    const ValueScale scale = attention_scale(bars.values[static_cast<std::size_t>(highest)], *scene_.pick.values);
    rows_.value_axis(at_.attention, scale, p_.px(18));
    rows_.bars(at_.attention, scale, bars, "attention");
    rows_.state(at_.attention, scale, *scene_.pick.values);
  }

  void draw_agreement() {
    if (at_.agreement.height() <= 0) return;
    const int group = scene_.snapshot.model.group();
    rows_.row_label(at_.agreement.middle_y(), "agreement", "of " + count_of(group, "query head", "query heads"));
    const ValueScale scale{.low = 0, .high = static_cast<double>(group), .root = false, .whole = true};
    rows_.value_axis(at_.agreement, scale, p_.px(18));
    rows_.bars(at_.agreement, scale, agreement_bars(t_, columns_), "agreement");
  }

  bool is_member(int token) const { return std::binary_search(scene_.slot.members.begin(), scene_.slot.members.end(), token); }

  void draw_text(int token) {
    const auto i = static_cast<std::size_t>(token);
    const bool own = token == scene_.token || token == scene_.slot.pos;
    const bool member = is_member(token);
    const Rgb c = own ? t_.accent : member ? t_.text : columns_.votes[i] > 0 ? t_.secondary : t_.disabled;
    const float x = axis_.x_of(token) + axis_.px / 2 - (axis_.px >= 6 ? 0.5f : 0.0f);
    const std::string text = p_.elide(token_text(tokens_of(scene_.snapshot, scene_.pick.lane), token), Face::mono,
                                      (at_.text.height() - 4) * p_.size_of(Face::mono) / p_.size_of(Face::caption));
    // "8" on its side is another sign.
    const std::size_t n = utf8_length(text);
    const float width = p_.width_of(Face::mono, text) * p_.size_of(Face::caption) / p_.size_of(Face::mono);
    if (n == 1 || (n == 2 && width < axis_.px))
      p_.token({x, at_.text.y0 + p_.px(6)}, text, p_.size_of(Face::caption), c, own, false, false, Align::centre);
    else
      p_.token({x, at_.text.y0}, text, p_.size_of(Face::caption), c, own, true);
    if (rows_.fine_marks()) p_.mark("text", fmt::format("{} t{}", rows_.place, token), {x - 6, at_.text.y0, x + 6, at_.text.y1}, text);
  }

  void draw_texts() {
    if (at_.text.height() < p_.px(20)) return;
    const int first = axis_.first_visible(), last = std::min(axis_.last_visible(), columns_.size() - 1);
    p_.clip({axis_.x0 - 6, at_.text.y0, axis_.x1 + 6, at_.text.y1});
    const bool all = axis_.px >= kTextFrom;
    if (all) {
      for (int token = first; token <= last; ++token) draw_text(token);
    } else {
      // Too narrow for all: the token looked at, then those with the most attention, as long as they do not touch.
      const auto weight = [&](int token) {
        const auto i = static_cast<std::size_t>(token);
        if (token == scene_.token || token == scene_.slot.pos) return 9.0;
        const double own = std::isfinite(columns_.attention[i]) ? columns_.attention[i] : 0,
                     lost = std::isfinite(columns_.lost[i]) ? columns_.lost[i] : 0;
        return std::max(own, lost);
      };
      // Of the tokens of one pixel only the first by weight can get a label.
      std::vector<std::pair<double, int>> order;
      for (int token = first, end = token; token <= last; token = end + 1) {
        end = rows_.pixel_end(token, last);
        order.emplace_back(weight(token), token);
        for (int i = token + 1; i <= end; ++i)
          if (const double own = weight(i); own > order.back().first) order.back() = {own, i};
      }
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
      std::vector<float> taken;
      for (const auto& [own, token] : order) {
        if (taken.size() >= 120) break;
        const float x = axis_.x_of(token);
        if (std::any_of(taken.begin(), taken.end(), [&](float other) { return std::abs(other - x) < p_.px(kLabelPitch); })) continue;
        taken.push_back(x);
        draw_text(token);
      }
    }
    p_.unclip();
    if (!all) rows_.row_label(at_.text.y0 + p_.px(8), "most attended", p_.frame().alone ? "" : "+: zoom in");  // paper has no keys
  }

  void draw_selection() {
    const auto outline = [&](int token, float thickness) {
      if (token < axis_.first_visible() || token > axis_.last_visible()) return;
      const Rect c = rows_.column(token, {0, at_.score.y0 - 4, 0, at_.votes.y1 + 1});
      p_.selection({c.x0 - 1, c.y0, std::max(c.x1, c.x0 + 4), c.y1}, thickness, 2);
    };
    if (scene_.token >= 0) {
      outline(scene_.token, 1.5f);
      p_.mark("selection", fmt::format("{} t{}", rows_.place, scene_.token), rows_.column(scene_.token, at_.all()));
    }
    if (scene_.slot.pos >= 0 && scene_.slot.pos != scene_.token) outline(scene_.slot.pos, 1);
    const auto& tokens = p_.frame().selection.tokens;
    if (tokens && tokens->first != tokens->last) rows_.range(at_.axis.y1, at_.text.y0, *tokens);
    for (const TokenRange& more : p_.frame().selection.more_tokens) rows_.range(at_.axis.y1, at_.text.y0, more);
    rows_.found(at_.axis.y1 + p_.px(1), p_.frame().found);
    if (p_.frame().has_focus && scene_.token >= 0) p_.focus_cursor(rows_.column(scene_.token, at_.fate).inset(1, 1));
  }

  /// Where the way from the tag to the line is free.
  float tag_x(float width) const {
    const std::vector<double>& values = columns_.score;
    const auto height = [&](int token) {
      if (token >= static_cast<int>(values.size())) return 0.0;
      if (token == scene_.token || token == scene_.slot.pos) return 2.0;  // nor the token looked at
      const double u = hits_.score_scale.unit(values[static_cast<std::size_t>(token)]);
      return std::isfinite(u) ? u : 0.0;
    };
    return place_over_lowest(axis_, width, height) + width / 2;
  }

  // Pinned by hand: an outline and a pin, never a fill.
  void draw_pins() {
    const HeadRecord& head = *scene_.pick.values;
    for (const int pos : head.pinned) {
      if (pos >= columns_.size()) break;
      const Rect r = rows_.column(pos, at_.fate);
      p_.frame_rect(r, t_.accent, 2, 1);
      const float x = std::round(r.middle_x());
      p_.vline(x, r.y0 - p_.px(5), r.y0, t_.accent);
      p_.fill({x - p_.px(2), r.y0 - p_.px(8), x + p_.px(3), r.y0 - p_.px(4)}, t_.accent, 1, 2);
      p_.mark("pinned", fmt::format("L{} H{} t{}", head.layer, head.kv_head, pos), r);
    }
  }

  void draw_cutoff() {
    const double own = scene_.pick.values->cutoff;
    const double score = scene_.dragged_slots ? scene_.dragged_score : own;
    if (!has_score_ || !std::isfinite(score)) return;
    const float unit = std::clamp(static_cast<float>(hits_.score_scale.unit(score)), 0.0f, 1.0f);
    const float y = std::round(at_.score.y1 - unit * at_.score.height());
    p_.dashed({axis_.x0, y}, {axis_.x_end(), y}, t_.accent, kDashLimit, 1);
    const std::string_view way = p_.frame().alone ? "" : ", drag or Shift ↑↓";
    const std::string whole =
        scene_.dragged_slots ? fmt::format("{} slots in this head · preview, not re-run", format_count(*scene_.dragged_slots))
        : scene_.pick.values->overridden
            ? fmt::format("cut-off {}, budget {} by hand{}", format_number(score), format_count(scene_.pick.values->budget), way)
            : fmt::format("cut-off now (step {}): {}{}", scene_.pick.step, format_number(score), way);
    // Over the row, under the numbers of the axis: the line is to be held against the scores, and none is covered.
    const bool room = p_.width_of(Face::caption, whole) + p_.px(14) + 16 <= axis_.x_end() - axis_.x0;
    const std::string label = room ? whole : fmt::format("cut-off {}", format_number(score));
    const float width = p_.width_of(Face::caption, label) + p_.px(14), height = p_.px(16), x = tag_x(width);
    const float top = std::round(at_.score.y0 - 1 - height);
    const Rect tag{std::round(x - width / 2), top, std::round(x + width / 2), top + height};
    p_.vline(x, std::min(y, tag.y1), std::max(y, tag.y0), t_.accent);
    p_.fill({x - p_.px(10), y - 1, x + p_.px(10), y + 2}, t_.accent, 1, 1);
    p_.fill(tag, t_.panel, 1, 4);
    p_.frame_rect(tag, t_.accent, 1, 4);
    p_.text({tag.middle_x(), tag.middle_y()}, label, Face::caption, t_.accent, Align::centre);
    hits_.cutoff = Rect{axis_.x0, y - 5, axis_.x_end(), y + 6};
    hits_.cutoff_tag = tag;
    p_.mark("cutoff.tag", rows_.place, tag, label);
    p_.mark("cutoff", rows_.place, *hits_.cutoff, format_number(score));
  }

  float item(float x, std::string_view label, float limit, void (*glyph)(Painter&, const Rect&)) {
    const float s = std::round(p_.px(10)), y = at_.legend.middle_y();
    if (x + s + p_.px(6) + p_.width_of(Face::caption, label) > limit) return x;
    const Rect swatch{x, std::round(y - s / 2), x + s, std::round(y - s / 2) + s};
    glyph(p_, swatch);
    const float end = x + s + p_.px(6) + p_.text({x + s + p_.px(6), y}, label, Face::caption, t_.secondary);
    p_.mark("legend", std::string(label), {x, swatch.y0, end, swatch.y1});
    return std::round(end + p_.px(14));
  }

  void draw_legend() {
    const Rect& r = at_.legend;
    p_.hline(0, p_.canvas().x1, r.y0, t_.line);
    const float y = r.middle_y(), side = p_.px(20);
    // ◀ L3 · H0 ▶: the neighbouring heads.
    const std::string name = head_name(scene_.pick.values->layer, scene_.pick.values->kv_head);
    const float width = p_.width_of(Face::strong, name);
    hits_.next = {r.x1 - side, y - side / 2, r.x1, y + side / 2};
    hits_.previous = {hits_.next.x0 - width - p_.px(12) - side, y - side / 2, hits_.next.x0 - width - p_.px(12), y + side / 2};
    const auto arrow = [&](const Rect& hit, float direction, std::string_view label) {
      const bool hot = hit.contains(p_.pointer().at) && p_.pointer().inside;
      if (hot) p_.fill(hit, t_.raised, 1, 4);
      const float x = hit.middle_x(), d = p_.px(4) * direction;
      p_.triangle({x + d, y}, {x - d, y - p_.px(5)}, {x - d, y + p_.px(5)}, hot ? t_.text : t_.secondary);
      p_.mark("button", std::string(label), hit);
    };
    if (!p_.frame().alone) {  // an exported picture has no buttons
      arrow(hits_.previous, -1, "previous head");
      arrow(hits_.next, 1, "next head");
    }
    p_.text({(hits_.previous.x1 + hits_.next.x0) / 2, y}, name, Face::strong, t_.text, Align::centre);
    float limit = hits_.previous.x0 - p_.px(14);
    // From the longest to the shortest.
    std::vector<std::string> notes = {scene_.zoomed ? "0: all tokens" : "dots = votes, bar above 5"};
    if (axis_.px < 1) {
      const std::string pixel = fmt::format("1 px = up to {} tokens", format_count(static_cast<int>(std::ceil(1 / axis_.px))));
      notes = {pixel + ": highest bar, most votes, kept before merged", pixel + ", the most of them", "a pixel shows its most"};
    }
    const float end = limit;
    if (axis_.px < 1) limit -= p_.width_of(Face::caption, notes.back()) + p_.px(14);  // what was folded is said before any colour
    float x = r.x0;
    for (LegendItem& one : category_items(*scene_.pick.run)) {
      if (one.category == Category::merged) one.label = "merged into another slot";
      if (one.category == Category::fresh) one.label = "new (this step)";
      if (one.category == Category::unread) one.label = "kept, not read";
      if (x + p_.width_of(Face::caption, one.label) + p_.px(16) > limit) break;
      x = draw_category_legend(p_, x, y, {&one, 1});
    }
    const std::string_view hatched = "hatched: share if in place, gone or merged", brief = "hatched: not in this cache";
    const bool room = x + p_.width_of(Face::caption, hatched) + p_.px(20) < limit;
    x = item(x, room ? hatched : brief, limit, [](Painter& p, const Rect& s) { p.reference_only(s); });
    x = item(x, "outline: score of an earlier step", limit,
             [](Painter& p, const Rect& s) { p.frame_rect(s, p.theme().category[static_cast<std::size_t>(Category::merged)]); });
    x = item(x, "not ranked in this step", limit,
             [](Painter& p, const Rect& s) { p.hline(s.x0, s.x1, s.middle_y(), p.theme().secondary); });
    for (const std::string& note : notes) {
      const float wide = p_.width_of(Face::caption, note);
      if (x + wide >= end) continue;
      p_.text({end, y}, note, Face::caption, t_.secondary, Align::right);
      p_.mark("legend.note", rows_.place, {end - wide, r.y0, end, r.y1}, note);
      return;
    }
  }

  Painter& p_;
  const Theme& t_;
  const StripRows& at_;
  const TokenAxis& axis_;
  const StripScene& scene_;
  const HeadColumns& columns_;
  TokenRows rows_;
  StripHits hits_;
  bool has_score_ = false;
};

}  // namespace

StripRows strip_rows(const Painter& p, Rect area, StripContent has, bool agreement_first) {
  StripRows out;
  area = area.inset(p.px(12), 0);
  out.legend = area.cut_bottom(p.px(30));
  const bool tall = area.height() > p.px(230);
  area.cut_bottom(p.px(4));
  out.text = area.cut_bottom(tall ? p.px(std::clamp(0.14f * area.height() / p.frame().scale, 50.0f, 96.0f)) : 0);
  area.cut_bottom(p.px(3));
  out.votes = area.cut_bottom(p.px(28));
  area.cut_bottom(p.px(4));
  out.fate = area.cut_bottom(p.px(18));
  area.cut_bottom(p.px(10));
  out.axis = area.cut_top(p.px(30));
  const float gap = p.px(16);
  area.cut_top(p.px(6));
  if (!has.score) {
    out.score = area.cut_top(p.px(26));
    area.cut_top(p.px(6));
  }
  const bool both = area.height() > p.px(kAgreementFrom);
  if (has.probed) has.statistic = false;  // it is made of the probe's attention, and is the score
  if (has.agreement && agreement_first && !both) has.statistic = has.probed = false;
  has.agreement &= both || (!has.statistic && !has.probed && area.height() > p.px(kOneRowFrom));
  const auto weight = [](bool there, float of) { return there ? of : 0.0f; };
  const float weights = weight(has.score, 1.8f) + weight(has.statistic, 1) + weight(has.probed, 1) + 1 + weight(has.agreement, 0.5f);
  const float gaps = gap * (weight(has.score, 1) + weight(has.statistic, 1) + weight(has.probed, 1) + weight(has.agreement, 1));
  const float unit = std::max(0.0f, area.height() - gaps) / weights;
  const auto row = [&](bool there, float of, Rect& to) {
    if (!there) return;
    to = area.cut_top(of * unit);
    area.cut_top(gap);
  };
  row(has.score, 1.8f, out.score);
  row(has.statistic, 1, out.statistic);
  row(has.probed, 1, out.probed);
  if (has.agreement) {
    out.agreement = area.cut_bottom(0.5f * unit);
    area.cut_bottom(gap);
  }
  out.attention = area;
  return out;
}

StripHits draw_strip(Painter& p, const StripRows& rows, const TokenAxis& axis, const StripScene& scene) {
  return Strip(p, rows, axis, scene).draw();
}

float place_over_lowest(const TokenAxis& axis, float width, const std::function<double(int token)>& height) {
  constexpr int kPlaces = 8;
  constexpr float kMargin = 8;  // at both ends
  const float room = std::max(0.0f, axis.x_end() - axis.x0 - width - 2 * kMargin);
  float best_x = axis.x0;
  double best = 1e9;
  for (int k = 0; k <= kPlaces; ++k) {
    const float x = axis.x0 + kMargin + room * static_cast<float>(k) / kPlaces;
    const int end = axis.index_at(x + width), last = end < 0 ? axis.last_visible() : end;  // it may be wider than the axis
    double highest = 0;
    for (int token = std::max(0, axis.index_at(x)); token <= last; ++token) highest = std::max(highest, height(token));
    if (highest >= best - 1e-9) continue;
    best = highest;
    best_x = x;
  }
  return best_x;
}

}  // namespace kvscope::viz
