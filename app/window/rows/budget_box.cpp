// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/budget_box.h"

#include <algorithm>
#include <cmath>

#include <QLineEdit>
#include <QRegularExpression>
#include <QToolTip>

#include "app/window/look/restyle.h"
#include "app/window/session/undo/undo_keys.h"
#include "app/window/session/workspace.h"

namespace kvscope {

namespace {

const char* const kHelp = "Budget of the selected run: slots per head, 40, or a share of the prompt, 25 %";

struct Written {
  double number = 0;
  bool share = false;
};

/// The field's own " slots" may stand behind what was typed.
QString withoutUnit(const QString& text) {
  static const QRegularExpression unit("\\s*slots\\s*$");
  QString rest = text;
  return rest.remove(unit).trimmed();
}

std::optional<Written> written(const QString& text) {
  static const QRegularExpression whole(R"(^(\d+(?:[.,]\d*)?|[.,]\d+)\s*(%|slots?)?$)");
  const auto match = whole.match(withoutUnit(text));
  const double number = match.captured(1).replace(',', '.').toDouble();
  const bool share = match.captured(2) == "%";
  if (!match.hasMatch() || number <= 0 || (share && number > 100)) return std::nullopt;
  return Written{share ? number / 100 : number, share};
}

/// It may become one yet.
bool begins(const QString& text) {
  static const QRegularExpression part(R"(^\d*(?:[.,]\d*)?\s*(?:%|s|sl|slo|slots?)?$)");
  return part.match(withoutUnit(text)).hasMatch();
}

}  // namespace

BudgetBox::BudgetBox(const Workspace& workspace, QWidget* parent) : QSpinBox(parent), m_workspace(workspace) {
  setButtonSymbols(QAbstractSpinBox::NoButtons);
  setSuffix(" slots");
  setAlignment(Qt::AlignCenter);
  setAccessibleName("Slots per head");
  setToolTip(kHelp);
  setKeyboardTracking(false);
  connect(lineEdit(), &QLineEdit::textEdited, this, [this](const QString& text) {
    refuse(begins(text) ? QString() : QString("“%1” is not a budget. Use 25 % or a number of slots.").arg(withoutUnit(text)));
  });
}

bool BudgetBox::typing() const { return lineEdit()->isModified(); }

int BudgetBox::valueFromText(const QString& text) const {
  const Written budget = written(text).value_or(Written{static_cast<double>(value())});
  const double n_slots = budget.share ? budget.number * m_workspace.snapshot().n_prompt : budget.number;
  return static_cast<int>(std::lround(std::clamp(n_slots, static_cast<double>(minimum()), static_cast<double>(maximum()))));
}

QValidator::State BudgetBox::validate(QString& text, int&) const {
  return written(text) ? QValidator::Acceptable : QValidator::Intermediate;
}

bool BudgetBox::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && !typing() && isUndoKey(*static_cast<QKeyEvent*>(event))) {
    event->ignore();
    return false;
  }
  return QSpinBox::event(event);
}

void BudgetBox::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:  // and the window leaves the field
      setValue(value());
      lineEdit()->setModified(false);
      refuse({});
      return event->ignore();
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (typing() && !written(text()))
        return refuse(QString("“%1” is not a budget. Use 25 % or a number of slots.").arg(withoutUnit(text())));
      take();
      break;
    default:
      break;
  }
  QSpinBox::keyPressEvent(event);
}

void BudgetBox::focusOutEvent(QFocusEvent* event) {
  take();
  refuse({});
  QSpinBox::focusOutEvent(event);
}

/// What was typed becomes the value; what is no budget goes.
void BudgetBox::take() {
  if (!typing()) return;
  const std::optional<Written> budget = written(text());
  interpretText();
  setValue(value());
  lineEdit()->setModified(false);
  if (budget) Q_EMIT typed(value(), budget->share ? std::optional(std::min(1.0, budget->number)) : std::nullopt);
}

void BudgetBox::refuse(const QString& why) {
  if (!why.isEmpty()) QToolTip::showText(mapToGlobal(rect().bottomLeft()), why, this);
  if (why == m_refusal) return;
  if (why.isEmpty()) QToolTip::hideText();
  m_refusal = why;
  setToolTip(why.isEmpty() ? QString(kHelp) : why);
  setAccessibleDescription(why);
  setProperty("refused", !why.isEmpty());
  restyle(*this);
}

}  // namespace kvscope
