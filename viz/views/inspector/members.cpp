// SPDX-License-Identifier: Apache-2.0
#include "viz/views/inspector/members.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {
namespace {

constexpr float kMemberRow = 20;

struct MemberColumn {
  const char* title;
  float end;  // right edge from the left of the card, pixels at 100 %
};
constexpr MemberColumn kColumns[] = {{"into slot", 200}, {"step", 250}, {"weight", 310}, {"cosine", 372}, {"votes", 420}};

}  // namespace

std::vector<LineageLine> members_by_weight(const Lineage& lineage) {
  std::vector<LineageLine> out;
  std::copy_if(lineage.lines.begin(), lineage.lines.end(), std::back_inserter(out), [](const LineageLine& l) { return l.into >= 0; });
  std::stable_sort(out.begin(), out.end(), [](const LineageLine& a, const LineageLine& b) {
    if (std::isnan(a.w_removed) || std::isnan(b.w_removed)) return !std::isnan(a.w_removed) && std::isnan(b.w_removed);
    return a.w_removed > b.w_removed;
  });
  return out;
}

std::vector<LineageHit> draw_members(Painter& p, const Rect& whole, const Snapshot& snapshot, const Lineage& lineage) {
  const Theme& t = p.theme();
  std::vector<LineageHit> hits;
  const std::vector<LineageLine> members = members_by_weight(lineage);
  Rect area = whole;
  if (members.empty()) {
    p.text_fit({area.x0, area.y0 + p.px(16)}, "Nothing was merged into this slot.", Face::body, t.secondary, area.width());
    p.mark("empty", "members", area, "no merges");
    return hits;
  }
  const float scale = std::min(1.0f, area.width() / p.px(430));
  const auto end_of = [&](const MemberColumn& c) { return area.x0 + p.px(c.end) * scale; };
  const Rect head = area.cut_top(p.px(kMemberRow + 4));
  p.text({head.x0, head.middle_y()}, "token", Face::caption, t.disabled);
  for (const MemberColumn& c : kColumns) p.text({end_of(c), head.middle_y()}, c.title, Face::caption, t.disabled, Align::right);
  const auto room = static_cast<std::size_t>(std::max(0.0f, area.height() / p.px(kMemberRow)));
  const std::size_t shown = members.size() <= room ? members.size() : room - std::min<std::size_t>(room, 1);
  const auto hover = p.frame().hover.token;
  for (std::size_t i = 0; i < shown; ++i) {
    const LineageLine& line = members[i];
    const Rect row = area.cut_top(p.px(kMemberRow));
    const bool hot = hover == line.token;
    if (hot) p.fill({row.x0 - p.px(6), row.y0, row.x1, row.y1}, t.raised, 1, 3);
    const std::string name =
        fmt::format("{} {}", line.token, quoted(token_text(tokens_of(snapshot, p.frame().selection.lane), line.token)));
    p.text_fit({row.x0, row.middle_y()}, name, Face::body, t.text, end_of(kColumns[0]) - row.x0 - p.px(56));
    const std::string cells[] = {format_count(line.into), format_count(line.end), format_number(line.w_removed), format_number(line.cos),
                                 format_count(line.last_votes())};
    for (std::size_t c = 0; c < std::size(cells); ++c) {
      p.text({end_of(kColumns[c]), row.middle_y()}, cells[c], Face::mono, c == 0 && line.into != lineage.root ? t.secondary : t.text,
             Align::right);
    }
    p.mark("lineage.member", fmt::format("t{}", line.token), row,
           fmt::format("into {} step {} weight {} cosine {} votes {}", cells[0], cells[1], cells[2], cells[3], cells[4]));
    hits.push_back({row, line.token});
  }
  if (shown < members.size() && area.height() >= p.px(kMemberRow) - 1) {
    const std::string more = fmt::format("{} more with less weight", format_count(static_cast<std::int64_t>(members.size() - shown)));
    p.text({area.x0, area.y0 + p.px(kMemberRow) / 2}, more, Face::caption, t.secondary);
    p.mark("note", "members", area, more);
  }
  return hits;
}

}  // namespace kvscope::viz
