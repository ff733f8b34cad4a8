// SPDX-License-Identifier: Apache-2.0
// Several runs on one prompt: one strip each on one token axis, their numbers beside them, and the difference of two below.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "viz/format.h"
#include "viz/reduce_text.h"
#include "viz/views.h"
#include "viz/views/compare_difference.h"
#include "viz/views/compare_metrics.h"
#include "viz/views/compare_strips.h"
#include "viz/views/inspector_bars.h"

namespace kvscope::viz {

namespace {

constexpr float kNames = 168;      // column of letters, names and parameters
constexpr float kHeader = 38, kLegend = 30;
constexpr float kReference = 26;   // the bar of the full cache
constexpr float kName = 34;        // two lines of text
constexpr float kDifferenceLeast = 190;
constexpr int kAnswerTokens = 3;
constexpr int kReferenceRun = 4, kManyRuns = 6;

/// Marker of a lane: the reference has the white cross, the others go round.
int run_of(int lane) { return lane == 0 ? kReferenceRun : lane <= kReferenceRun ? lane - 1 : (lane - 1) % 6; }

/// Row of one run in this frame.
struct LaneRow {
  int lane = 0;
  Rect row, strip, remove;
};

struct Plan {
  StripScale scale;
  float pad = 0;             // above and below a strip
  float row = 0;             // height of a run's row
  float reference_row = 0;
  bool difference = false;
};

class Compare final : public View {
 public:
  const char* id() const override { return "compare"; }
  const char* title() const override { return "Compare"; }
  const std::vector<Mark>& marks() const override { return marks_; }

  std::string facts(const Frame& frame) const override {
    const LaneSnapshot* lane = lane_of(frame);
    const StepRecord* record = record_of(frame);
    if (lane == nullptr) return {};
    const auto n = frame.snapshot->lanes.size();
    std::string out = fmt::format("one prompt, {} {}", n, n == 1 ? "run" : "runs");
    if (record != nullptr) out += fmt::format(" · step {} · query {} {}", step_of(*lane, frame.selection), record->position, quoted(token_text(*frame.snapshot, record->position)));
    return out;
  }

  float preferred_height(const Frame& frame) const override {
    if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) return 0;
    const ModelConfig& model = frame.snapshot->model;
    const auto others = static_cast<float>(frame.snapshot->lanes.size() - 1);
    const StripScale fine{false, 3, 3}, coarse{true, 3, 1};
    const float strip = std::min(fine.height(model.n_layers, model.n_kv_heads), std::max(150.0f, coarse.height(model.n_layers, model.n_kv_heads)));
    const float height = kHeader + kLegend + kReference + 18 + others * (std::max(kName, strip) + 14) + (others > 0 ? 280.0f : 0.0f);
    return height * frame.scale;
  }

  Table table(const Frame& frame) const override {
    Table out;
    if (frame.snapshot == nullptr) return out;
    const Snapshot& s = *frame.snapshot;
    const std::vector<LaneMetrics> metrics = metrics_of(frame);
    out.columns = {"run", "specification"};
    const std::vector<MetricColumn> columns = metric_columns(s, metrics, 1e6f, 1);
    for (const MetricColumn& c : columns) out.columns.push_back(c.title + " (" + c.unit + ")");
    for (std::size_t i = 0; i < s.lanes.size(); ++i) {
      std::vector<std::string> row = {lane_name(s, static_cast<int>(i)), s.lanes[i].spec};
      for (const MetricColumn& c : columns) row.push_back(metric_text(s, metrics[i], c.kind));
      out.rows.push_back(std::move(row));
    }
    out.note = "* beside a token of the answer: the full cache chooses another one";
    return out;
  }

