// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/bookmarks.h"

#include <cstdlib>
#include <utility>

#include "app/window/session/run_estimate.h"
#include "policy/catalog.h"

namespace kvscope {

class BookmarksEdit : public QUndoCommand {
 public:
  BookmarksEdit(Bookmarks& bookmarks, const QString& what, std::vector<Bookmark> after)
      : QUndoCommand(what), m_bookmarks(bookmarks), m_before(bookmarks.m_all), m_after(std::move(after)) {}
  void undo() override { m_bookmarks.reset(m_before); }
  void redo() override { m_bookmarks.reset(m_after); }

 private:
  Bookmarks& m_bookmarks;
  std::vector<Bookmark> m_before, m_after;
};

RunNow runNow(const std::vector<std::string>& there, const std::string& run, int lane) {
  const int n = static_cast<int>(there.size());
  const bool in_place = lane >= 0 && lane < n;
  if (run.empty()) return {in_place ? lane : -1};
  int nearest = -1;
  for (int i = 0; i < n; ++i)
    if (there[static_cast<std::size_t>(i)] == run && (nearest < 0 || std::abs(i - lane) < std::abs(nearest - lane))) nearest = i;
  if (nearest >= 0) return {nearest};
  const bool changed = in_place && policyOf(there[static_cast<std::size_t>(lane)]) == policyOf(run);
  return {changed ? lane : -1, false};
}

RunNow runNow(const Snapshot& there, const std::string& run, int lane) {
  std::vector<std::string> specs;
  for (const LaneSnapshot& one : there.lanes) specs.push_back(one.spec);
  return runNow(specs, run, lane);
}

std::vector<Bookmark> bookmarksForFile(std::vector<Bookmark> bookmarks, const std::vector<LaneSpec>& lanes) {
  std::vector<std::string> there;
  for (const LaneSpec& lane : lanes) there.push_back(lane.text);
  for (Bookmark& b : bookmarks) {
    const int lane = runNow(there, b.run, b.selection.lane).lane;
    b.selection.lane = lane < 0 ? static_cast<int>(lanes.size()) : lane;
  }
  return bookmarks;
}

std::vector<Bookmark> bookmarksOfFile(std::vector<Bookmark> bookmarks, const std::vector<LaneSpec>& lanes) {
  for (Bookmark& b : bookmarks)
    if (b.selection.lane >= 0 && b.selection.lane < static_cast<int>(lanes.size()))
      b.run = lanes[static_cast<std::size_t>(b.selection.lane)].text;
  return bookmarks;
}

std::vector<viz::StepMark> Bookmarks::stepMarks() const {
  std::vector<viz::StepMark> out;
  for (const Bookmark& b : m_all)
    if (b.selection.step) out.push_back({*b.selection.step, b.colour, b.name.toStdString()});
  return out;
}

void Bookmarks::edit(const QString& what, std::vector<Bookmark> after) {
  if (after != m_all) m_undo.now().push(new BookmarksEdit(*this, what, std::move(after)));
}

void Bookmarks::add(const Bookmark& bookmark) {
  std::vector<Bookmark> after = m_all;
  after.push_back(bookmark);
  edit("bookmark", std::move(after));
}

void Bookmarks::remove(int index) {
  if (index < 0 || index >= size()) return;
  std::vector<Bookmark> after = m_all;
  after.erase(after.begin() + index);
  edit("removal of a bookmark", std::move(after));
}

void Bookmarks::change(int index, const Bookmark& bookmark) {
  if (index < 0 || index >= size()) return;
  std::vector<Bookmark> after = m_all;
  after[static_cast<std::size_t>(index)] = bookmark;
  edit("edit of a bookmark", std::move(after));
}

void Bookmarks::reset(const std::vector<Bookmark>& bookmarks) {
  m_all = bookmarks;
  Q_EMIT changed();
}

}  // namespace kvscope
