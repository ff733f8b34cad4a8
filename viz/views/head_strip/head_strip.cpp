// SPDX-License-Identifier: Apache-2.0
// The selected head under the atlas: what this step's query attends to, token by token, and what it can no longer see.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/filter.h"
#include "viz/reduce/no_tokens.h"
#include "viz/reduce/text.h"
#include "viz/views.h"
#include "viz/views/inspector/inspector_bars.h"
#include "viz/views/parts/capture_offer.h"

namespace kvscope::viz {

namespace {

constexpr double kCalloutFrom = 0.01;  // attention lost to one token that is worth words on the canvas

/// Heights of one frame, from the canvas downwards.
struct Layout {
  Rect chart, fate, votes;
};

class HeadStrip final : public View {
 public:
  explicit HeadStrip(std::shared_ptr<TokenWindow> window) : window_(std::move(window)) {}

  const char* id() const override { return "head_strip"; }
  const char* title() const override { return "Head"; }
  std::string heading(const Selection& s) const override {
    return s.layer && s.kv_head ? "Head " + head_name(*s.layer, *s.kv_head) : title();
  }
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override { return 148 * frame.scale; }

  std::string facts(const Frame& frame) const override {
    if (frame.snapshot == nullptr) return {};
    const HeadPick pick = pick_head(*frame.snapshot, frame.selection);
    if (pick.values == nullptr) return {};
    if (n_tokens(frame.selection) < 2) return head_facts(pick) + window_text(*frame.snapshot, pick.values->layer);
    return head_name(pick.values->layer, pick.values->kv_head) + " · " +
           range_summary(columns_.of(*frame.snapshot, pick), all_tokens(frame.selection));
  }

  Table table(const Frame& frame) const override {
    return frame.snapshot == nullptr ? Table{} : head_table(*frame.snapshot, pick_head(*frame.snapshot, frame.selection));
  }

  void draw(const Frame& frame, std::vector<Intent>& intents) override {
    Painter p(frame, marks_);
    const HeadPick pick = frame.snapshot == nullptr ? HeadPick{} : pick_head(*frame.snapshot, frame.selection);
    if (pick.values == nullptr) {
      hover_.none(intents);
      p.empty("Attention of the selected head, one bar per token", no_run(frame.snapshot));
      p.finish();
      return;
    }
    const Snapshot& snapshot = *frame.snapshot;
    const HeadColumns& columns = columns_.of(snapshot, pick);
    const TokenAxis axis = make_token_axis(p, *window_, static_cast<int>(snapshot.tokens.size()));
    const TokenRows rows{p, axis, fmt::format("L{} H{}", pick.values->layer, pick.values->kv_head)};
    const Layout at = layout(p);
    const TokenBars bars = attention_bars(p.theme(), columns);
    const ValueScale scale = draw_chart(rows, at, bars, *pick.values);
    rows.fates(at.fate, columns.category);
    if (at.votes.height() > 0) rows.votes(at.votes, columns.votes, false);
    rows.row_label(at.fate.middle_y(), "fate", "", axis.x0 - p.px(8));
    if (at.votes.height() > 0) rows.row_label(at.votes.y0 + p.px(6), "votes", "", axis.x0 - p.px(8));
    if (frame.selection.tokens) rows.range(p.px(6), at.fate.y1 + p.px(2), *frame.selection.tokens);
    for (const TokenRange& more : frame.selection.more_tokens) rows.range(p.px(6), at.fate.y1 + p.px(2), more);
    rows.found(p.px(1), frame.found);
    if (frame.hover.token && *frame.hover.token < axis.n_tokens) {
      const Rect hovered = rows.column(*frame.hover.token, {0, at.chart.y0, 0, at.votes.y1});
      if (hovered.x0 >= axis.x0 && hovered.x1 <= axis.x1) p.fill(hovered, p.theme().text, 0.10);
    }
    if (frame.has_focus) p.focus_cursor(rows.column(cursor(frame, columns), at.fate));
    draw_callout(rows, at, scale, snapshot, columns, bars.values);
    capture_.none();
    if (!snapshot.history && pick.lane > 0) capture_.draw_plate(p, {axis.x0, 1}, "attention that is lost", axis.x1 - axis.x0);
    if (capture_.react(p.pointer(), intents))
      hover_.none(intents);
    else
      react(frame, p, axis, at, pick, columns, intents);
    p.finish();
  }

  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override {
    const HeadPick pick = frame.snapshot == nullptr ? HeadPick{} : pick_head(*frame.snapshot, frame.selection);
    if (pick.values == nullptr) return false;
    const HeadColumns& columns = columns_.of(*frame.snapshot, pick);
    const int last = pick.record->position, here = cursor(frame, columns);
    const bool extend = key.starts_with("Shift+");
    const std::string_view plain = extend ? key.substr(6) : key;
    const TokenRange now = frame.selection.tokens.value_or(TokenRange{here, here});
    if (plain == "Left" || plain == "Right") {
      // The end that was moved last goes on; the other one stays.
      const bool first_moves = extend && now.first < now.last && frame.selection.slot == now.first;
      const int end = std::clamp((extend && !first_moves ? now.last : now.first) + (plain == "Left" ? -1 : 1), 0, last);
      const int other = !extend ? end : first_moves ? now.last : now.first;
      select(frame, pick, end, {std::min(end, other), std::max(end, other)}, intents);
    } else if (plain == "Home" || plain == "End") {
      const int end = plain == "Home" ? 0 : last;
      select(frame, pick, end, extend ? extended(now, end) : TokenRange{end, end}, intents);
    } else if (plain == "Enter" || plain == "Return") {
      intents.push_back(OpenInspector{});
    } else {
      return false;
    }
    return true;
  }