  void draw(const Frame& frame, std::vector<Intent>& intents) override {
    Painter p(frame, marks_);
    if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) {
      hover_.none(intents);
      p.empty("Runs on the same prompt, one below the other", "no run yet");
      p.finish();
      return;
    }
    const Snapshot& snapshot = *frame.snapshot;
    metrics_ = metrics_of(frame);
    Rect area = p.canvas();
    area = area.inset(p.px(12), 0);
    area.cut_right(p.px(22));  // for the buttons that remove a run
    const float room = area.width() - p.px(kNames) - std::max(p.px(220), 0.48f * (area.width() - p.px(kNames))) - p.px(24);
    columns_ = metric_columns(snapshot, metrics_, room, frame.scale);
    right_ = area.x1;
    const TokenAxis axis = token_axis(p, area, static_cast<int>(snapshot.tokens.size()));
    plan_ = plan(p, axis, area.height());
    const Rect header = area.cut_top(p.px(kHeader));
    Rect below;
    if (plan_.difference) below = area.cut_bottom(std::max(p.px(kDifferenceLeast), area.height() - rows_height(p)));
    const Rect legend = area.cut_bottom(p.px(kLegend));
    draw_header(p, header, axis);
    draw_rows(p, area, axis);
    draw_legend(p, legend, axis);
    const Selection& selection = frame.selection;
    DifferenceHits difference;
    DifferenceScene scene;
    if (plan_.difference) {
      scene = difference_scene(frame);
      difference = draw_difference(p, {0, below.y0, p.canvas().x1, below.y1}, axis, scene, textures_);
    }
    draw_cursors(p, axis, difference, selection);
    react(p, axis, difference, scene, intents);
    p.finish();
  }

  bool key(const Frame& frame, std::string_view key, std::vector<Intent>& intents) override {
    if (frame.snapshot == nullptr || frame.snapshot->lanes.empty()) return false;
    const int n = static_cast<int>(frame.snapshot->lanes.size());
    const int n_tokens = static_cast<int>(frame.snapshot->tokens.size());
    const int lane = std::clamp(frame.selection.lane, 0, n - 1);
    Selection next = frame.selection;
    if (key == "Up" || key == "Down") {
      next.lane = std::clamp(lane + (key == "Up" ? -1 : 1), 0, n - 1);
    } else if ((key == "Left" || key == "Right") && n_tokens > 0) {
      const int at = frame.selection.tokens ? frame.selection.tokens->first : n_tokens;
      const int token = std::clamp(at + (key == "Left" ? -1 : 1), 0, n_tokens - 1);
      next.tokens = TokenRange{token, token};
    } else if (key == "Delete" && lane > 0) {
      intents.push_back(RemoveLane{lane});
      return true;
    } else if (key == "R") {
      against_ = lane;
      return true;
    } else if (key == "Enter" || key == "Return") {
      intents.push_back(OpenInspector{});
      return true;
    } else {
      return false;
    }
    select(next, frame, intents);
    return true;
  }

  std::string cursor_text(const Frame& frame) const override {
    if (lane_of(frame) == nullptr) return {};
    const Snapshot& s = *frame.snapshot;
    const std::vector<LaneMetrics> metrics = metrics_of(frame);
    const LaneMetrics& m = metrics[static_cast<std::size_t>(frame.selection.lane)];
    std::string out = fmt::format("run {}, KL {} nats, mean KL {}, top-1 same {} of {}", lane_name(s, frame.selection.lane), metric_text(s, m, MetricColumn::Kind::kl),
                                  metric_text(s, m, MetricColumn::Kind::mean_kl), m.top1_same, m.decode_steps);
    if (frame.selection.tokens) out += ", " + count_text(frame, frame.selection.lane, m.step, frame.selection.tokens->first);
    return out;
  }

 private:
  static std::vector<LaneMetrics> metrics_of(const Frame& frame) {
    std::vector<LaneMetrics> out;
    for (const LaneSnapshot& lane : frame.snapshot->lanes) {
      out.push_back(lane_metrics(lane, step_of(lane, frame.selection), frame.snapshot->n_prompt, kAnswerTokens));
    }
    return out;
  }

