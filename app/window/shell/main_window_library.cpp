// SPDX-License-Identifier: Apache-2.0
// The library: what it opens, and the pictures of files.
#include <QFileInfo>

#include "app/window/files/library_dialog.h"
#include "app/window/shell/main_window.h"

namespace kvscope {

void MainWindow::buildLibrary() {
  m_library = new LibraryDialog(m_workspace, m_controller, *m_recent, m_bookmarks, *m_thumbnails, this);
  connect(m_library, &LibraryDialog::fileRequested, this, [this](const QString& path) {
    openFile(path);
    if (page() == Page::welcome) showPage(Page::inspect);
  });
  connect(m_library, &LibraryDialog::bookmarkRequested, this, &MainWindow::goToBookmark);
  connect(m_library, &LibraryDialog::runRequested, this, [this](int lane) {
    viz::Selection selection = m_workspace.selection();
    selection.lane = lane;
    showPage(Page::inspect);
    m_workspace.setSelection(selection);
  });
  connect(m_library, &LibraryDialog::comparisonRequested, this, [this](const QList<int>& lanes) {
    showPage(Page::compare);
    viz::Selection selection = m_workspace.selection();
    for (const int lane : lanes) {  // the comparison takes the run looked at, and the one looked at before
      selection.lane = lane;
      m_workspace.setSelection(selection);
      if (CanvasWidget* compare = canvas("compare")) compare->scene();  // draws, and so notices, each of them
    }
  });
  connect(m_library, &LibraryDialog::sessionRenamed, this, [this](const QString& from, const QString& to) {
    if (QFileInfo(m_session_path).absoluteFilePath() != from) return;
    m_session_path = to;
    refreshTitle();
  });
}

/// The first result of what was opened is what its picture shows.
void MainWindow::keepThumbnail() {
  const Snapshot& s = m_workspace.snapshot();
  if (m_unseen.isEmpty() || s.phase != RunPhase::idle || s.lanes.empty() || !m_controller.answersNewest(s)) return;
  m_thumbnails->keep(QFileInfo(m_unseen).absoluteFilePath(), laneThumbnail(s, m_workspace.selection().lane, {}, m_workspace.theme()),
                     m_recent->all());
  m_unseen.clear();
}

}  // namespace kvscope
