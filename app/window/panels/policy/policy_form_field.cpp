// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_form_field.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QComboBox>
#include <QCompleter>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QTimer>
#include <QToolButton>

#include "app/window/look/restyle.h"
#include "app/window/session/undo/undo_keys.h"

namespace kvscope {

namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }
QString numberText(double v) { return QString::number(v, 'g', 8); }

/// A number without trailing zeros: "0.9", not "0.900000".
class PlainNumberBox : public QDoubleSpinBox {
 public:
  using QDoubleSpinBox::QDoubleSpinBox;
  QString textFromValue(double v) const override { return numberText(v); }
};

bool isNumberText(const std::string& s) {
  bool ok = false;
  text(s).toDouble(&ok);
  return ok;
}

/// The same value, however it is written ("0.90" and "0.9").
bool sameValue(const ParamInfo& info, const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (info.kind == ParamInfo::Kind::choice || info.kind == ParamInfo::Kind::text || !isNumberText(a) || !isNumberText(b)) return false;
  // A count and a fraction of the budget are different things: "1" and "1.0".
  const bool fraction_a = a.find('.') != std::string::npos, fraction_b = b.find('.') != std::string::npos;
  if (info.kind == ParamInfo::Kind::count_or_fraction && fraction_a != fraction_b) return false;
  return text(a).toDouble() == text(b).toDouble();
}

}  // namespace

ParamEditor::ParamEditor(const ParamInfo& info, QWidget* form, QGridLayout& grid, int row)
    : QObject(form),
      m_info(info),
      m_name(new QLabel(text(info.key), form)),
      m_widget(makeWidget(form)),
      m_reset(new QToolButton(form)),
      m_why(new QLabel(form)) {
  m_reset->setText("↺");
  m_reset->setObjectName("header");
  m_reset->setAccessibleName(QString("reset %1").arg(text(info.key)));
  m_reset->setToolTip(info.default_text.empty() ? QString("back to the default") : QString("back to %1").arg(text(info.default_text)));
  QSizePolicy keep = m_reset->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  m_reset->setSizePolicy(keep);
  m_name->setBuddy(m_widget);
  m_name->setToolTip(toolTip());
  m_widget->setMinimumWidth(60);  // of a box of numbers Qt asks for the room of its largest
  m_widget->setToolTip(toolTip());
  m_widget->setAccessibleName(text(info.key));
  m_widget->setAccessibleDescription(text(info.help));
  m_why->setObjectName("refusal");
  m_why->setWordWrap(true);
  m_why->setTextFormat(Qt::PlainText);
  m_why->hide();
  m_widget->installEventFilter(this);
  place(grid, row);
  connect(m_reset, &QToolButton::clicked, this, [this] { Q_EMIT edited(QString()); });
  show("");
  // Qt's style sheets keep for good what they know of a widget that goes without ever having been shown.
  for (const QWidget* widget : {static_cast<QWidget*>(m_name), m_widget, static_cast<QWidget*>(m_reset), static_cast<QWidget*>(m_why)})
    widget->ensurePolished();
}

ParamEditor::~ParamEditor() {
  delete m_name;
  delete m_widget;
  delete m_reset;
  delete m_why;
}

void ParamEditor::takeAway() {
  if (qobject_cast<QAbstractSpinBox*>(m_widget)) forgetLinesIn(*m_widget);
  delete this;
}

void ParamEditor::place(QGridLayout& grid, int row) {
  int column = 0;
  for (QWidget* widget : {static_cast<QWidget*>(m_name), m_widget, static_cast<QWidget*>(m_reset)}) {
    grid.removeWidget(widget);
    grid.addWidget(widget, row, column++);
  }
  grid.removeWidget(m_why);
  grid.addWidget(m_why, row + 1, 1, 1, 2);
}

void bringIntoSight(QWidget& widget) {
  for (QWidget* w = widget.parentWidget(); w != nullptr; w = w->parentWidget())
    if (auto* area = qobject_cast<QScrollArea*>(w)) return area->ensureWidgetVisible(&widget);
}

void ParamEditor::say() {
  m_why->setObjectName(m_refusal.isEmpty() ? "secondary" : "refusal");
  m_why->setText(m_refusal.isEmpty() ? m_in_force : m_refusal);
  m_why->setVisible(!m_why->text().isEmpty());
  restyle(*m_why);
}

void ParamEditor::refuse(const QString& why) {
  if (why == m_refusal) return;
  m_refusal = why;
  say();
  if (!why.isEmpty()) QTimer::singleShot(0, m_why, [this] { bringIntoSight(*m_why); });  // once it has its place
  m_widget->setProperty("refused", !why.isEmpty());
  restyle(*m_widget);
}

QString ParamEditor::toolTip() const {
  QStringList lines{text(m_info.help)};
  using Kind = ParamInfo::Kind;
  if (m_info.kind == Kind::count || m_info.kind == Kind::number) {
    lines << QString("%1 to %2%3").arg(numberText(m_info.min), numberText(m_info.max), m_info.odd ? ", odd" : "");
  } else if (m_info.kind == Kind::count_or_fraction) {
    lines
        << QString("%1 to %2 slots, or a fraction of the budget with a decimal point").arg(numberText(m_info.min), numberText(m_info.max));
  }
  for (const auto& [word, help] : m_info.described) lines << QString("%1: %2").arg(text(word), text(help));
  if (m_info.kind == Kind::text && !m_info.choices.empty()) {
    QStringList words;
    for (const std::string& c : m_info.choices) words << text(c);
    lines << words.join(", ") + " or other text";
  }
  if (!m_info.default_text.empty()) lines << QString("default %1").arg(text(m_info.default_text));
  return lines.join("\n");
}