  TokenAxis token_axis(const Painter& p, const Rect& area, int n_tokens) const {
    TokenAxis axis;
    axis.x0 = std::round(area.x0 + p.px(kNames));
    axis.x1 = std::max(axis.x0 + 16, std::floor(right_ - total_width(columns_, p.frame().scale) - p.px(24)));
    axis.n_tokens = n_tokens;
    const double exact = static_cast<double>(axis.x1 - axis.x0) / std::max(1, n_tokens);
    axis.px = static_cast<float>(std::min(exact >= 3 ? std::floor(exact) : exact, static_cast<double>(p.px(14))));
    return axis;
  }

  /// Finest rows that fit, with the difference below if that leaves room for it.
  static Plan plan(const Painter& p, const TokenAxis& axis, float height) {
    const Snapshot& s = *p.frame().snapshot;
    const auto others = static_cast<float>(s.lanes.size() - 1);
    const float fixed = p.px(kHeader + kLegend);
    const float ideal = p.px(80) + StripScale{false, 7, 4}.height(s.model.n_layers, s.model.n_kv_heads);
    const auto make = [&](const StripScale& scale, float pad, float text, bool difference) {
      Plan out{scale, p.px(pad), 0, 0, difference};
      out.row = std::max(p.px(text), scale.height(s.model.n_layers, s.model.n_kv_heads)) + 2 * out.pad;
      out.reference_row = std::max(p.px(kReference) + 2 * out.pad, p.px(text + 8));
      return out;
    };
    const auto fits = [&](const Plan& one) {
      return fixed + one.reference_row + others * one.row + (one.difference ? std::max(p.px(kDifferenceLeast), !one.scale.by_layer && one.scale.px > 3 ? ideal : 0) : 0) <= height;
    };
    const std::vector<StripScale> scales = strip_scales(axis.px);
    // Rows of heads say more than the difference: layers only where no row of a head fits.
    const bool heads = std::any_of(scales.begin(), scales.end(), [&](const StripScale& one) { return !one.by_layer && fits(make(one, 4, kName, false)); });
    for (const StripScale& scale : scales) {
      if (others == 0 || scale.by_layer == heads || scale.px < 2) continue;
      for (const float pad : {8.0f, 5.0f}) {
        const Plan one = make(scale, pad, kName, true);
        if (fits(one)) return one;
      }
    }
    for (const StripScale& scale : scales) {
      if (!scale.by_layer && scale.px > 3 && others > 0) continue;
      for (const float pad : {8.0f, 4.0f}) {
        const Plan one = make(scale, pad, kName, false);
        if (fits(one)) return one;
      }
    }
    // Less than the least: one line of text a run and whatever strip that leaves.
    Plan last = make({true, 1, 0}, 2, 18, false);
    last.reference_row = last.row = std::max(p.px(16), (height - fixed) / (others + 1));
    last.scale.px = std::max(0.25f, (last.row - 2 * last.pad) / static_cast<float>(std::max(1, s.model.n_layers)));
    return last;
  }

  float rows_height(const Painter& p) const {
    return plan_.reference_row + static_cast<float>(metrics_.size() - 1) * plan_.row + p.px(kLegend);
  }

  void draw_header(Painter& p, const Rect& header, const TokenAxis& axis) {
    const Theme& t = p.theme();
    p.text({header.x0, header.y0 + p.px(14)}, "run", Face::caption, t.disabled);
    p.text({axis.x0 - p.px(10), header.y0 + p.px(14)}, "key (past)", Face::caption, t.disabled, Align::right);
    draw_token_axis(p, {header.x0, header.y0 + p.px(4), header.x1, header.y1 - p.px(2)}, axis, "", p.frame().selection.tokens);
    draw_metric_header(p, {header.x0, header.y0, right_, header.y1}, columns_);
  }

