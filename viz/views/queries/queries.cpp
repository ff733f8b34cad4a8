// SPDX-License-Identifier: Apache-2.0
// The queries that the prompt asked in one head: where they point before rotation, what score that lets expect so many tokens away, and
// what was measured there.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/no_tokens.h"
#include "viz/reduce/queries.h"
#include "viz/views.h"
#include "viz/views/inspector/inspector_bars.h"

namespace kvscope::viz {

namespace {

constexpr float kBesideFrom = 560;                                   // width from which the charts stand side by side
constexpr float kStackedFrom = 300;                                  // height from which they stand one over the other
constexpr float kTicks = 46, kAxis = 18, kTitle = 18, kLegend = 20;  // px of a chart's margins
constexpr float kShareFrom = 120;                                    // height from which the attention has a row below the scores

/// A chart of equally wide columns.
struct Chart {
  Rect plot;
  int n = 0;
  float pitch() const { return plot.width() / static_cast<float>(std::max(1, n)); }
  float x_of(int column) const { return plot.x0 + pitch() * static_cast<float>(column); }
  int under(ImVec2 at) const {
    return at.x >= plot.x0 && at.x < plot.x1 && at.y >= plot.y0 && at.y < plot.y1
               ? std::min(n - 1, static_cast<int>((at.x - plot.x0) / pitch()))
               : -1;
  }
};

class Queries final : public View {
 public:
  const char* id() const override { return "queries"; }
  const char* title() const override { return "Queries"; }
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override { return 230 * frame.scale; }

  std::string facts(const Frame& frame) const override {
    const QueryPick pick = pick_of(frame);
    return pick.cloud == nullptr ? std::string() : query_facts(*pick.cloud);
  }
  Table table(const Frame& frame) const override { return query_table(pick_of(frame)); }

  void draw(const Frame& frame, std::vector<Intent>& intents) override {
    Painter p(frame, marks_);
    frequencies_ = distances_ = {};
    constexpr std::string_view kWhat = "Where the prompt's queries point, and how far away they look";
    if (head_of(frame).values == nullptr) {
      hover_.none(intents);
      p.empty(kWhat, no_run(frame.snapshot));
      p.finish();
      return;
    }
    if (frame.snapshot->prefill_mode && !frame.snapshot->measures.queries) intents.push_back(WantMeasure{WantMeasure::What::queries, true});
    const QueryPick pick = pick_of(frame);
    if (pick.cloud == nullptr) {
      hover_.none(intents);
      p.empty(kWhat, pick.missing.empty() ? "not measured in this result yet" : pick.missing);
      p.finish();
      return;
    }
    place_ = fmt::format("L{} H{}", pick.cloud->layer, pick.cloud->kv_head);
    Rect area = p.canvas().inset(p.px(12), p.px(4));
    const bool beside = area.width() >= p.px(kBesideFrom), stacked = !beside && area.height() >= p.px(kStackedFrom);
    if (beside) {
      draw_frequencies(p, area.cut_left(std::floor(area.width() * 0.46f)), *pick.cloud);
      area.cut_left(p.px(18));
    } else if (stacked) {
      draw_frequencies(p, area.cut_top(std::floor(area.height() * 0.45f)), *pick.cloud);
      area.cut_top(p.px(8));
    }
    draw_distances(p, area, *pick.cloud);
    if (frame.has_focus) draw_cursor(p, cursor_ - static_cast<int>(pick.cloud->turn.size()) + frequencies_.n);
    react(p, *pick.cloud, intents);
    p.finish();
  }

  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override {
    const HeadPick head = head_of(frame);
    const QueryPick pick = pick_of(frame);
    if (pick.cloud == nullptr) return false;
    const int last = static_cast<int>(pick.cloud->turn.size() + pick.cloud->distances.size()) - 1;
    if (key == "Left" || key == "Right") {
      cursor_ = std::clamp(cursor_ + (key == "Left" ? -1 : 1), 0, last);
    } else if (key == "Home" || key == "End") {
      cursor_ = key == "Home" ? 0 : last;
    } else if (key == "Up" || key == "Down") {
      const auto& heads = head.record->heads;
      const HeadRecord& next =
          heads[static_cast<std::size_t>(std::clamp(head.head + (key == "Up" ? -1 : 1), 0, static_cast<int>(heads.size()) - 1))];
      Selection selection = frame.selection;
      selection.layer = next.layer;
      selection.kv_head = next.kv_head;
      intents.push_back(Select{selection});
    } else {
      return false;
    }
    return true;
  }