/// In a narrow panel; its list is as wide as the longest choice all the same.
void ParamEditor::giveWay(QComboBox& box) {
  box.setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box.setMinimumContentsLength(4);
}

QWidget* ParamEditor::makeWidget(QWidget* form) {
  using Kind = ParamInfo::Kind;
  const auto send = [this](const QString& value) {
    if (!m_showing) Q_EMIT edited(value);
  };
  switch (m_info.kind) {
    case Kind::choice: {
      auto* box = new QComboBox(form);
      giveWay(*box);
      for (const std::string& c : m_info.choices) box->addItem(text(c));
      for (const auto& [word, help] : m_info.described) box->setItemData(box->findText(text(word)), text(help), Qt::ToolTipRole);
      connect(box, &QComboBox::currentTextChanged, this, send);
      return box;
    }
    case Kind::count: {
      auto* box = new QSpinBox(form);
      const int low = static_cast<int>(std::max(m_info.min, -2e9)), high = static_cast<int>(std::min(m_info.max, 2e9));
      const bool has_default = !m_info.default_text.empty();
      box->setRange(has_default ? low : low - 1, high);
      if (!has_default) box->setSpecialValueText("automatic");
      box->setSingleStep(m_info.odd ? 2 : 1);
      box->setCorrectionMode(QAbstractSpinBox::CorrectToNearestValue);
      watchTyping(*box);
      connect(box, &QSpinBox::valueChanged, this, [this, box, send, has_default](int v) {
        if (m_info.odd && v % 2 == 0) return;  // half typed
        send(!has_default && v == box->minimum() ? QString() : QString::number(v));
      });
      return box;
    }
    case Kind::number: {
      auto* box = new PlainNumberBox(form);
      box->setDecimals(6);
      box->setRange(m_info.min, m_info.max);
      box->setSingleStep(m_info.max - m_info.min <= 5 ? 0.05 : std::pow(10, std::floor(std::log10(m_info.max - m_info.min)) - 1));
      watchTyping(*box);
      connect(box, &QDoubleSpinBox::valueChanged, this, [send](double v) { send(numberText(v)); });
      return box;
    }
    case Kind::count_or_fraction:
    case Kind::text:
      break;
  }
  auto* line = new QLineEdit(form);
  line->setPlaceholderText(m_info.default_text.empty() ? "not set" : text(m_info.default_text));
  if (!m_info.choices.empty()) {  // words that are known beside free text
    QStringList words;
    for (const std::string& c : m_info.choices) words << text(c);
    line->setCompleter(new QCompleter(words, line));
  }
  connect(line, &QLineEdit::textEdited, this, [this](const QString& value) { Q_EMIT typed(value.trimmed()); });
  connect(line, &QLineEdit::editingFinished, this, [line, send] {
    if (line->isModified()) send(line->text().trimmed());
    line->setModified(false);
  });
  return line;
}

void ParamEditor::watchTyping(QAbstractSpinBox& box) {
  connect(box.findChild<QLineEdit*>(), &QLineEdit::textEdited, this, [this] { m_typing = true; });
  connect(&box, &QAbstractSpinBox::editingFinished, this, [this] { m_typing = false; });
}

/// The answer to "0." must not take the place of a "0.55" that is being typed.
bool ParamEditor::typing() const { return m_typing && m_widget->hasFocus(); }

/// What was typed is the run's already, or is being typed: only that is the field's own to take back.
bool ParamEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride || !isUndoKey(*static_cast<QKeyEvent*>(event))) return false;
  if (const auto* line = qobject_cast<QLineEdit*>(watched); line && line->isModified()) return false;
  m_typing = false;
  event->ignore();
  return true;
}

void ParamEditor::show(const std::string& given, const std::string& in_force) {
  const std::string& asked = given.empty() ? m_info.default_text : given;
  const bool numeric = m_info.kind == ParamInfo::Kind::count || m_info.kind == ParamInfo::Kind::count_or_fraction;
  const bool counted = numeric && !asked.empty() && asked.find('.') == std::string::npos;  // a fraction becomes a count in every run
  const bool other = counted && !in_force.empty() && !sameValue(m_info, asked, in_force);
  const bool less = other && text(in_force).toInt() < text(asked).toInt();
  QString words;
  if (other) words = text(in_force) + (less ? " in force: budget or text has no room for more" : " in force");
  if (std::exchange(m_in_force, words) != words) say();
  const bool refused = !refusal().isEmpty() && given == m_given;
  if (refused && !qobject_cast<QComboBox*>(m_widget)) return;  // what was typed stays, to be put right
  if (!refused) refuse({});
  m_given = given;
  m_showing = true;
  if (auto* combo = qobject_cast<QComboBox*>(m_widget)) {
    combo->setCurrentText(text(asked));
  } else if (auto* spin = qobject_cast<QSpinBox*>(m_widget)) {
    if (!typing()) spin->setValue(asked.empty() ? spin->minimum() : text(asked).toInt());
  } else if (auto* number = qobject_cast<QDoubleSpinBox*>(m_widget)) {
    if (!typing()) number->setValue(text(asked).toDouble());
  } else if (auto* line = qobject_cast<QLineEdit*>(m_widget)) {
    if (line->text() != text(asked) && !(line->hasFocus() && line->isModified())) line->setText(text(asked));
  }
  m_changed = !given.empty() && !sameValue(m_info, given, m_info.default_text);
  QFont font = m_name->font();
  font.setBold(m_changed);
  m_name->setFont(font);
  m_reset->setVisible(m_changed);
  m_showing = false;
}

}  // namespace kvscope