  void draw_rows(Painter& p, Rect area, const TokenAxis& axis) {
    rows_.clear();
    const int n = static_cast<int>(metrics_.size());
    for (int lane = 0; lane < n; ++lane) {
      const float height = lane == 0 ? plan_.reference_row : plan_.row;
      if (area.height() < height - 1) {
        p.text({area.x0, area.y1 - p.px(7)}, fmt::format("{} more below: enlarge the panel", n - lane), Face::caption, p.theme().secondary);
        p.mark("note", "lanes", area, fmt::format("{} more", n - lane));
        return;
      }
      draw_lane(p, area.cut_top(height), axis, lane);
    }
  }

  void draw_lane(Painter& p, const Rect& row, const TokenAxis& axis, int lane) {
    const Theme& t = p.theme();
    const Snapshot& snapshot = *p.frame().snapshot;
    const LaneSnapshot& run = snapshot.lanes[static_cast<std::size_t>(lane)];
    const LaneMetrics& m = metrics_[static_cast<std::size_t>(lane)];
    const bool selected = p.frame().selection.lane == lane;
    LaneRow out{lane, row, row, {}};
    out.strip = {axis.x0, row.y0 + plan_.pad, axis.x_end(), row.y1 - plan_.pad};
    if (lane > 0) p.hline(row.x0, right_ + p.px(22), row.y0, t.line, 0.8);
    if (selected) p.fill({0, row.y0 + 2, p.px(3), row.y1 - 1}, t.accent);
    draw_name(p, row, run, lane, selected, row.height());
    const float y = row.middle_y();
    if (m.step < 0) {
      p.text({axis.x0, y}, "no steps yet", Face::caption, t.disabled);
      p.mark("empty", fmt::format("lane {}", lane), out.strip, "no steps");
    } else if (lane == 0) {
      draw_reference(p, out.strip, axis, m);
    } else {
      draw_strip(p, out, axis, lane, m);
    }
    draw_metrics(p, right_, y, columns_, lane, m, run.slots_asked);
    if (lane > 0) {
      const float side = p.px(18);
      out.remove = {right_ + p.px(4), y - side / 2, right_ + p.px(4) + side, y + side / 2};
      const bool hot = p.pointer().inside && out.remove.contains(p.pointer().at);
      if (hot) p.fill(out.remove, t.raised, 1, 4);
      const float d = p.px(3.5f);
      const ImVec2 c(out.remove.middle_x(), out.remove.middle_y());
      p.line({c.x - d, c.y - d}, {c.x + d, c.y + d}, hot ? t.text : t.disabled, 1.4f);
      p.line({c.x - d, c.y + d}, {c.x + d, c.y - d}, hot ? t.text : t.disabled, 1.4f);
      p.mark("button", fmt::format("remove lane {}", lane), out.remove);
    }
    p.mark("lane", fmt::format("lane {}", lane), row, lane_name(snapshot, lane));
    rows_.push_back(out);
  }

  void draw_name(Painter& p, const Rect& row, const LaneSnapshot& run, int lane, bool selected, float height) const {
    const Theme& t = p.theme();
    const bool two = height >= p.px(kName);
    const int n_rows = static_cast<int>(metrics_.size());
    // Beside a tall strip the name stands at its top, as a heading; in a low row in the middle.
    const float y = two ? (height > p.px(62) ? row.y0 + plan_.pad + p.px(10) : row.middle_y() - p.px(7)) : row.middle_y();
    const bool grey = n_rows > kManyRuns + 1 && lane > kManyRuns && !selected;
    p.text({row.x0 + p.px(5), y}, lane_letter(lane), Face::body, t.secondary, Align::centre);
    p.run_marker({row.x0 + p.px(24), y}, p.px(4.2f), run_of(lane), grey ? t.disabled : t.runs[static_cast<std::size_t>(run_of(lane))]);
    const float x = row.x0 + p.px(38), room = p.px(kNames - 38 - 30);
    p.text_fit({x, y}, run.title.empty() ? run.policy : run.title, Face::strong, selected ? t.accent : t.text, room);
    if (!two) return;
    const std::string params = lane == 0 ? std::string("reference") : lane_params(run, 3);
    const std::string first = lane_params(run, 2);
    // A third parameter goes to a line of its own where there is room, else it is left to the tooltip.
    p.text_fit({x, y + p.px(15)}, lane == 0 ? params : p.width_of(Face::caption, params) <= room ? params : first, Face::caption, t.secondary, room);
    if (lane > 0 && height > p.px(62) && p.width_of(Face::caption, params) > room && params.size() > first.size()) {
      p.text_fit({x, y + p.px(29)}, params.substr(first.size() + (first.empty() ? 0 : std::string_view(" · ").size())), Face::caption, t.secondary, room);
    }
  }

