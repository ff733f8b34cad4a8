// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_caption.h"

#include <algorithm>
#include <cmath>

#include <QAccessible>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QStyle>
#include <QToolButton>

#include "app/window/commands/commands.h"
#include "app/window/lecture/lecture_guide.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr double kDot = 6, kLong = 17, kDotGap = 6;  // px at 100 %
constexpr double kWords = 17.5, kHeight = 92;        // type of the caption; three lines of it
constexpr int kLines = 3;
constexpr double kName = 215;  // the most of a lesson's name, and of what leads to the next one

QString keyCap(const viz::Theme& theme, const QString& key, int pixels) {
  return QString("<span style='background:%1;font-family:\"Noto Sans Mono\",\"DejaVu Sans Mono\";font-size:%2px'>&nbsp;%3&nbsp;</span>")
      .arg(toColor(theme.raised).name())
      .arg(pixels)
      .arg(key);
}

/// A number stays with its unit: "84.3" at the end of a line is another number.
QString onOneLine(const std::string& words) {
  static const QRegularExpression before_unit("(?<=[0-9]) (?=%|[KMG]iB|nats)");
  return qs(words).toHtmlEscaped().replace(before_unit, QString(QChar::Nbsp));
}

}  // namespace

SceneDots::SceneDots(LectureGuide& guide, Workspace& workspace, QWidget* parent) : QWidget(parent), m_guide(guide), m_workspace(workspace) {
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  const auto refresh = [this] {
    const int i = m_guide.scene();
    if (i < m_guide.nScenes())
      setAccessibleName(QString("scene %1 of %2: %3").arg(i + 1).arg(m_guide.nScenes()).arg(qs(m_guide.at(i).name)));
    updateGeometry();
    update();
  };
  connect(&guide, &LectureGuide::sceneChanged, this, refresh);
  setToolTip("Scenes: Page Down, Page Up");
  refresh();
}

QSize SceneDots::sizeHint() const {
  const int n = std::max(1, m_guide.nScenes());
  return {(n - 1) * (px(*this, kDot) + px(*this, kDotGap)) + px(*this, kLong) + 2 * px(*this, 2), px(*this, kDot + 8)};
}

QRect SceneDots::rectOf(int scene) const {
  int x = px(*this, 2);
  for (int i = 0; i < m_guide.nScenes(); ++i) {
    const int w = px(*this, i == m_guide.scene() ? kLong : kDot);
    if (i == scene) return {x, (height() - px(*this, kDot)) / 2, w, px(*this, kDot)};
    x += w + px(*this, kDotGap);
  }
  return {};
}

void SceneDots::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  for (int i = 0; i < m_guide.nScenes(); ++i) {
    const QRectF dot = rectOf(i);
    const bool now = i == m_guide.scene();
    painter.setPen(Qt::NoPen);
    painter.setBrush(toColor(now ? theme.accent : theme.line));
    painter.drawRoundedRect(dot, dot.height() / 2, dot.height() / 2);
    if (now && hasFocus()) {
      painter.setPen(QPen(toColor(theme.text), px(*this, 1)));
      painter.setBrush(Qt::NoBrush);
      painter.drawRoundedRect(dot.adjusted(-2, -2, 2, 2), dot.height() / 2 + 2, dot.height() / 2 + 2);
    }
  }
}

void SceneDots::mousePressEvent(QMouseEvent* event) {
  for (int i = 0; i < m_guide.nScenes(); ++i) {
    const int reach = px(*this, kDotGap / 2);
    if (rectOf(i).adjusted(-reach, -height(), reach, height()).contains(event->position().toPoint())) return m_guide.goTo(i);
  }
}

void SceneDots::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return m_guide.previous();
    case Qt::Key_Right:
      return m_guide.next();
    case Qt::Key_Home:
      return m_guide.goTo(0);
    case Qt::Key_End:
      return m_guide.goTo(m_guide.nScenes() - 1);
    default:
      QWidget::keyPressEvent(event);
  }
}

void SceneDots::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) updateGeometry();
}

LectureCaption::LectureCaption(LectureGuide& guide, Workspace& workspace, QWidget* parent)
    : QFrame(parent),
      m_guide(guide),
      m_workspace(workspace),
      m_words(new QLabel(this)),
      m_where(new QLabel(this)),
      m_keys(new QLabel(this)),
      m_lessons(new QToolButton(this)),
      m_back(new QPushButton("Back to mine", this)),
      m_next(new QPushButton(this)),
      m_dots(new SceneDots(guide, workspace, this)) {
  setObjectName("lectureCaption");
  m_words->setWordWrap(true);
  m_words->setTextFormat(Qt::RichText);
  m_words->setAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_words->setAccessibleName("Caption");
  m_words->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_where->setObjectName("lectureSmall");
  m_lessons->setObjectName("lectureSmall");
  m_lessons->setPopupMode(QToolButton::InstantPopup);
  m_lessons->setAccessibleName("Lessons");
  m_back->setObjectName("chipActive");
  m_back->setToolTip("End the lesson: your own text, runs and place come back");
  m_back->hide();
  connect(m_back, &QPushButton::clicked, this, &LectureCaption::backRequested);
  m_next->setObjectName("link");
  m_next->setAccessibleName("Next lesson");
  m_next->setCursor(Qt::PointingHandCursor);
  m_next->hide();
  connect(m_next, &QPushButton::clicked, this, &LectureCaption::nextRequested);
  m_keys->setObjectName("lectureSmall");
  m_keys->setTextFormat(Qt::RichText);
  auto* right = new QVBoxLayout;
  right->addStretch(1);
  right->addWidget(m_lessons, 0, Qt::AlignLeft);
  right->addWidget(m_dots, 0, Qt::AlignLeft);
  auto* scene = new QHBoxLayout;
  scene->addWidget(m_where);
  scene->addWidget(m_next);
  scene->addWidget(m_keys);
  scene->addStretch(1);
  right->addLayout(scene);
  right->addWidget(m_back, 0, Qt::AlignLeft);
  right->addStretch(1);
  auto* row = new QHBoxLayout(this);
  row->addWidget(m_words, 1);
  row->addLayout(right);
  m_words->installEventFilter(this);
  connect(&guide, &LectureGuide::captionChanged, this, [this] { refresh(); });
  connect(&workspace, &Workspace::themeChanged, this, [this] { refresh(); });
  applyType();
}

