// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

namespace kvscope {

/// Every file dialog shows size, kind and date of its files whole, in whatever type: the names have what is left.
class FileDialogs : public QObject {
  Q_OBJECT

 public:
  explicit FileDialogs(QObject* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace kvscope
