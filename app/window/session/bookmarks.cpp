// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/bookmarks.h"

#include <utility>

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