  std::string cursor_text(const Frame& frame) const override {
    const HeadPick pick = frame.snapshot == nullptr ? HeadPick{} : pick_head(*frame.snapshot, frame.selection);
    if (pick.values == nullptr) return {};
    const HeadColumns& columns = columns_.of(*frame.snapshot, pick);
    return fmt::format("{}", fmt::join(token_lines(*frame.snapshot, pick, columns, cursor(frame, columns)), ", "));
  }

 private:
  static Layout layout(const Painter& p) {
    Layout out;
    Rect rest = p.canvas();
    rest.cut_bottom(p.px(6));
    const float least = p.px(26);  // of the chart: its two lines of label; a low panel gives up the votes for them
    out.votes = rest.cut_bottom(rest.height() >= p.px(57) + least ? p.px(22) : 0);
    rest.cut_bottom(p.px(2));
    out.fate = rest.cut_bottom(p.px(10));
    rest.cut_bottom(p.px(3));
    rest.cut_top(std::clamp(rest.height() - least, 0.0f, p.px(20)));
    out.chart = rest;
    return out;
  }

  /// The token whose loss the callout speaks of; -1: none is worth it.
  static int called_out(const HeadColumns& columns) {
    const int token = largest(columns.lost);
    return token >= 0 && columns.lost[static_cast<std::size_t>(token)] >= kCalloutFrom ? token : -1;
  }

  static int cursor(const Frame& frame, const HeadColumns& columns) {
    const int last = std::max(0, columns.size() - 1), lost = called_out(columns);
    return std::clamp(frame.selection.tokens ? frame.selection.tokens->first : lost >= 0 ? lost : last, 0, last);
  }

  static ValueScale draw_chart(const TokenRows& rows, const Layout& at, const TokenBars& bars, const HeadRecord& head) {
    const int peak = largest(bars.values);
    if (peak < 0) {
      rows.row_label(at.chart.middle_y(), "attention", "√ scale");
      rows.p.text({rows.axis.x0, at.chart.middle_y()}, "attention was not captured in this step", Face::caption, rows.p.theme().disabled);
      rows.p.mark("empty", "attention", at.chart, "not captured");
      return {};
    }
    const ValueScale scale = attention_scale(bars.values[static_cast<std::size_t>(peak)], head);
    rows.row_label(rows.value_axis(at.chart, scale, rows.p.px(20), true), "attention", rows.axis.px < 1 ? "%, √, max" : "%, √ scale");
    rows.bars(at.chart, scale, bars, "attention");
    rows.state(at.chart, scale, head);
    return scale;
  }

