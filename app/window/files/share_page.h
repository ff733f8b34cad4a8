// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <QObject>
#include <QString>
#include <QThreadPool>

#include "app/share/page.h"
#include "snapshot/snapshot.h"

namespace kvscope {

class SessionController;

/// What a page says of results on screen, but for the hashes of the model's files, which take their time.
struct ShownFacts {
  ShownFacts(const SessionController& controller, const Snapshot& snapshot);
  share::PageFacts facts;
  std::string model;  // its folder or file; empty: none is known
  std::string stamp;  // of its files when they were read
  share::PageFacts withHashes() const;
};

/// Writes replay pages on a thread of its own: the window stays usable while a long run is compressed. Signals come on the thread of this
/// object.
class SharePage : public QObject {
  Q_OBJECT

 public:
  explicit SharePage(QObject* parent = nullptr);
  ~SharePage() override;  // finishes the page that is being written

  /// `page` makes it, on that thread.
  void write(std::function<std::string()> page, const QString& path);

 Q_SIGNALS:
  /// Empty `why`: the file is there.
  void written(const QString& path, const QString& why);

 private:
  QThreadPool m_thread;  // one
};

}  // namespace kvscope