  std::string cursor_text(const Frame& frame) const override {
    const QueryPick pick = pick_of(frame);
    return pick.cloud == nullptr ? pick.missing : fmt::format("{}", fmt::join(lines_of(*pick.cloud, cursor_), ", "));
  }

 private:
  static HeadPick head_of(const Frame& frame) {
    return frame.snapshot == nullptr ? HeadPick{} : pick_head(*frame.snapshot, frame.selection);
  }
  static QueryPick pick_of(const Frame& frame) {
    const HeadPick head = head_of(frame);
    return head.values == nullptr ? QueryPick{nullptr, no_run(frame.snapshot)} : pick_queries(*frame.snapshot, head);
  }

  /// Of a column, the frequencies first and then the distances.
  static std::vector<std::string> lines_of(const QueryCloud& cloud, int column) {
    const int n = static_cast<int>(cloud.turn.size());
    return column < n ? frequency_lines(cloud, column)
                      : distance_lines(cloud, std::min(column - n, static_cast<int>(cloud.distances.size()) - 1));
  }

  /// Title, ticks of values and labels below; what is left is the plot.
  static Chart chart_in(Painter& p, Rect area, std::string_view title, int n) {
    const Rect head = area.cut_top(p.px(kTitle));
    p.text_fit({head.x0, head.middle_y()}, title, Face::caption, p.theme().secondary, head.width());
    p.mark("title", std::string(title), head);
    area.cut_top(p.px(6));
    area.cut_left(p.px(kTicks));
    return {area, n};
  }

  static void value_axis(Painter& p, const Rect& row, const ValueScale& scale) {
    const Theme& t = p.theme();
    const double gap = p.px(22) / std::max(1.0f, row.height());
    for (const double v : ticks_of(scale, gap)) {
      const float y = std::round(row.y1 - static_cast<float>(scale.unit(v)) * row.height());
      if (y < row.y0 - 1 || y > row.y1 + 1) continue;
      p.hline(row.x0, row.x1, y, t.line);
      p.text({row.x0 - p.px(6), y}, v == 0 ? "0" : format_number(v, 2), Face::caption, t.secondary, Align::right);
    }
  }

  /// Under the columns, as many as do not touch.
  template <class Label>
  static void labels(Painter& p, const Chart& chart, float y, const Label& label) {
    float free = chart.plot.x0 - p.px(20);
    for (int i = 0; i < chart.n; ++i) {
      const std::string text = label(i);
      const float x = chart.x_of(i) + chart.pitch() / 2, half = p.width_of(Face::caption, text) / 2;
      if (x - half < free || x + half > p.canvas().x1 - 2) continue;
      p.text({x, y}, text, Face::caption, p.theme().secondary, Align::centre);
      free = x + half + p.px(10);
    }
  }

