// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/crumb_sentence.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QFocusEvent>
#include <QLayout>
#include <QPainter>
#include <QStyle>
#include <QTextLayout>

#include "app/window/commands/commands.h"

namespace kvscope {

namespace {
constexpr QChar kEllipsis(0x2026);
const QString kMenu = QStringLiteral(" \u25be");  // ▾
}  // namespace

CrumbSentence::CrumbSentence(QWidget* row) : ElidedLabel(row) {
  row->installEventFilter(this);
  setSpoken(*this);
}

void CrumbSentence::fit() {
  // A left-to-right mark keeps a chip's own order inside the mirrored button.
  QLayout& row = *parentWidget()->layout();
  setFocusPolicy(text().isEmpty() ? Qt::NoFocus : Qt::TabFocus);
  // Words that came back while something is computed would move the buttons under the hand: they do where other things stand in the row.
  QString row_of = QString::number(parentWidget()->width()) + (wanted ? "w" : "");
  for (const auto& [of, full, words] : chips) row_of += of->isVisibleTo(parentWidget()) ? "1" : "0";
  for (const Question& question : questions) row_of += question.of->isVisibleTo(parentWidget()) ? "1" : "0";
  if (std::exchange(m_row_of, row_of) != row_of) m_brief = 0;
  for (int brief = m_brief; brief < 5; ++brief) {
    m_brief = brief;
    dispensable->setVisible(wanted && brief < 4);
    for (const auto& [of, full, words] : chips) of->setText(QChar(0x200E) + asLabel(brief > 0 ? words : full) + QChar(0x200E));
    for (const Question& question : questions)
      ask(question, brief < 2 ? question.full : brief < 3 ? question.brief : question.brief.first(1));
    row.invalidate();
    const int room = parentWidget()->width() - row.totalMinimumSize().width();
    if (fits(text(), room) && fits(foreseen, room)) break;
  }
  update();
}

QSize CrumbSentence::minimumSizeHint() const { return {0, 2 * fontMetrics().lineSpacing()}; }

QSize CrumbSentence::sizeHint() const { return {ElidedLabel::sizeHint().width(), minimumSizeHint().height()}; }

bool CrumbSentence::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) fit();
  return ElidedLabel::eventFilter(watched, event);
}

void CrumbSentence::focusInEvent(QFocusEvent* event) {
  const Qt::FocusReason why = event->reason();
  if (why != Qt::ActiveWindowFocusReason && why != Qt::PopupFocusReason)  // it has been there before
    m_ringed = why == Qt::TabFocusReason || why == Qt::BacktabFocusReason || why == Qt::ShortcutFocusReason;
  ElidedLabel::focusInEvent(event);
}

void CrumbSentence::paintEvent(QPaintEvent*) {
  ensurePolished();
  QPainter painter(this);
  if (hasFocus() && m_ringed) {
    painter.setPen(accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
  painter.setPen(palette().color(QPalette::WindowText));
  const QString shown = fits(text(), width())   ? bound(text())
                        : latest.isEmpty()      ? cutLines(text())
                        : fits(latest, width()) ? bound(latest)
                                                : cutLines(latest);
  painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap, shown);
}

QString CrumbSentence::bound(QString words) {
  for (const char* unit : {"%", "nats"}) words.replace(QString(" ") + unit, QChar(QChar::Nbsp) + QString(unit));
  return words;
}

QString CrumbSentence::cutLines(const QString& of) const {
  const QString words = bound(of);
  QTextLayout layout(words, font());
  layout.beginLayout();
  QTextLine first = layout.createLine();
  first.setLineWidth(width());
  layout.endLayout();
  const int end = first.textLength();
  QString second = fontMetrics().elidedText(words.mid(end), Qt::ElideRight, width());
  // A number that is cut would be another one.
  if (const qsizetype word = second.lastIndexOf(' '); second.endsWith(kEllipsis) && word > 0) second = second.left(word) + kEllipsis;
  return words.left(end).trimmed() + QChar::LineSeparator + second;
}

void CrumbSentence::setLines(QPushButton& button, bool two) {
  if (button.property("twoLines").toBool() == two) return;
  button.setProperty("twoLines", two);
  button.style()->unpolish(&button);
  button.style()->polish(&button);
}

void CrumbSentence::ask(const Question& question, const QStringList& may_say) {
  QPushButton& button = *question.of;
  int room = 0;
  setLines(button, false);
  for (const QString& words : may_say) {
    button.setText(asLabel(words));
    room = std::max(room, button.sizeHint().width());
  }
  QString shown;
  for (const QString& words : question.says) {
    setLines(button, words.contains('\n'));
    shown = question.menu ? words + kMenu : words;
    button.setText(asLabel(shown));
    if (button.sizeHint().width() <= room) break;
  }
  if (const int lack = button.sizeHint().width() - room; lack > 0)
    button.setText(
        asLabel(button.fontMetrics().elidedText(shown, Qt::ElideRight, std::max(0, button.fontMetrics().horizontalAdvance(shown) - lack))));
  button.setFixedWidth(room);
  button.setAccessibleName(QString(question.says.front()).replace('\n', ", "));
}

bool CrumbSentence::fits(const QString& words, int width) const {
  const QFontMetrics metrics = fontMetrics();
  if (metrics.horizontalAdvance(words) <= width) return true;
  const QRect lines = metrics.boundingRect(QRect(0, 0, std::max(1, width), 1000), Qt::TextWordWrap, bound(words));
  return lines.width() <= width && lines.height() <= 2 * metrics.lineSpacing();
}

}  // namespace kvscope