  /// The full cache keeps everything, so one thin bar says it all; should it not be full, the bar is only as long as what is kept everywhere.
  void draw_reference(Painter& p, const Rect& strip, const TokenAxis& axis, const LaneMetrics& m) {
    const Theme& t = p.theme();
    const int seen = m.position + 1, heads = n_heads_total(*p.frame().snapshot);
    const bool all = std::isfinite(m.slots) && std::abs(m.slots - seen) < 1e-9;
    const Rect bar{axis.x0, strip.middle_y() - p.px(kReference / 2), axis.x_of(seen), strip.middle_y() + p.px(kReference / 2)};
    const Rgb fill = t.category[static_cast<std::size_t>(Category::kept)];
    p.fill({bar.x0, std::max(bar.y0, strip.y0 - 2), bar.x1, std::min(bar.y1, strip.y1 + 2)}, fill);
    const bool prefill_only = is_prefill_step(*p.frame().snapshot, m.step);
    if (!prefill_only && axis.px >= 2) p.fill({axis.x_of(m.position), bar.y0, bar.x1, bar.y1}, t.category[static_cast<std::size_t>(Category::fresh)]);
    const std::string text = all ? fmt::format("{0} of {0} tokens kept in all {1} heads", format_count(seen), format_count(heads))
                                 : fmt::format("{} of {} slots per head", format_mean(m.slots), format_count(seen));
    p.text_fit({bar.x0 + p.px(10), bar.middle_y()}, text, Face::body, ink_on(fill, t), bar.width() - p.px(20));
    p.mark("strip", "lane 0", bar, text);
  }

  void draw_strip(Painter& p, LaneRow& row, const TokenAxis& axis, int lane, const LaneMetrics& m) {
    const Snapshot& snapshot = *p.frame().snapshot;
    const Theme& t = p.theme();
    const int n_layers = snapshot.model.n_layers, n_kv = snapshot.model.n_kv_heads;
    const float height = plan_.scale.height(n_layers, n_kv);
    const float y0 = std::round(row.row.middle_y() - height / 2);
    row.strip = {axis.x0, y0, axis.x_end(), y0 + height};
    const auto texture = textures_.lane(p.frame(), lane, m.step, plan_.scale.by_layer, static_cast<int>(axis.x_of(m.position + 1) - axis.x0));
    draw_layers(p, texture, row.strip, axis, plan_.scale, n_layers, n_kv);
    if (height >= p.px(26)) {
      p.text({axis.x0 - p.px(8), row.strip.y0 + p.px(5)}, "L0", Face::caption, t.disabled, Align::right);
      p.text({axis.x0 - p.px(8), row.strip.y1 - p.px(6)}, fmt::format("L{}", n_layers - 1), Face::caption, t.disabled, Align::right);
    }
    p.mark("strip", fmt::format("lane {}", lane), row.strip, plan_.scale.by_layer ? "kept fraction" : "fate");
    const Selection& selection = p.frame().selection;
    if (selection.layer && !plan_.scale.by_layer && *selection.layer < n_layers && lane == selection.lane) {
      const float pitch = plan_.scale.layer_height(n_kv) + plan_.scale.gap;
      float top = row.strip.y0 + pitch * static_cast<float>(*selection.layer), tall = plan_.scale.layer_height(n_kv);
      if (selection.kv_head) {
        top += plan_.scale.px * static_cast<float>(*selection.kv_head);
        tall = plan_.scale.px;
      }
      p.selection({axis.x0 - 2, top - 1.5f, axis.x_of(m.position + 1) + 2, top + tall + 1.5f}, 1, 0);
    }
  }

