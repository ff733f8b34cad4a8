// SPDX-License-Identifier: Apache-2.0
// Figures of papers, drawn of the runs at hand: a column a head, or a layer, and what the paper or chance says across.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "viz/draw/format.h"
#include "viz/reduce/papers/paper_figure.h"
#include "viz/views.h"
#include "viz/views/inspector/inspector_bars.h"

namespace kvscope::viz {

namespace {

constexpr float kTicks = 48, kAxis = 18, kTitle = 18;  // px of the chart's margins
constexpr float kSaysFrom = 150;                       // height from which the paper's sentence has a row
constexpr int kMostColumns = 1024;                     // heads that get a column of their own; beyond, layers do

class Figures final : public View {
 public:
  const char* id() const override { return "figures"; }
  const char* title() const override { return "Figures"; }
  const std::vector<Mark>& marks() const override { return marks_; }
  float preferred_height(const Frame& frame) const override { return 230 * frame.scale; }

  std::vector<Option> options() const override {
    Option figure{"figure", {}, which_, false};
    for (const PaperFigureInfo& info : paper_figure_infos()) figure.choices.push_back(info.name);
    return {figure};
  }
  void choose(std::size_t option, int choice) override {
    if (option == 0 && choice >= 0 && choice < static_cast<int>(paper_figure_infos().size())) which_ = choice;
  }

  std::string facts(const Frame& frame) const override {
    const PaperFigure& figure = figure_of(frame);
    if (!figure.missing.empty()) return info().source;
    return fmt::format("{} · {} · {}", info().source, figure.of_runs, count_of(figure.n_steps, "step", "steps"));
  }
  Table table(const Frame& frame) const override { return paper_figure_table(figure_of(frame), which_); }

  void draw(const Frame& frame, std::vector<Intent>& intents) override {
    Painter p(frame, marks_);
    const PaperFigure& figure = figure_of(frame);
    plot_ = {};
    if (figure.unmeasured) intents.push_back(WantMeasure{WantMeasure::What::prediction, true});
    if (!figure.missing.empty()) {
      hover_.none(intents);
      p.empty(info().source, figure.missing);
      p.finish();
      return;
    }
    Rect area = p.canvas().inset(p.px(12), p.px(4));
    const Rect head = area.cut_top(p.px(kTitle));
    float room = head.width();
    if (std::isfinite(figure.line)) {
      const std::string words = fmt::format("– – {}", figure.line_words);
      room -= p.text({head.x1, head.middle_y()}, words, Face::caption, p.theme().secondary, Align::right) + p.px(14);
    }
    p.text_fit({head.x0, head.middle_y()}, info().value, Face::caption, p.theme().secondary, room);
    p.mark("title", info().value, head);
    if (area.height() >= p.px(kSaysFrom)) {
      const Rect says = area.cut_top(p.px(kTitle));
      p.text_fit({says.x0, says.middle_y()}, fmt::format("the paper: {}", info().says), Face::caption, p.theme().secondary, says.width());
    }
    area.cut_top(p.px(8));
    const Rect below = area.cut_bottom(p.px(kAxis));
    area.cut_left(p.px(kTicks));
    plot_ = area;
    draw_bars(p, figure);
    labels(p, figure, below.middle_y());
    if (frame.has_focus) p.focus_cursor(column(figure, std::min(cursor_, static_cast<int>(figure.bars.size()) - 1)));
    react(p, figure, intents);
    p.finish();
  }

  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override {
    const PaperFigure& figure = figure_of(frame);
    const int last = static_cast<int>(figure.bars.size()) - 1;
    if (last < 0) return false;
    if (key == "Left" || key == "Right")
      cursor_ = std::clamp(cursor_ + (key == "Left" ? -1 : 1), 0, last);
    else if (key == "Home" || key == "End")
      cursor_ = key == "Home" ? 0 : last;
    else if (key == "Enter")
      select(frame, figure.bars[static_cast<std::size_t>(std::min(cursor_, last))], intents);
    else
      return false;
    return true;
  }

  std::string cursor_text(const Frame& frame) const override {
    const PaperFigure& figure = figure_of(frame);
    if (figure.bars.empty()) return figure.missing;
    return fmt::format("{}", fmt::join(lines_of(figure.bars[std::min(static_cast<std::size_t>(cursor_), figure.bars.size() - 1)]), ", "));
  }

 private:
  const PaperFigureInfo& info() const { return paper_figure_infos()[static_cast<std::size_t>(which_)]; }

  /// Read anew only where something that it is made of has changed: it reads all steps.
  const PaperFigure& figure_of(const Frame& frame) const {
    const Snapshot* s = frame.snapshot;
    const Key key{s != nullptr ? s->generation : 0,
                  s != nullptr ? s->sequence : 0,
                  frame.selection.lane,
                  frame.selection.steps,
                  which_,
                  s != nullptr && s->prefill_mode,
                  s != nullptr && !s->lanes.empty() ? s->lanes.front().steps.size() : 0};
    if (s == nullptr) {
      figure_ = {.missing = "no run yet"};
    } else if (!(key_ == key)) {
      figure_ = paper_figure(*s, frame.selection, which_);
      if (static_cast<int>(figure_.bars.size()) > kMostColumns) figure_.bars = layer_means(figure_.bars);
    }
    key_ = key;
    return figure_;
  }