int LectureCaption::lines() const {
  constexpr int kOneLine = 100000;  // wide enough for any caption
  return static_cast<int>(std::lround(1.0 * m_words->heightForWidth(m_words->width()) / std::max(1, m_words->heightForWidth(kOneLine))));
}

void LectureCaption::setLessons(QMenu* menu) { m_lessons->setMenu(menu); }

void LectureCaption::setNext(const QString& lesson) {
  m_next_name = lesson;
  refresh();
}

void LectureCaption::setAside(bool on) { m_back->setVisible(on); }

QString LectureCaption::text() const {
  const Caption caption = m_guide.caption();
  return qs(caption.message + ' ' + caption.text).trimmed();
}

void LectureCaption::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange && !m_applying) applyType();
}

bool LectureCaption::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_words && event->type() == QEvent::Resize) refresh();
  return QFrame::eventFilter(watched, event);
}

void LectureCaption::applyType() {
  m_applying = true;
  setFixedHeight(px(*this, kHeight));
  auto* row = static_cast<QHBoxLayout*>(layout());
  row->setContentsMargins(px(*this, 17), px(*this, 2), px(*this, 17), px(*this, 2));
  row->setSpacing(px(*this, 24));
  row->itemAt(1)->layout()->setSpacing(px(*this, 2));
  m_applying = false;
  refresh();
}

/// Of a longer one than there is room for the beginning; all of it under the mouse.
void LectureCaption::setWords(const Caption& caption) {
  const auto words = [&](const std::string& text) {
    return QString("<p style='font-size:%1px;line-height:118%;margin:0'><b>%2</b> %3</p>")
        .arg(px(*this, kWords))
        .arg(onOneLine(caption.message), onOneLine(text));
  };
  const std::pair now(words(caption.text), m_words->width());
  if (m_set == now) return;
  const bool others = m_set.first != now.first;
  m_set = now;
  m_words->setText(now.first);
  std::string rest = caption.text;
  for (std::size_t end = rest.rfind(' '); lines() > kLines && end != std::string::npos; end = rest.rfind(' ')) {
    rest.resize(end);
    m_words->setText(words(rest + " …"));
  }
  m_words->setToolTip(rest == caption.text ? QString() : text());
  if (!others) return;
  m_words->setAccessibleName(text());
  QAccessibleEvent said(m_words, QAccessible::NameChanged);
  QAccessible::updateAccessibility(&said);
}

void LectureCaption::refresh() {
  if (!isVisible()) return;
  const Caption caption = m_guide.caption();
  const viz::Theme& theme = m_workspace.theme();
  setWords(caption);
  const int small = px(*this, 16);
  const bool begins = m_guide.scene() == 0 && m_guide.lesson().staged();  // paging leads here from the lesson before
  const QString where = QString("Scene %1 of %2").arg(m_guide.scene() + 1).arg(m_guide.nScenes());
  m_where->setText(begins ? QString("New: 1 of %1").arg(m_guide.nScenes()) : where);  // the dots say which scene it is
  const QString lesson = qs(m_guide.lesson().name);
  m_lessons->ensurePolished();
  m_lessons->setText(asLabel(m_lessons->fontMetrics().elidedText(lesson, Qt::ElideRight, px(*this, kName))));
  m_lessons->setToolTip(lesson + ": choose another lesson");
  m_where->setAccessibleName(QString("%1, %2").arg(lesson, where));
  const bool last = m_guide.scene() + 1 >= m_guide.nScenes();
  const bool on = last && !m_next_name.isEmpty();
  m_next->setVisible(on);
  m_where->setVisible(!on);  // the dots say that it is the last one
  if (on) {
    const QFontMetrics metrics = m_next->fontMetrics();
    const int key = QFontMetrics(m_keys->font()).horizontalAdvance("   N   ");
    const int room = px(*this, kName) - key;
    const QString long_words = "Next: " + m_next_name;
    m_next->setText(
        asLabel(metrics.horizontalAdvance(long_words) <= room ? long_words : metrics.elidedText("→ " + m_next_name, Qt::ElideRight, room)));
    m_next->setToolTip(QString(m_guide.lesson().staged() ? "Next lesson: %1 (Page Down, N)" : "Next lesson: %1 (N)").arg(m_next_name));
    m_next->setAccessibleName(m_next->toolTip());
  }
  const bool own = !m_guide.lesson().staged();  // paging does not lead away from the user's text
  m_keys->setText(keyCap(theme, on && own ? "N" : last && !on ? "Esc" : "PgDn", small));
  m_keys->setAccessibleName(on && own ? "N: the next lesson"
                            : on      ? "Page Down: the next lesson"
                            : last    ? "Esc: leaves the lecture"
                                      : "Page Down: the next scene");
}

}  // namespace kvscope