  void draw_legend(Painter& p, const Rect& legend, const TokenAxis& axis) {
    const Theme& t = p.theme();
    const Snapshot& s = *p.frame().snapshot;
    p.hline(0, p.canvas().x1, legend.y0, t.line);
    const float y = legend.middle_y();
    float x = legend.x0;
    std::string note;
    if (plan_.scale.by_layer) {
      x = p.ramp_legend(x, y, {.name = "kept or merged", .colours = t.sequential, .low = "0", .high = "all heads", .note = {}});
      note = axis.px >= 1 ? fmt::format("one row per layer: mean of {} heads", s.model.n_kv_heads)
                          : fmt::format("one row per layer: mean of {} heads · 1 px = {} tokens", s.model.n_kv_heads, format_mean(1 / axis.px));
    } else {
      static constexpr LegendItem kItems[] = {{Category::sink, ""}, {Category::kept, ""}, {Category::merged, ""}, {Category::recent, ""}, {Category::fresh, ""}, {Category::evicted, ""}};
      x = p.category_legend(x, y, kItems);
      note = fmt::format("{} rows a run: {} layers × {} KV heads, {} px each · {:.3g} px = 1 token", n_heads_total(s), s.model.n_layers, s.model.n_kv_heads,
                         plan_.scale.px, axis.px);
    }
    if (prompt_end(s, axis) > 0) x = p.prompt_end_legend(x, y, fmt::format("prompt ends at {}", s.n_prompt));
    const std::string_view answer = "outlined answer = differs from A";
    const float room = legend.x1 + p.px(22) - x - p.px(10);
    // The whole note, else one half of it: a cut text would be worse.
    for (const std::string& text : {note + " · " + std::string(answer), note, std::string(answer)}) {
      if (p.width_of(Face::caption, text) > room) continue;
      p.text({legend.x1 + p.px(22), y}, text, Face::caption, t.disabled, Align::right);
      break;
    }
  }

  static float prompt_end(const Snapshot& s, const TokenAxis& axis) { return s.n_prompt > 0 && s.n_prompt < axis.n_tokens ? axis.x_of(s.n_prompt) : -1; }

  void draw_cursors(Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const Selection& selection) {
    if (rows_.empty()) return;
    const float y0 = rows_.front().row.y0, y1 = rows_.back().row.y1;
    const TokenRows lines{p, axis, ""};
    const auto both = [&](auto draw) {
      draw(y0, y1);
      if (difference.strip.height() > 0) draw(difference.strip.y0 - p.px(6), difference.strip.y1 + p.px(4));
    };
    if (const float x = prompt_end(*p.frame().snapshot, axis); x > 0) p.dashed({x, y0}, {x, y1}, p.theme().text, kDashPromptEnd, 1, 0.55);
    if (p.frame().hover.token && *p.frame().hover.token < axis.n_tokens) {
      both([&](float a, float b) { p.fill(lines.column(*p.frame().hover.token, {0, a, 0, b}), p.theme().text, 0.16); });
    }
    if (selection.tokens) {
      both([&](float a, float b) { lines.range(a - (a == y0 ? p.px(6) : 0), b, *selection.tokens); });
    }
  }

  /// The run that the selected one is compared with: the one chosen, else the one before it.
  int against(const Frame& frame) const {
    const int n = static_cast<int>(frame.snapshot->lanes.size()), lane = std::clamp(frame.selection.lane, 0, n - 1);
    if (against_ >= 0 && against_ < n && against_ != lane) return against_;
    return lane > 1 ? lane - 1 : lane == 1 ? (n > 2 ? 2 : 0) : std::min(1, n - 1);
  }