  static std::string value_text(const PaperFigureInfo& info, double v) {
    if (info.line == 0) return format_change(v);
    return v > 1.5 ? format_number(v) : format_percent(v);
  }
  std::vector<std::string> lines_of(const PaperFigure::Bar& bar) const {
    return {bar_name(bar), fmt::format("{}: {}", info().value, value_text(info(), bar.value))};
  }

  Rect column(const PaperFigure& figure, int i) const {
    const float pitch = plot_.width() / static_cast<float>(std::max<std::size_t>(1, figure.bars.size()));
    return {plot_.x0 + pitch * static_cast<float>(i), plot_.y0, plot_.x0 + pitch * static_cast<float>(i + 1), plot_.y1};
  }

  void draw_bars(Painter& p, const PaperFigure& figure) const {
    const Theme& t = p.theme();
    double low = 0, high = std::isfinite(figure.line) ? std::max(0.0, figure.line) : 0;
    for (const PaperFigure::Bar& bar : figure.bars)
      if (std::isfinite(bar.value)) low = std::min(low, bar.value), high = std::max(high, bar.value);
    const ValueScale scale{low, high > low ? high : low + 1, false};
    const auto y_of = [&](double v) { return std::round(plot_.y1 - static_cast<float>(scale.unit(v)) * plot_.height()); };
    for (const double v : ticks_of(scale, p.px(22) / std::max(1.0f, plot_.height()))) {
      p.hline(plot_.x0, plot_.x1, y_of(v), t.line);
      p.text({plot_.x0 - p.px(6), y_of(v)}, v == 0 ? "0" : value_text(info(), v), Face::caption, t.secondary, Align::right);
    }
    const int chosen = selected_head(p.frame());
    for (std::size_t i = 0; i < figure.bars.size(); ++i) {
      const PaperFigure::Bar& bar = figure.bars[i];
      const Rect c = column(figure, static_cast<int>(i));
      const float gap = c.width() >= 4 ? std::max(1.0f, c.width() * 0.15f) : 0;
      if (!std::isfinite(bar.value)) {  // not measured is not zero
        p.mark("missing", bar_name(bar), c, "n/a");
        continue;
      }
      const Rect r{c.x0 + gap / 2, std::min(y_of(bar.value), y_of(0)), c.x1 - gap / 2, std::max(y_of(bar.value), y_of(0))};
      p.fill(r, ramp(t.sequential, 0.7));
      if (chosen >= 0 && bar.kv_head >= 0 && head_index(*p.frame().snapshot, bar.layer, bar.kv_head) == chosen) p.selection(r, 1.5f);
      p.mark("bar", bar_name(bar), r, value_text(info(), bar.value));
    }
    if (!std::isfinite(figure.line)) return;
    const float y = y_of(figure.line);
    p.dashed({plot_.x0, y}, {plot_.x1, y}, t.text, kDashLimit, 1.5f);
    p.mark("line", figure.line_words, {plot_.x0, y - 1, plot_.x1, y + 1}, value_text(info(), figure.line));
  }

  /// Under the columns, as many as do not touch.
  void labels(Painter& p, const PaperFigure& figure, float y) const {
    float free = plot_.x0 - p.px(20);
    for (std::size_t i = 0; i < figure.bars.size(); ++i) {
      const std::string text = bar_name(figure.bars[i]);
      const float x = column(figure, static_cast<int>(i)).middle_x(), half = p.width_of(Face::caption, text) / 2;
      if (x - half < free || x + half > plot_.x1) continue;
      p.text({x, y}, text, Face::caption, p.theme().secondary, Align::centre);
      free = x + half + p.px(10);
    }
  }

  static void select(const Frame& frame, const PaperFigure::Bar& bar, std::vector<Intent>& intents) {
    Selection selection = frame.selection;
    selection.layer = bar.layer;
    selection.kv_head = bar.kv_head >= 0 ? std::optional<int>(bar.kv_head) : std::nullopt;
    intents.push_back(Select{selection});
  }

  void react(Painter& p, const PaperFigure& figure, std::vector<Intent>& intents) {
    const Pointer& mouse = p.pointer();
    if (!mouse.inside || !plot_.contains(mouse.at) || figure.bars.empty()) return hover_.none(intents);
    const float share = (mouse.at.x - plot_.x0) / plot_.width();
    const int i = std::clamp(static_cast<int>(share * static_cast<float>(figure.bars.size())), 0, static_cast<int>(figure.bars.size()) - 1);
    const PaperFigure::Bar& bar = figure.bars[static_cast<std::size_t>(i)];
    p.fill(column(figure, i), p.theme().text, 0.07);
    if (mouse.clicked) {
      cursor_ = i;
      select(p.frame(), bar, intents);
    }
    hover_.at(Hover{.layer = bar.layer, .kv_head = bar.kv_head >= 0 ? std::optional<int>(bar.kv_head) : std::nullopt}, lines_of(bar),
              intents);
  }

  using Key = std::tuple<std::uint64_t, std::uint64_t, int, std::optional<StepRange>, int, bool, std::size_t>;

  std::vector<Mark> marks_;
  int which_ = 0;  // of paper_figure_infos()
  Rect plot_;      // of the newest frame
  int cursor_ = 0;
  HoverPublisher hover_;
  mutable PaperFigure figure_;
  mutable std::optional<Key> key_;
};

}  // namespace

std::unique_ptr<View> make_figures() { return std::make_unique<Figures>(); }

}  // namespace kvscope::viz
