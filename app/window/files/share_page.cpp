// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/share_page.h"

#include <exception>

#include "io/files.h"

namespace kvscope {

SharePage::SharePage(QObject* parent) : QObject(parent) { m_thread.setMaxThreadCount(1); }

SharePage::~SharePage() { m_thread.waitForDone(); }

void SharePage::write(const SnapshotPtr& snapshot, const share::PageFacts& facts, const QString& model, const QString& path) {
  m_thread.start([this, snapshot, facts, model, path] {
    QString why;
    try {
      share::PageFacts whole = facts;
      if (!model.isEmpty()) whole.files = share::model_hashes(model.toStdString());
      write_atomically(path.toStdString(), share::replay_page(*snapshot, whole));
    } catch (const std::exception& error) {  // memory, too
      why = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this, [this, path, why] { Q_EMIT written(path, why); }, Qt::QueuedConnection);
  });
}

}  // namespace kvscope