  DifferenceScene difference_scene(const Frame& frame) {
    DifferenceScene scene;
    const int n = static_cast<int>(frame.snapshot->lanes.size());
    scene.a = against(frame);
    scene.b = std::clamp(frame.selection.lane, 0, n - 1);
    if (swapped_) std::swap(scene.a, scene.b);
    for (const LaneMetrics& m : metrics_) scene.steps.push_back(m.step);
    scene.step_a = scene.steps[static_cast<std::size_t>(scene.a)];
    scene.step_b = scene.steps[static_cast<std::size_t>(scene.b)];
    const std::string state = lane_state(frame, scene.a, scene.step_a) + " | " + lane_state(frame, scene.b, scene.step_b);
    if (state != cells_state_) {
      cells_ = lane_difference(frame.snapshot->lanes[static_cast<std::size_t>(scene.a)], scene.step_a, frame.snapshot->lanes[static_cast<std::size_t>(scene.b)], scene.step_b);
      cells_state_ = state;
    }
    scene.cells = &cells_;
    scene.token = frame.hover.token ? *frame.hover.token : frame.selection.tokens ? frame.selection.tokens->first : -1;
    return scene;
  }

  void select(Selection next, const Frame& frame, std::vector<Intent>& intents) {
    // Without a choice of its own, the difference stays with the run that was looked at before.
    if (next.lane != frame.selection.lane && against_ < 0 && frame.selection.lane > 0) against_ = frame.selection.lane;
    intents.push_back(Select{std::move(next)});
  }

  static std::string count_text(const Frame& frame, int lane, int step, int token) {
    const TokenCount count = token_count(frame.snapshot->lanes[static_cast<std::size_t>(lane)], step, token);
    return fmt::format("token {} {}: kept in {} of {} heads, merged in {}", token, quoted(token_text(*frame.snapshot, token)), count.kept, count.heads, count.merged);
  }

  std::vector<std::string> tooltip(const Frame& frame, const LaneRow& row, int token, int head) const {
    const Snapshot& s = *frame.snapshot;
    const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
    std::vector<std::string> out = {lane_name(s, row.lane) + " · " + s.lanes[static_cast<std::size_t>(row.lane)].spec};
    if (token < 0 || token > m.position) return out;
    out.push_back(count_text(frame, row.lane, m.step, token));
    if (head >= 0 && !plan_.scale.by_layer && row.lane > 0) {
      Selection there = frame.selection;
      there.lane = row.lane;
      there.layer = head / std::max(1, s.model.n_kv_heads);
      there.kv_head = head % std::max(1, s.model.n_kv_heads);
      const HeadPick pick = pick_head(s, there);
      if (pick.values != nullptr) out.push_back(head_name(*there.layer, *there.kv_head) + ": " + fate_text(head_columns(s, pick), token));
    }
    return out;
  }

  void react(const Painter& p, const TokenAxis& axis, const DifferenceHits& difference, const DifferenceScene& scene, std::vector<Intent>& intents) {
    const Frame& frame = p.frame();
    const Pointer& mouse = p.pointer();
    if (!mouse.inside) {
      hover_.none(intents);
      return;
    }
    const int token = axis.index_at(mouse.at.x);
    if (plan_.difference && difference.swap.contains(mouse.at)) {
      hover_.none(intents);
      if (mouse.clicked) swapped_ = !swapped_;
      return;
    }
    if (plan_.difference && difference.strip.contains(mouse.at) && token >= 0) {
      react_difference(p, difference, scene, token, intents);
      return;
    }
    for (const LaneRow& row : rows_) {
      if (row.row.y0 > mouse.at.y || row.row.y1 <= mouse.at.y) continue;
      if (row.lane > 0 && row.remove.contains(mouse.at)) {
        hover_.at(Hover{}, {"Remove " + lane_name(*frame.snapshot, row.lane)}, intents);
        if (mouse.clicked) intents.push_back(RemoveLane{row.lane});
        return;
      }
      react_lane(p, axis, row, token, intents);
      return;
    }
    hover_.none(intents);
  }

