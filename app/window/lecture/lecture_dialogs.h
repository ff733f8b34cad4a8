// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

namespace kvscope {

/// Every dialog that opens while a lecture is held has the lecture's type: help, export, save.
class LectureDialogs : public QObject {
 public:
  explicit LectureDialogs(QObject* parent);
  /// The sheet of dialogs that open from now on, and how much larger its type is; empty: their usual one.
  void setSheet(const QString& sheet, double scale) {
    m_sheet = sheet;
    m_scale = scale;
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QString m_sheet;
  double m_scale = 1;
};

}  // namespace kvscope
