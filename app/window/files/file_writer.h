// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <QObject>
#include <QString>
#include <QThreadPool>

#include "io/files.h"

namespace kvscope {

/// Writes what takes long to make, pages and traces, on a thread of its own: the window stays usable. Signals come on the thread of this
/// object.
class FileWriter : public QObject {
  Q_OBJECT

 public:
  explicit FileWriter(QObject* parent = nullptr);
  ~FileWriter() override;  // finishes what is being written

  /// `make` gives the text on that thread, in pieces where it is long.
  void write(std::function<std::string()> make, const QString& path);
  void writePieces(std::function<void(const TakesText& take)> make, const QString& path);

 Q_SIGNALS:
  /// Empty `why`: the file is there.
  void written(const QString& path, const QString& why);

 private:
  QThreadPool m_thread;  // one
};

}  // namespace kvscope
