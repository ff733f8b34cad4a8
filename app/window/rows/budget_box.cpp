// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/budget_box.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QLineEdit>
#include <QRegularExpression>
#include <QToolTip>

#include "app/window/look/restyle.h"
#include "app/window/session/undo/undo_keys.h"
#include "app/window/session/workspace.h"

namespace kvscope {

namespace {

const char* const kHelp =
    "Budget of the selected run: slots per head, 40, a share of the prompt, 25 %, or memory of keys and values, 48 KiB";

struct Written {
  enum class Of { slots, prompt, memory };
  double number = 0;
  Of of = Of::slots;
};

/// The field's own " slots" may stand behind what was typed.
QString withoutUnit(const QString& text) {
  static const QRegularExpression unit("\\s*slots\\s*$");
  QString rest = text;
  return rest.remove(unit).trimmed();
}

std::optional<Written> written(const QString& text) {
  static const QRegularExpression whole(R"(^(\d+(?:[.,]\d*)?|[.,]\d+)\s*(%|slots?|[KMG]i?B?)?$)",
                                        QRegularExpression::CaseInsensitiveOption);
  const auto match = whole.match(withoutUnit(text));
  const double number = match.captured(1).replace(',', '.').toDouble();
  const QString unit = match.captured(2).toLower();
  const bool share = unit == "%";
  if (!match.hasMatch() || number <= 0 || (share && number > 100)) return std::nullopt;
  if (share) return Written{number / 100, Written::Of::prompt};
  const auto power = unit.isEmpty() ? -1 : QString("kmg").indexOf(unit.front());
  if (power < 0 && number != std::floor(number)) return std::nullopt;  // half a slot is none: a share was meant, or something else
  return power < 0 ? Written{number} : Written{number * std::exp2(10.0 * static_cast<double>(power + 1)), Written::Of::memory};
}

/// Why it is not a budget.
QString whyNot(const QString& text) {
  const QString what = withoutUnit(text);
  static const QRegularExpression percent(R"(^\d[\d.,]*\s*%$)");
  if (percent.match(what).hasMatch() && what.chopped(1).trimmed().replace(',', '.').toDouble() > 100)
    return QString("“%1” is more than the whole prompt. Use at most 100 %, or a number of slots.").arg(what);
  return QString("“%1” is not a budget. Use 25 %, a number of slots, or memory such as 48 KiB.").arg(what);
}

/// It may become one yet.
bool begins(const QString& text) {
  static const QRegularExpression part(R"(^\d*(?:[.,]\d*)?\s*(?:%|s|sl|slo|slots?|[KMG]i?B?)?$)",
                                       QRegularExpression::CaseInsensitiveOption);
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
  lineEdit()->installEventFilter(this);
  connect(lineEdit(), &QLineEdit::textEdited, this, [this](const QString& text) { refuse(begins(text) ? QString() : whyNot(text)); });
}

bool BudgetBox::typing() const { return lineEdit()->isModified(); }

int BudgetBox::valueFromText(const QString& text) const {
  const Written budget = written(text).value_or(Written{static_cast<double>(value())});
  const LaneSnapshot* lane = m_workspace.lane();
  const double of_slot = lane && lane->slots > 0 ? lane->kv_bytes / lane->slots : 0;  // in all heads
  const double n_slots = budget.of == Written::Of::prompt  ? budget.number * m_workspace.snapshot().n_prompt
                         : budget.of == Written::Of::slots ? budget.number
                         : of_slot > 0                     ? std::floor(budget.number / of_slot)
                                                           : value();
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

/// Who comes here means the number, and never its unit: a click, a second one, and the keyboard take it whole. What is being typed, and
/// where one drags, is as in any field.
bool BudgetBox::eventFilter(QObject* watched, QEvent* event) {
  const bool second = event->type() == QEvent::MouseButtonDblClick, release = event->type() == QEvent::MouseButtonRelease;
  if (watched != lineEdit() || typing() || (!second && !release)) return QSpinBox::eventFilter(watched, event);
  if (second || std::exchange(m_entered, false)) {
    if (!lineEdit()->hasSelectedText() || second) selectNumber();
    return second;
  }
  return QSpinBox::eventFilter(watched, event);
}

void BudgetBox::selectNumber() { lineEdit()->setSelection(0, static_cast<int>(withoutUnit(text()).size())); }

void BudgetBox::begin() {
  setFocus(Qt::ShortcutFocusReason);
  selectNumber();
}

void BudgetBox::focusInEvent(QFocusEvent* event) {
  QSpinBox::focusInEvent(event);
  m_entered = event->reason() == Qt::MouseFocusReason;
  if (!m_entered) selectNumber();
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
      if (typing() && !written(text())) return refuse(whyNot(text()));
      take();
      QSpinBox::keyPressEvent(event);
      m_entered = true;  // who goes on, by keys or by a click, means the number again
      return selectNumber();
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
  if (budget) Q_EMIT typed(value(), budget->of == Written::Of::prompt ? std::optional(std::min(1.0, budget->number)) : std::nullopt);
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
