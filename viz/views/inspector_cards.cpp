// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector_cards.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/format.h"

namespace kvscope::viz {

namespace {

/// The members as running text on the tints of their fates; as many lines as fit, then "+ n more". Returns the height used.
float draw_members(Painter& p, const Rect& area, const Snapshot& snapshot, const SlotFacts& facts, int max_lines) {
  const Theme& t = p.theme();
  const float size = p.px(14), height = p.px(20), gap = 2;
  float x = area.x0, y = area.y0;
  int line = 1;
  for (std::size_t i = 0; i < facts.members.size(); ++i) {
    const int token = facts.members[i];
    const std::string text = token_text(snapshot, token);
    const float guess = size * 0.62f * static_cast<float>(utf8_length(text)) + p.px(4);
    const float reserve = line == max_lines && i + 1 < facts.members.size() ? p.px(58) : 0;
    if (x + guess > area.x1 - reserve && x > area.x0) {
      if (line == max_lines) {
        p.text({x + p.px(4), y + height / 2}, fmt::format("+ {} more", format_count(static_cast<std::int64_t>(facts.members.size() - i))),
               Face::caption, t.secondary);
        return y + height - area.y0;
      }
      x = area.x0;
      y += height + gap;
      ++line;
    }
    const Category c = token == facts.pos ? Category::kept : Category::merged;
    const Rect chip{x, y, std::min(x + guess, area.x1), y + height};
    p.fill(chip, t.category[static_cast<std::size_t>(c)], t.text_tint, 2);
    p.token({x + p.px(2), y + height / 2}, text, size, t.text);
    p.mark("member", fmt::format("t{}", token), chip, text);
    x += guess + 1;
  }
  return y + height - area.y0;
}

void number_badge(Painter& p, ImVec2 at, int number) {
  const Theme& t = p.theme();
  p.ring(at, p.px(8.5f), t.accent, 1.4f);
  p.text(at, std::to_string(number), Face::caption, t.accent, Align::centre);
}

/// Cosines of this step's removals on one axis: the one looked at in accent, the others grey, the threshold dashed.
float draw_cosines(Painter& p, const Rect& area, const Snapshot& snapshot, const Why& why, const WhyStep& step) {
  const Theme& t = p.theme();
  double low = why.event.cos, high = why.event.cos;
  const auto widen = [&](double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  };
  widen(why.threshold);
  for (const double v : why.other_cos) widen(v);
  for (const auto& [pos, cos] : step.keys) widen(cos);
  const double span = std::max(high - low, 0.05);
  low = std::max(-1.0, std::floor((low - 0.15 * span) * 20) / 20);
  high = std::min(1.0, std::ceil((high + 0.1 * span) * 20) / 20);
  if (high <= low) low = high - 0.1;
  const bool keys = !step.keys.empty();  // the best candidates by name, else all cosines of the step on one line
  const float names = keys ? p.px(108) : p.px(4), row = p.px(15);
  const float rows = row * static_cast<float>(keys ? step.keys.size() : 0);
  const float x0 = area.x0 + names, x1 = std::min(area.x1 - p.px(20), area.x0 + p.px(520));
  const auto x_of = [&](double v) { return x0 + static_cast<float>((v - low) / (high - low)) * (x1 - x0); };
  const float y = keys ? area.y0 + rows + p.px(2) : area.y0 + p.px(17), bottom = keys ? y + p.px(20) : area.y0 + p.px(42);
  p.hline(x0, x1, y, t.line);
  float labels_end = x0;
  for (const double tick : nice_ticks(low, high, 6)) {
    const std::string label = fmt::format("{:g}", std::round(tick * 1000) / 1000);
    labels_end = std::max(labels_end, x_of(tick) + p.width_of(Face::caption, label) / 2);
    p.mark("cosine.tick", label, {x_of(tick) - p.width_of(Face::caption, label) / 2, bottom - p.px(12), x_of(tick) + p.width_of(Face::caption, label) / 2, bottom});
    p.text({x_of(tick), bottom - p.px(6)}, label, Face::caption, t.disabled, Align::centre);
    p.vline(x_of(tick), y - 2, y + 3, t.disabled);
  }
  for (std::size_t i = 0; i < step.keys.size(); ++i) {
    const auto& [pos, cos] = step.keys[i];
    const float line = area.y0 + row * (static_cast<float>(i) + 0.5f);
    const bool target = pos == why.event.into;
    p.text({area.x0 + p.px(24), line}, format_count(pos), Face::caption, t.disabled, Align::right);
    p.token({area.x0 + p.px(32), line}, p.elide(token_text(snapshot, pos), Face::mono, p.px(70)), p.size_of(Face::mono), target ? t.text : t.secondary);
    p.hline(x0, x1, line, t.line, 0.5);
    p.disc({x_of(cos), line}, p.px(target ? 4.2f : 3.0f), target ? t.accent : t.disabled);
    const std::string number = fmt::format("{:.3f}", cos);
    const bool left = x_of(cos) + p.px(10) + p.width_of(Face::caption, number) > x1 + p.px(18);
    p.text({x_of(cos) + (left ? -p.px(8) : p.px(8)), line}, number, Face::caption, target ? t.text : t.secondary, left ? Align::right : Align::left);
    p.mark("candidate", fmt::format("t{}", pos), {area.x0, line - row / 2, x1, line + row / 2}, number);
  }
  const std::size_t shown = keys ? 0 : std::min<std::size_t>(why.other_cos.size(), 400);
  for (std::size_t i = 0; i < shown; ++i) p.disc({x_of(why.other_cos[i]), y}, p.px(2.6f), t.disabled, 0.75);
  if (std::isfinite(why.threshold)) {
    const float x = x_of(why.threshold);
    p.dashed({x, area.y0 + p.px(2)}, {x, y + p.px(12)}, t.accent, kDashLimit, 1);
    p.mark("threshold", "cosine", {x, area.y0, x + 1, y + 12}, fmt::format("{:g}", why.threshold));
  }
  if (keys) {
    std::string note = std::isfinite(why.threshold) ? fmt::format("threshold {:.2f}, ", why.threshold) : std::string();
    note += "cosine";
    // Behind the numbers of the axis where there is room, else on a line of its own.
    const float width = p.width_of(Face::caption, note);
    const bool beside = x1 + p.px(16) - width > labels_end + p.px(8);
    const float note_y = bottom + (beside ? -p.px(6) : p.px(7));
    p.text({x1 + p.px(16), note_y}, note, Face::caption, t.secondary, Align::right);
    p.mark("cosine.note", note, {x1 + p.px(16) - width, note_y - p.px(6), x1 + p.px(16), note_y + p.px(6)});
    return rows + p.px(beside ? 28 : 41);
  }
  const float x = x_of(why.event.cos);
  p.disc({x, y}, p.px(4.6f), t.accent);
  p.mark("cosine", fmt::format("t{}", why.event.pos), {x - 5, y - 5, x + 5, y + 5}, format_number(why.event.cos));
  p.text({x, area.y0 + p.px(4)}, fmt::format("{:.3f}", why.event.cos), Face::caption, t.text, Align::centre);
  std::string note = std::isfinite(why.threshold) ? fmt::format("threshold {:.2f}", why.threshold) : std::string();
  if (!why.other_cos.empty()) {
    note += fmt::format("{}grey: {} other {} of this step", note.empty() ? "" : " · ",
                        format_count(static_cast<std::int64_t>(why.other_cos.size())), why.other_cos.size() == 1 ? "removal" : "removals");
  }
  p.text({x0, area.y0 + p.px(50)}, note, Face::caption, t.secondary);
  return p.px(59);
}

float draw_head_rows(Painter& p, const Rect& area, const WhyStep& step) {
  const Theme& t = p.theme();
  const float line = p.px(16), columns = static_cast<float>(step.rows.front().size() - 1),
              column = std::min(p.px(92), (area.width() - p.px(70)) / std::max(1.0f, columns));
  float y = area.y0 + p.px(8);
  for (std::size_t r = 0; r < step.rows.size(); ++r) {
    if (y + p.px(6) > area.y1) break;
    for (std::size_t c = 0; c < step.rows[r].size(); ++c) {
      const float x = area.x0 + p.px(66) + column * static_cast<float>(c);
      p.text({x, y}, step.rows[r][c], r == 0 ? Face::caption : Face::mono, r == 0 ? t.disabled : t.text, Align::right);
    }
    if (r > 0)
      p.mark("head.row", "query head " + step.rows[r][0], {area.x0, y - 8, area.x1, y + 8},
             fmt::format("{}", fmt::join(step.rows[r], " ")));
    y += line;
  }
  return y - area.y0;
}

/// A text too wide for one line is broken at the last wide gap that lets its first part fit.
std::vector<std::string> broken(const Painter& p, const std::string& text, Face face, float room) {
  if (p.width_of(face, text) <= room) return {text};
  for (const std::string_view gap : {"  ·  ", "     ", ":  ", " = "}) {
    for (std::size_t at = text.rfind(gap); at != std::string::npos && at > 0; at = text.rfind(gap, at - 1)) {
      const std::size_t keep = gap.front() == ':' ? 1 : 0;
      std::string first = text.substr(0, at + keep), rest = text.substr(at + (gap == " = " ? 1 : gap.size()));
      if (p.width_of(face, first) <= room) return {std::move(first), std::move(rest)};
    }
  }
  return {text};
}

}  // namespace

Rect draw_card_head(Painter& p, Rect area, std::string_view title, std::string_view facts) {
  const Theme& t = p.theme();
  const Rect head = area.cut_top(p.px(30));
  const float x = head.x0 + p.px(12);
  const float end = x + p.text({x, head.middle_y()}, title, Face::strong, t.text);
  if (!facts.empty())
    p.text_fit({end + p.px(10), head.middle_y()}, facts, Face::body, t.secondary, std::max(0.0f, head.x1 - end - p.px(22)));
  p.mark("card", std::string(title), {head.x0, head.y0, area.x1, area.y1}, std::string(facts));
  p.hline(head.x0, head.x1, head.y1, t.line);
  area.y0 += 1;
  return area.inset(p.px(12), 0);
}

void draw_habit(Painter& p, const Rect& area, const HabitCaption& caption) {
  const Theme& t = p.theme();
  const float y = area.middle_y(), gap = p.px(12);
  float x = area.x0 + p.px(12), right = area.x1 - p.px(12);
  p.mark("habit", caption.name, area, caption.words + (caption.besides.empty() ? "" : "; " + caption.besides));
  if (caption.name.empty()) {
    p.text_fit({x, y}, caption.words, Face::caption, t.disabled, right - x);
    return;
  }
  x += p.text({x, y}, caption.name, Face::strong, t.text) + p.px(8);
  const float words = p.width_of(Face::body, caption.words);
  if (const float w = p.width_of(Face::caption, caption.measured); x + words + gap + w <= right) {
    p.text({right, y}, caption.measured, Face::caption, t.secondary, Align::right);
    right -= w + gap;
  }
  x += p.text_fit({x, y}, caption.words, Face::body, t.text, right - x) + gap;
  // Whole habits or none: half of a name says nothing.
  std::string_view besides = caption.besides;
  while (!besides.empty() && p.width_of(Face::body, besides) > right - x) {
    const std::size_t before = besides.rfind(", ");
    besides = besides.substr(0, before == std::string_view::npos ? 0 : before);
  }
  p.text({x, y}, besides, Face::body, t.secondary);
}

void draw_slot_card(Painter& p, Rect area, const Snapshot& snapshot, const HeadPick& pick, const SlotFacts& facts, SlotButtons& buttons) {
  const Theme& t = p.theme();
  if (facts.token < 0) return;
  std::vector<CardRow> rows = slot_card(snapshot, pick, facts);
  const bool members = facts.pos >= 0 && facts.members.size() > 1;
  const float buttons_height = pick.lane > 0 ? p.px(SlotButtons::kHeight) : 0;
  const auto needed = [&](float around) { return p.px(around + 17 * static_cast<float>(rows.size())) + buttons_height; };
  // A low card has its first words beside the name, less air, and no row that only repeats its title and these words.
  const bool low = area.height() < needed(members ? 90 : 65);
  const float around = (members ? 25 : 0) + (low ? 4 + 24 + 4 : 65);
  if (area.height() < needed(around)) std::erase_if(rows, [](const CardRow& row) { return row.name == "position" || row.name == "members"; });
  if (pick.lane > 0 && area.height() >= needed(around)) buttons.draw(p, area.cut_bottom(buttons_height), facts.pos >= 0);
  area.cut_top(p.px(low ? 4 : 10));
  const int shown = facts.pos >= 0 ? facts.pos : facts.token;
  const Rect name = area.cut_top(p.px(24));
  const std::string text = p.elide(quoted(token_text(snapshot, shown)), Face::headline, name.width() * (low ? 0.4f : 0.9f));
  const float name_end = name.x0 + p.token({name.x0, name.middle_y()}, text, p.size_of(Face::headline), facts.pos >= 0 ? t.text : t.secondary).x;
  p.mark("headline", fmt::format("slot {}", shown), name, text);
  const Rect caption = low ? Rect{name_end + p.px(8), name.y0, name.x1, name.y1} : area.cut_top(p.px(17));
  const std::string stands = facts.pos < 0 ? "no slot stands for it in this head" : members ? fmt::format("stands for {} tokens", facts.members.size()) : "stands for itself alone";
  p.text_fit({caption.x0, caption.middle_y()}, stands, Face::caption, t.secondary, caption.width());
  if (members) {
    area.cut_top(p.px(3));
    const float lines_below = p.px(18) * static_cast<float>(rows.size());
    const int lines = std::clamp(static_cast<int>((area.height() - lines_below) / p.px(22)), 1, 3);
    area.cut_top(draw_members(p, area, snapshot, facts, lines));
  }
  area.cut_top(p.px(low ? 2 : 8));
  area.cut_bottom(p.px(low ? 2 : 6));
  const float line = std::clamp(area.height() / static_cast<float>(std::max<std::size_t>(1, rows.size())), p.px(17), p.px(24));
  for (const CardRow& row : rows) {
    if (area.height() < line - 1) break;
    const Rect r = area.cut_top(line);
    const float end = r.x0 + p.text({r.x0, r.middle_y()}, row.name, Face::body, t.secondary);
    p.text_fit({r.x1, r.middle_y()}, row.value, Face::body, t.text, r.x1 - end - p.px(8), Align::right);
    p.hline(r.x0, r.x1, r.y1 - 1, t.line, 0.7);
    p.mark("slot.row", row.name, r, row.value);
  }
}

namespace {

void draw_why(Painter& p, Rect area, const Snapshot& snapshot, const std::vector<WhyStep>& steps, const Why& why, std::string_view nothing) {
  const Theme& t = p.theme();
  Rect foot = area.cut_bottom(p.px(28));
  if (steps.empty()) {
    p.text_fit({area.x0, area.y0 + p.px(22)}, nothing, Face::body, t.secondary, area.width());
    p.mark("why", "nothing", area, std::string(nothing));
    return;
  }
  p.hline(foot.x0 - p.px(12), foot.x1 + p.px(12), foot.y0, t.line);
  float x = foot.x0 + p.text({foot.x0, foot.middle_y()}, "Cost, same query", Face::body, t.secondary) + p.px(12);
  const std::string cost = std::isfinite(why.cost)
                               ? fmt::format("this head's output changed by {} at step {}", format_percent(why.cost), why.step)
                               : std::string("not measured");
  x += p.text_fit({x, foot.middle_y()}, cost, Face::strong, t.text, std::max(0.0f, foot.x1 - x));
  p.mark("cost", "compress_rel_l2", foot, cost);
  area.cut_top(p.px(8));
  p.clip({area.x0 - p.px(12), area.y0, area.x1 + p.px(12), area.y1});
  bool left_over = false;
  const float indent = p.px(30), line_height = p.px(17);
  std::size_t shown = 0, begun = 0;  // steps that are there to their last line; that are there at all
  for (std::size_t i = 0; i < steps.size() && shown == i && area.height() >= p.px(22); ++i) {
    const WhyStep& step = steps[i];
    ++begun;
    const Rect title = area.cut_top(p.px(22));
    number_badge(p, {title.x0 + p.px(8.5f), title.middle_y()}, static_cast<int>(i) + 1);
    bool whole = true;
    const auto write = [&](const std::string& text, Face face, Rgb ink) {
      whole = whole && area.height() >= line_height;
      if (!whole) return;
      const Rect r = area.cut_top(line_height);
      p.text_fit({r.x0 + indent, r.middle_y()}, text, face, ink, r.width() - indent);
    };
    const std::vector<std::string> heading = broken(p, step.title, Face::strong, title.width() - indent);
    p.text_fit({title.x0 + indent, title.middle_y()}, heading[0], Face::strong, t.text, title.width() - indent);
    if (heading.size() > 1) write(heading[1], Face::strong, t.text);
    p.mark("why", std::to_string(i + 1), title, step.title);
    if (step.kind == WhyStep::Kind::cosines) {
      WhyStep low = step;  // fewer candidates where there is less room
      const auto room = static_cast<int>((area.height() - p.px(41)) / p.px(15));
      if (room >= 1 && static_cast<int>(low.keys.size()) > room) low.keys.resize(static_cast<std::size_t>(room));
      whole = whole && area.height() >= p.px(low.keys.empty() ? 59 : 56);
      if (whole) area.cut_top(draw_cosines(p, {area.x0 + indent, area.y0, area.x1, area.y1}, snapshot, why, low));
    }
    for (const std::string& line : step.lines) {
      if (area.height() >= line_height) p.mark("why.line", std::to_string(i + 1), {area.x0, area.y0, area.x1, area.y0 + line_height}, line);
      for (const std::string& part : broken(p, line, Face::body, area.width() - indent)) write(part, Face::body, i == 0 ? t.secondary : t.text);
    }
    if (step.kind == WhyStep::Kind::heads) {
      whole = whole && area.height() >= p.px(16) * static_cast<float>(step.rows.size());
      if (whole) area.cut_top(draw_head_rows(p, {area.x0 + indent, area.y0, area.x1, area.y1}, step));
      left_over = whole && step.rows.size() > 2;
    }
    if (whole) ++shown;
    area.cut_top(p.px(6));
  }
  p.unclip();
  if (shown < steps.size()) {
    const std::string note =
        begun == steps.size() ? fmt::format("step {} is cut", begun) : fmt::format("{} of {} steps fit", shown, steps.size());
    if (foot.x1 - x > p.width_of(Face::caption, note) + p.px(12)) {
      p.text({foot.x1, foot.middle_y()}, note, Face::caption, t.disabled, Align::right);
      p.mark("why.hidden", note, foot);
    }
  } else if (left_over && foot.x1 - x > p.px(230)) {
    p.text({foot.x1, foot.middle_y()}, "“left over”: the query heads share one bias", Face::caption, t.disabled, Align::right);
  }
}

}  // namespace

void draw_why_card(Painter& p, const Rect& area, const HeadPick& pick, const Why& why, const SlotFacts& slot) {
  const Snapshot& snapshot = *p.frame().snapshot;
  std::string nothing = "Nothing was merged into this slot, and it has not been removed.";
  if (std::isfinite(slot.score) && std::isfinite(pick.values->cutoff)) {
    nothing = fmt::format("It stays: score {}, cut-off {}. Nothing was merged into it.", format_number(slot.score),
                          format_number(pick.values->cutoff));
  } else if (pick.lane == 0 && pick.values->budget < 0) {
    nothing = "No budget: every token keeps its slot.";
  }
  draw_why(p, draw_card_head(p, area, "Why", why_headline(snapshot, why)), snapshot, why_steps(snapshot, pick, why), why, nothing);
}

}  // namespace kvscope::viz