  void react_lane(const Painter& p, const TokenAxis& axis, const LaneRow& row, int token, std::vector<Intent>& intents) {
    const Frame& frame = p.frame();
    const Pointer& mouse = p.pointer();
    const ModelConfig& model = frame.snapshot->model;
    const bool on_strip = token >= 0 && mouse.at.x < axis.x_end();
    const int head = on_strip && row.lane > 0 ? head_at(mouse.at.y, row.strip, plan_.scale, model.n_layers, model.n_kv_heads) : -1;
    Hover hover;
    hover.lane = row.lane;
    if (on_strip) hover.token = token;
    if (head >= 0 && model.n_kv_heads > 0) {
      hover.layer = head / model.n_kv_heads;
      if (!plan_.scale.by_layer) hover.kv_head = head % model.n_kv_heads;
    }
    const int column = metric_at(mouse.at.x, right_, columns_, frame.scale);
    const LaneMetrics& m = metrics_[static_cast<std::size_t>(row.lane)];
    hover_.at(hover, column >= 0 && m.step >= 0 ? metric_lines(*frame.snapshot, row.lane, m, columns_[static_cast<std::size_t>(column)])
                                                : tooltip(frame, row, on_strip ? token : -1, head), intents);
    if (!mouse.clicked) return;
    if (mouse.shift) {
      against_ = row.lane;
      return;
    }
    Selection next = frame.selection;
    next.lane = row.lane;
    if (on_strip) next.tokens = TokenRange{token, token};
    if (head >= 0 && !plan_.scale.by_layer) {
      next.layer = head / model.n_kv_heads;
      next.kv_head = head % model.n_kv_heads;
      next.slot = token;
    }
    select(next, frame, intents);
  }

  void react_difference(const Painter& p, const DifferenceHits& difference, const DifferenceScene& scene, int token, std::vector<Intent>& intents) {
    const Frame& frame = p.frame();
    const ModelConfig& model = frame.snapshot->model;
    const int head = head_at(p.pointer().at.y, difference.strip, difference.scale, model.n_layers, model.n_kv_heads);
    Hover hover;
    hover.token = token;
    std::vector<std::string> lines = {fmt::format("token {} {}", token, quoted(token_text(*frame.snapshot, token)))};
    if (head >= 0 && !difference.scale.by_layer && token < scene.cells->n_tokens && head < scene.cells->n_heads) {
      hover.layer = head / model.n_kv_heads;
      hover.kv_head = head % model.n_kv_heads;
      const Difference d = scene.cells->at(head, token);
      const std::string place = head_name(*hover.layer, *hover.kv_head);
      const char* const words[] = {"in neither", "only in ", "only in ", "in both"};
      std::string text = place + ": " + words[static_cast<int>(d)];
      if (d == Difference::only_a) text += lane_name(*frame.snapshot, scene.a);
      if (d == Difference::only_b) text += lane_name(*frame.snapshot, scene.b);
      lines.push_back(std::move(text));
    }
    hover_.at(hover, std::move(lines), intents);
    if (!p.pointer().clicked) return;
    Selection next = frame.selection;
    next.tokens = TokenRange{token, token};
    if (hover.kv_head) {
      next.layer = hover.layer;
      next.kv_head = hover.kv_head;
    }
    intents.push_back(Select{next});
  }

  std::vector<Mark> marks_;
  std::vector<LaneMetrics> metrics_;    // of the frame being drawn
  std::vector<MetricColumn> columns_;
  std::vector<LaneRow> rows_;
  Plan plan_;
  float right_ = 0;                     // where the numbers end
  int against_ = -1;                    // run chosen for the difference; -1: none
  bool swapped_ = false;
  LaneDifference cells_;
  std::string cells_state_;
  StripTextures textures_;
  HoverPublisher hover_;
};

}  // namespace

std::unique_ptr<View> make_compare() { return std::make_unique<Compare>(); }

}  // namespace kvscope::viz
