// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>

#include "app/share/page.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// Writes replay pages on a thread of its own: the window stays usable while a long run is compressed. Signals come on the thread of this
/// object.
class SharePage : public QObject {
  Q_OBJECT

 public:
  explicit SharePage(QObject* parent = nullptr);
  ~SharePage() override;  // finishes the page that is being written

  /// model: its folder or file, whose hash the page names; empty: none is known.
  void write(const SnapshotPtr& snapshot, const share::PageFacts& facts, const QString& model, const QString& path);

 Q_SIGNALS:
  /// Empty `why`: the file is there.
  void written(const QString& path, const QString& why);

 private:
  QThreadPool m_thread;  // one
};

}  // namespace kvscope