  void draw_frequencies(Painter& p, Rect area, const QueryCloud& cloud) {
    const Theme& t = p.theme();
    const int n = static_cast<int>(cloud.turn.size()), heads = query_heads(cloud);
    if (n == 0) {
      p.text_fit({area.x0, area.middle_y()}, "positions turn no query of this layer", Face::caption, t.secondary, area.width());
      p.mark("empty", place_, area, "positions turn no query of this layer");
      return;
    }
    const Rect legend = area.cut_bottom(p.px(kLegend)), below = area.cut_bottom(p.px(kAxis));
    frequencies_ = chart_in(p, area, "queries before rotation, √ scale, by tokens once around", n);
    const Rect& plot = frequencies_.plot;
    double most = 0;
    for (int g = 0; g < heads; ++g)
      for (int f = 0; f < n; ++f) most = std::max(most, typical_length(cloud, g, f));
    const ValueScale scale{0, most > 0 ? most : 1, true};
    value_axis(p, plot, scale);
    const float gap = frequencies_.pitch() >= 6 ? std::max(1.0f, frequencies_.pitch() * 0.2f) : 0;
    const float width = (frequencies_.pitch() - gap) / static_cast<float>(heads);
    const auto y_of = [&](double v) { return std::round(plot.y1 - static_cast<float>(scale.unit(v)) * plot.height()); };
    for (int f = 0; f < n; ++f)
      for (int g = 0; g < heads; ++g) {
        const double mean = mean_length(cloud, g, f), typical = typical_length(cloud, g, f);
        const float x = frequencies_.x_of(f) + gap / 2 + width * static_cast<float>(g);
        const Rect bar{x, y_of(typical), x + std::max(1.0f, width - (width >= 4 ? 1.0f : 0.0f)), plot.y1};
        p.fill(bar, t.secondary, 0.3);
        if (bar.width() >= 4) p.frame_rect(bar, t.secondary);
        p.fill({bar.x0, y_of(mean), bar.x1, plot.y1}, mean_colour(t));
        p.mark("frequency", fmt::format("{} f{} q{}", place_, f, g), bar,
               fmt::format("{} of {}", format_number(mean), format_number(typical)));
      }
    labels(p, frequencies_, below.middle_y(), [&](int f) { return format_number(wavelength(cloud, f), 2); });
    float x = plot.x0;
    x = swatch(p, x, legend, "length of the mean query", [&](const Rect& s) { p.fill(s, mean_colour(t)); });
    swatch(p, x, legend, "of a typical one", [&](const Rect& s) {
      p.fill(s, t.secondary, 0.3);
      p.frame_rect(s, t.secondary);
    });
  }

  void draw_distances(Painter& p, Rect area, const QueryCloud& cloud) {
    const Theme& t = p.theme();
    const Rect legend = area.cut_bottom(p.px(kLegend)), below = area.cut_bottom(p.px(kAxis));
    distances_ = chart_in(p, area, "score, and attention on √ scale, by distance in tokens", static_cast<int>(cloud.distances.size()));
    Chart scores = distances_, shares = distances_;
    const bool both = distances_.plot.height() >= p.px(kShareFrom);
    if (both) {
      shares.plot = scores.plot.cut_bottom(std::floor(scores.plot.height() * 0.36f));
      shares.plot.cut_top(p.px(12));
      draw_shares(p, shares, cloud);
    }
    draw_scores(p, scores, cloud);
    labels(p, distances_, below.middle_y(), [&](int b) { return format_count(cloud.distances[static_cast<std::size_t>(b)]); });
    float x = distances_.plot.x0;
    x = swatch(p, x, legend, "expected of the mean query and key", [&](const Rect& s) {
      p.dashed({s.x0, s.middle_y()}, {s.x1, s.middle_y()}, t.runs[0], run_dash(1), 2);
    });
    x = swatch(p, x, legend, "measured", [&](const Rect& s) { p.line({s.x0, s.middle_y()}, {s.x1, s.middle_y()}, t.text, 1.8f); });
    if (both) swatch(p, x, legend, "share of the attention", [&](const Rect& s) { p.fill(s, mean_colour(t)); });
  }

  void draw_scores(Painter& p, const Chart& chart, const QueryCloud& cloud) const {
    const Theme& t = p.theme();
    double low = 0, high = 0;
    for (const std::vector<double>* line : {&cloud.expected, &cloud.measured})
      for (const double v : *line)
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
    const ValueScale scale{low, high > low ? high : low + 1, false};
    value_axis(p, chart.plot, scale);
    const auto draw = [&](const std::vector<double>& line, std::string_view kind, Rgb colour, Dash dash, float thickness) {
      std::vector<ImVec2> points;
      for (int b = 0; b < chart.n; ++b) {
        const double v = line[static_cast<std::size_t>(b)];
        if (!std::isfinite(v)) continue;
        points.push_back({chart.x_of(b) + chart.pitch() / 2, chart.plot.y1 - static_cast<float>(scale.unit(v)) * chart.plot.height()});
        const ImVec2 at = points.back();
        p.mark(kind, fmt::format("{} {}", place_, distance_text(cloud, b)), {at.x - 3, at.y - 3, at.x + 3, at.y + 3}, format_number(v));
      }
      p.polyline(points, colour, thickness, dash);
    };
    draw(cloud.measured, "measured.score", t.text, {}, 1.8f);
    draw(cloud.expected, "expected.score", t.runs[0], run_dash(1), 2);
  }

