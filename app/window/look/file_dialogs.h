// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include <memory>

class QFileIconProvider;
class QWidget;

namespace kvscope {

/// Asks for a folder that results go to, which may be made in the dialog; empty: none was chosen.
QString folderToWriteTo(QWidget* over, const QString& title, const QString& before);

/// Every file dialog shows size, kind and date of its files whole, in whatever type: the names have what is left. Those of the toolkit that
/// open something make, rename and delete nothing. The kind of a file is that of its name: nobody looks into it.
class FileDialogs : public QObject {
  Q_OBJECT

 public:
  explicit FileDialogs(QObject* parent);
  ~FileDialogs() override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::unique_ptr<QFileIconProvider> m_kinds;
};

}  // namespace kvscope
