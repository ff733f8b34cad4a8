// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <QDialog>

class QLabel;
class QTextBrowser;
class QUrl;

namespace kvscope {

/// What papers say, what shows on the model that comes with the program, and how it was measured: assets/papers/TRUTH.md to read.
class PapersDialog : public QDialog {
  Q_OBJECT

 public:
  explicit PapersDialog(QWidget* parent = nullptr);
  const QTextBrowser& page() const { return *m_page; }
  const QLabel& said() const { return *m_said; }
  /// What opens a picture or an address; false: it could not.
  void setOpener(std::function<bool(const QUrl&)> open) { m_open = std::move(open); }

 private:
  void follow(const QUrl& link);
  void say(const QString& words);

  QTextBrowser* m_page;
  QLabel* m_said;
  std::function<bool(const QUrl&)> m_open;
};

}  // namespace kvscope