  static void draw_callout(const TokenRows& rows, const Layout& at, const ValueScale& scale, const Snapshot& snapshot,
                           const HeadColumns& columns, const std::vector<double>& values) {
    Painter& p = rows.p;
    const int token = called_out(columns);
    if (token < 0) return;
    const float x = rows.axis.x_of(token) + rows.axis.px / 2;
    if (x < rows.axis.x0 || x > rows.axis.x1) return;
    const Theme& t = p.theme();
    const double value = columns.lost[static_cast<std::size_t>(token)];
    const std::string lines[] = {
        fmt::format("token {} {}, {}", token, quoted(token_text(tokens_of(snapshot, rows.p.frame().selection.lane), token)),
                    fate_text(columns, token)),
        fmt::format("attention of this query, every token in place: {}", format_attention(value)),
        // It may have come back, or gone, after this step's query.
        columns.votes[static_cast<std::size_t>(token)] > 0 ? "hatched: not seen by this step"
                                                           : "hatched: every token in place; solid: as the run has them"};
    const float pad = p.px(10), right_end = p.canvas().x1 - 8;
    // Beside its bar, right or left, where it hides no bar; else in one line above the chart.
    const float width =
        std::max({p.width_of(Face::body, lines[0]), p.width_of(Face::body, lines[1]), p.width_of(Face::caption, lines[2])}) + 2 * pad;
    const auto hides = [&](const Rect& box) {
      const int last = std::min(static_cast<int>(values.size()) - 1, rows.axis.index_at(std::min(box.x1, rows.axis.x_end() - 1)));
      for (int i = std::max(0, rows.axis.index_at(std::max(box.x0, rows.axis.x0))); i <= last; ++i)
        if (at.chart.y1 - static_cast<float>(scale.unit(values[static_cast<std::size_t>(i)])) * at.chart.height() < box.y1 + 2) return true;
      return box.y1 + 4 > at.chart.y1;
    };
    const auto box_at = [&](float x0) { return Rect{std::round(x0), p.px(6), std::round(x0 + width), p.px(62)}; };
    Rect box = box_at(x + p.px(32));
    bool right = box.x1 < right_end && !hides(box), beside = right;
    if (!beside) {
      box = box_at(x - p.px(32) - width);
      beside = box.x0 >= rows.axis.x0 && !hides(box);
    }
    std::string line;  // whole words, as many as there is room for
    for (const std::string& words :
         {fmt::format("{} · attention of this query, every token in place {}, hatched", lines[0], format_attention(value)),
          fmt::format("{} · attention {}, hatched", lines[0], format_attention(value)), lines[0]}) {
      line = words;
      if (p.width_of(Face::caption, line) + 2 * pad <= right_end - rows.axis.x0) break;
    }
    if (!beside) {
      const float wide = std::min(p.width_of(Face::caption, line) + 2 * pad, right_end - rows.axis.x0);
      const float x0 = std::clamp(x - wide / 2, rows.axis.x0, right_end - wide);
      box = {std::round(x0), 1, std::round(x0 + wide), p.px(18)};
    }
    const float y = std::clamp(at.chart.y1 - static_cast<float>(scale.unit(value)) * at.chart.height() + 8, box.y0 + 8, box.y1 - 8);
    // The bar itself stands out: a little wider, its outline in the ink of text.
    const float half = std::max(2.5f, rows.bar_width() / 2),
                top = at.chart.y1 - std::clamp(static_cast<float>(scale.unit(value)), 0.0f, 1.0f) * at.chart.height();
    const Rect bar{std::round(x - half), std::round(top), std::round(x + half), at.chart.y1};
    p.fill(bar, t.panel);
    p.hatch(bar, t.text, 4, 0.9);
    p.frame_rect(bar, t.text);
    if (beside)
      p.hline(right ? x + rows.axis.px / 2 : box.x1, right ? box.x0 : x - rows.axis.px / 2, y, t.secondary);
    else
      p.vline(x, box.y1, bar.y0, t.secondary);
    p.fill(box, t.raised, 0.97, 4);
    p.frame_rect(box, t.line, 1, 4);
    if (!beside) p.text_fit({box.x0 + pad, box.middle_y()}, line, Face::caption, t.text, box.width() - 2 * pad + 2);
    const float step = p.px(46) / 3;
    for (int i = 0; beside && i < 3; ++i) {
      const float line_y = box.y0 + p.px(5) + step * (static_cast<float>(i) + 0.5f);
      p.text_fit({box.x0 + pad, line_y}, lines[i], i < 2 ? Face::body : Face::caption, i < 2 ? t.text : t.secondary,
                 box.width() - 2 * pad + 2);
    }
    p.mark("callout", fmt::format("{} t{}", rows.place, token), box, lines[0] + "; " + lines[1]);
  }

  static TokenRange extended(const TokenRange& range, int token) { return {std::min(range.first, token), std::max(range.last, token)}; }

  void select(const Frame& frame, const HeadPick& pick, int token, TokenRange tokens, std::vector<Intent>& intents) const {
    Selection next = frame.selection;
    next.layer = pick.values->layer;
    next.kv_head = pick.values->kv_head;
    next.select(tokens);
    next.slot = token;
    intents.push_back(Select{next});
  }

  void react(const Frame& frame, const Painter& p, const TokenAxis& axis, const Layout& at, const HeadPick& pick,
             const HeadColumns& columns, std::vector<Intent>& intents) {
    const Pointer& mouse = p.pointer();
    const int token = mouse.inside && mouse.at.y >= at.chart.y0 - p.px(14) ? axis.index_at(mouse.at.x) : -1;
    if (token < 0 || token >= columns.size()) {
      hover_.none(intents);
      return;
    }
    Hover hover;
    hover.lane = pick.lane;
    hover.layer = pick.values->layer;
    hover.kv_head = pick.values->kv_head;
    hover.token = token;
    hover_.at(hover, token_lines(*frame.snapshot, pick, columns, token), intents);
    if (mouse.double_clicked) {
      intents.push_back(OpenInspector{});
    } else if (mouse.clicked) {
      const bool extend = mouse.shift && frame.selection.tokens;
      select(frame, pick, token, extend ? extended(*frame.selection.tokens, token) : TokenRange{token, token}, intents);
    }
  }

  std::shared_ptr<TokenWindow> window_;
  mutable HeadColumnsCache columns_;
  std::vector<Mark> marks_;
  HoverPublisher hover_;
  CaptureOffer capture_;
};

}  // namespace

std::unique_ptr<View> make_head_strip(std::shared_ptr<TokenWindow> window) { return std::make_unique<HeadStrip>(std::move(window)); }

}  // namespace kvscope::viz
