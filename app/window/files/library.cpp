// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/library.h"

#include <utility>

#include <QFileInfo>
#include <QMenu>
#include <QStandardPaths>

#include "app/window/commands/command_table.h"
#include "app/window/files/library_dialog.h"
#include "app/window/session/window_model.h"

namespace kvscope {

Library::Library(WindowModel& model, QWidget& window)
    : m_model(model),
      m_recent(model.settings.get()),
      m_thumbnails(model.settings ? QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/thumbnails" : QString()),
      m_dialog(new LibraryDialog(model.workspace, model.controller, m_recent, model.bookmarks, m_thumbnails, &window)) {
  connect(&model.controller, &SessionController::modelOpened, this, [this](const QString& folder) {
    if (folder == std::exchange(m_asked, {})) use(folder);
  });
}

void Library::use(const QString& path) { m_recent.add(m_unseen = path); }

void Library::keepPicture() {
  const Snapshot& s = m_model.workspace.snapshot();
  if (s.phase == RunPhase::failed && m_model.controller.answersNewest(s)) m_unseen.clear();  // what is shown next is of something else
  if (m_unseen.isEmpty() || s.phase != RunPhase::idle || s.lanes.empty() || !m_model.controller.answersNewest(s)) return;
  m_thumbnails.keep(QFileInfo(m_unseen).absoluteFilePath(),
                    laneThumbnail(s, m_model.workspace.selection().lane, {}, m_model.workspace.theme()), m_recent.all());
  m_unseen.clear();
}

void Library::fillMenu(Commands& commands, QMenu* menu) {
  const auto open = [this] {
    m_dialog->show();
    m_dialog->raise();
    m_dialog->activateWindow();
  };
  commands.add(menu, {"&Library…",
                      {Qt::CTRL | Qt::SHIFT | Qt::Key_L},
                      open,
                      "Models, sessions and prompts used last, runs and bookmarks, with pictures: open, rename, compare"});
  m_recent.attach(menu->addMenu("Open &recent"));
}

}  // namespace kvscope
