// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QSpinBox>

namespace kvscope {

class Workspace;

/// Field of a budget: slots per head, "40" or "40 slots", a share of the prompt, "25 %", or memory of the keys and values of all heads, "48
/// KiB", at what a slot of the run takes now. What it does not understand stays in it, and it says so. More slots than there can be are
/// taken as the most. Esc gives back what holds.
class BudgetBox : public QSpinBox {
  Q_OBJECT

 public:
  BudgetBox(const Workspace& workspace, QWidget* parent);
  /// Something stands in it that was not sent yet.
  bool typing() const;
  /// The next key begins another number, also where the field has the keys already.
  void begin();
  /// Why that is not taken; empty: it is, or may become so.
  QString refusal() const { return m_refusal; }

 Q_SIGNALS:
  /// By Enter, or by leaving the field. A share is in (0, 1].
  void typed(int n_slots, std::optional<double> share);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  int valueFromText(const QString& text) const override;
  QValidator::State validate(QString& text, int& at) const override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void selectNumber();
  void take();
  void refuse(const QString& why);

  const Workspace& m_workspace;
  QString m_refusal;
  bool m_entered = false;  // by the click that goes on
};

}  // namespace kvscope
