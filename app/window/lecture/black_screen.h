// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointer>
#include <QWidget>

namespace kvscope {

/// A black screen over the whole window, so that an audience looks at who speaks. Any key and any click end it, and do nothing else.
class BlackScreen : public QWidget {
  Q_OBJECT

 public:
  explicit BlackScreen(QWidget& window);
  void begin();

 protected:
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void end();

  QPointer<QWidget> m_focus_before;
};

}  // namespace kvscope
