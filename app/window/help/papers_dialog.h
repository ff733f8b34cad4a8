// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QTextBrowser;

namespace kvscope {

/// What papers say, what shows on the model that comes with the program, and how it was measured: assets/papers/TRUTH.md to read.
class PapersDialog : public QDialog {
  Q_OBJECT

 public:
  explicit PapersDialog(QWidget* parent = nullptr);
  const QTextBrowser& page() const { return *m_page; }

 private:
  QTextBrowser* m_page;
};

}  // namespace kvscope
