// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/session/undo/undo_steps.h"
#include "snapshot/snapshot.h"
#include "viz/canvas.h"
#include "viz/selection.h"

namespace kvscope {

struct LaneSpec;

/// A view that the user wants to come back to.
struct Bookmark {
  QString name, note;
  int colour = 0;  // index into Theme::runs
  viz::Selection selection;
  QString page = "inspect";  // inspect | inspector | compare | sweep | lecture
  std::string run = {};      // the specification of the run that it is of; empty: not known
  bool operator==(const Bookmark&) const = default;
};

/// Where a run is by now.
struct RunNow {
  int lane = -1;          // -1: it is gone
  bool as_it_was = true;  // false: with other settings
};
/// The run that was `lane` and had the specification `run` (empty: not known) among those that are there: of several that are the same the
/// nearest, else the one in its place, if its policy is the same.
RunNow runNow(const std::vector<std::string>& there, const std::string& run, int lane);
RunNow runNow(const Snapshot& there, const std::string& run, int lane);

/// Files say which run a bookmark is of by its place among theirs. Of one that is gone none is meant.
std::vector<Bookmark> bookmarksForFile(std::vector<Bookmark> bookmarks, const std::vector<LaneSpec>& lanes);
std::vector<Bookmark> bookmarksOfFile(std::vector<Bookmark> bookmarks, const std::vector<LaneSpec>& lanes);

/// The bookmarks of the session, in the order in which they were made. Every edit can be undone. UI thread only.
class Bookmarks : public QObject {
  Q_OBJECT

 public:
  explicit Bookmarks(UndoSteps& undo, QObject* parent = nullptr) : QObject(parent), m_undo(undo) {}

  const std::vector<Bookmark>& all() const { return m_all; }
  int size() const { return static_cast<int>(m_all.size()); }
  /// What views of time draw.
  std::vector<viz::StepMark> stepMarks() const;

 public Q_SLOTS:
  void add(const kvscope::Bookmark& bookmark);
  void remove(int index);
  void change(int index, const kvscope::Bookmark& bookmark);
  /// Without undo: opening a session.
  void reset(const std::vector<kvscope::Bookmark>& bookmarks);

 Q_SIGNALS:
  void changed();

 private:
  void edit(const QString& what, std::vector<Bookmark> after);
  friend class BookmarksEdit;

  UndoSteps& m_undo;
  std::vector<Bookmark> m_all;
};

}  // namespace kvscope
