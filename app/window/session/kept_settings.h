// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSettings>

namespace kvscope {

/// What one start remembers for the next. Most is kept in passing, where a window stands say; what a person asked to be kept is on the disk
/// at once, or it is said that it is not.
class KeptSettings : public QSettings {
  Q_OBJECT

 public:
  using QSettings::QSettings;

  /// Writes what was set. Returns a sentence where that failed, about `what` the next start will not know; empty: it was written.
  QString whyNotKept(const QString& what) const;
  /// The same, said by notKept().
  void keepNow(const QString& what);

 Q_SIGNALS:
  void notKept(const QString& why);
};

}  // namespace kvscope
