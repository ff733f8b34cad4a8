// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QMainWindow;

namespace kvscope {

/// A file that is dropped on the window: on any page, on a panel that floats, and on a field, which would else take its path for words.
class FileDrops : public QObject {
  Q_OBJECT

 public:
  explicit FileDrops(QMainWindow& window);

 Q_SIGNALS:
  void dropped(const QString& path);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QMainWindow& m_window;
};

}  // namespace kvscope