  void draw_shares(Painter& p, const Chart& chart, const QueryCloud& cloud) const {
    const int most = largest(cloud.share);
    const ValueScale scale{0, most < 0 ? 1 : std::max(1e-9, cloud.share[static_cast<std::size_t>(most)]), true};
    value_axis(p, chart.plot, scale);
    const float gap = chart.pitch() >= 4 ? 1.0f : 0.0f;
    for (int b = 0; b < chart.n; ++b) {
      const double v = cloud.share[static_cast<std::size_t>(b)];
      const float top = std::round(chart.plot.y1 - static_cast<float>(scale.unit(v)) * chart.plot.height());
      const Rect bar{chart.x_of(b), top, chart.x_of(b + 1) - gap, chart.plot.y1};
      p.fill(bar, mean_colour(p.theme()));
      p.mark("share", fmt::format("{} {}", place_, distance_text(cloud, b)), bar, format_percent(v));
    }
  }

  static Rgb mean_colour(const Theme& t) { return ramp(t.sequential, 0.7); }

  /// A picture and its word in the legend; left out where there is no room. Returns where the next begins.
  template <class Glyph>
  static float swatch(Painter& p, float x, const Rect& row, std::string_view label, const Glyph& glyph) {
    const float size = p.px(12), width = size + p.px(6) + p.width_of(Face::caption, label);
    if (x + width > row.x1) return x;
    const float y = row.middle_y();
    glyph(Rect{x, std::round(y - size / 2), x + size, std::round(y + size / 2)});
    p.text({x + size + p.px(6), y}, label, Face::caption, p.theme().secondary);
    p.mark("legend", std::string(label), {x, row.y0, x + width, row.y1});
    return x + width + p.px(14);
  }

  Rect column(int i) const {
    const bool first = i < frequencies_.n;
    const Chart& chart = first ? frequencies_ : distances_;
    const int at = first ? i : i - frequencies_.n;
    return {chart.x_of(at), chart.plot.y0, chart.x_of(at + 1), chart.plot.y1};
  }

  /// The columns that are drawn are the last ones.
  void draw_cursor(Painter& p, int drawn) const {
    if (drawn >= 0 && drawn < frequencies_.n + distances_.n) p.focus_cursor(column(drawn));
  }

  void react(Painter& p, const QueryCloud& cloud, std::vector<Intent>& intents) {
    const Pointer& mouse = p.pointer();
    const int f = mouse.inside ? frequencies_.under(mouse.at) : -1, b = mouse.inside ? distances_.under(mouse.at) : -1;
    if (f < 0 && b < 0) return hover_.none(intents);
    // without the frequencies' chart the distances' columns still come after all frequencies
    const int at = f >= 0 ? f : static_cast<int>(cloud.turn.size()) + b;
    p.fill(column(f >= 0 ? f : frequencies_.n + b), p.theme().text, 0.07);
    if (mouse.clicked) cursor_ = at;
    hover_.at(Hover{.layer = cloud.layer, .kv_head = cloud.kv_head}, lines_of(cloud, at), intents);
  }

  std::vector<Mark> marks_;
  Chart frequencies_, distances_;  // of the newest frame
  std::string place_;              // "L2 H1", for marks
  int cursor_ = 0;                 // the column of the keyboard, as lines_of() counts them
  HoverPublisher hover_;
};

}  // namespace

std::unique_ptr<View> make_queries() { return std::make_unique<Queries>(); }

}  // namespace kvscope::viz
