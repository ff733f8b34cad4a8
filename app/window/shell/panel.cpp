// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/panel.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QStyleOption>
#include <QToolButton>

#include "app/window/commands/commands.h"
#include "app/window/look/style.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/theme.h"

namespace kvscope {

ElidedLabel::ElidedLabel(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); }

void ElidedLabel::setText(const QString& text) {
  if (text == m_text) return;
  m_text = text;
  setToolTip(text);
  setAccessibleName(text);
  updateGeometry();
  update();
}

QSize ElidedLabel::sizeHint() const { return {fontMetrics().horizontalAdvance(m_text) + 2, fontMetrics().height()}; }

QSize ElidedLabel::minimumSizeHint() const { return {0, fontMetrics().height()}; }

QString ElidedLabel::shown() const { return factsThatFit(fontMetrics(), width(), m_text); }

void ElidedLabel::paintEvent(QPaintEvent*) {
  ensurePolished();
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, shown());
}

namespace {

/// Where it yields, it is as narrow as its place: a dock would be as wide as its header asks, and lie over the panels beside it.
class Header final : public QFrame {
 public:
  explicit Header(bool yields) : m_yields(yields) {}
  QSize minimumSizeHint() const override { return m_yields ? QSize(1, kPanelHeader) : QFrame::minimumSizeHint(); }

 private:
  bool m_yields;
};

/// Opened now and then, in a column that others have made.
bool isGuest(const viz::Place& place) { return place.kind == viz::Place::Kind::tab; }

}  // namespace

Panel::Panel(const QString& id, const QString& title, QWidget* content, const viz::Place& place, QObject* parent)
    : QObject(parent), m_id(id), m_place(place), m_content(content), m_header(new Header(isGuest(place))), m_body(new QFrame) {
  setObjectName("panel_" + id);
  m_header->setObjectName("panelHeader");
  m_header->setFixedHeight(kPanelHeader);
  m_body->setObjectName("panelBody");
  m_title = new QLabel(title, m_header);
  m_title->setObjectName("panelTitle");
  m_facts = new ElidedLabel(m_header);
  m_facts->setObjectName("facts");
  m_maximise = new QToolButton(m_header);
  m_maximise->setObjectName("header");
  m_maximise->setFocusPolicy(Qt::StrongFocus);
  m_maximise->setToolTip("Maximise this panel (F11)");
  m_maximise->setAccessibleName("Maximise " + title);
  connect(m_maximise, &QToolButton::clicked, this, &Panel::maximiseRequested);

  auto* row = new QHBoxLayout(m_header);
  row->setContentsMargins(12, 0, 8, 0);
  row->setSpacing(8);
  row->addStrut(kPanelHeader - 2);  // a dock asks the size hint, not the fixed height
  row->addWidget(m_title);
  m_leading = new QHBoxLayout;
  m_leading->setSpacing(4);
  row->addLayout(m_leading);
  m_badge = new QPushButton(m_header);
  m_badge->setObjectName("chipActive");
  m_badge->setLayoutDirection(Qt::RightToLeft);  // the cross stands behind the text
  m_badge->setIconSize(QSize(12, 12));
  m_badge->setAccessibleName("Range of steps");
  m_badge->hide();
  connect(m_badge, &QPushButton::clicked, this, &Panel::badgeClicked);
  row->addWidget(m_badge);
  row->addWidget(m_facts, 1);
  m_controls = new QHBoxLayout;
  m_controls->setSpacing(6);
  row->addLayout(m_controls);
  row->addWidget(m_maximise);

  auto* column = new QVBoxLayout(m_body);
  column->setContentsMargins(2, 0, 2, 2);  // inside of the border and its rounded corners
  column->setSpacing(0);
  column->addWidget(content);
}

QString Panel::title() const { return m_title->text(); }

void Panel::addControl(QWidget* control) { m_controls->addWidget(control); }

void Panel::addLeading(QWidget* widget) { m_leading->addWidget(widget); }

QToolButton* Panel::addButton(Icon which, const QString& help) {
  auto* button = new QToolButton(m_header);
  button->setObjectName("header");
  button->setToolTip(help);
  button->setAccessibleName(help);
  button->setFocusPolicy(Qt::StrongFocus);
  m_leading->addWidget(button);
  m_buttons.emplace_back(button, which);
  button->setIcon(icon(which, m_colour, m_disabled));
  return button;
}

void Panel::offerClose() {
  QToolButton* close = addButton(Icon::close, "Close this panel; Panels in the View menu opens it again");
  close->setAccessibleName("Close " + title());
  m_header->layout()->addWidget(close);  // behind the maximise button
  connect(close, &QToolButton::clicked, this, &Panel::closeRequested);
}

void Panel::setButtonIcon(QToolButton* button, Icon which) {
  for (auto& [known, shown] : m_buttons)
    if (known == button) shown = which;
  button->setIcon(icon(which, m_colour, m_disabled));
}

void Panel::setTitle(const QString& title) { m_title->setText(title); }

void Panel::setFacts(const QString& facts) { m_facts->setText(facts); }

void Panel::setBadge(const QString& text, const QString& help) {
  m_badge->setText(QString(QChar(0x200E)) + text + QChar(0x200E));
  m_badge->setAccessibleName(text.isEmpty() ? "Range of steps" : "Range of steps " + text);
  m_badge->setToolTip(help);
  m_badge->setVisible(!text.isEmpty());
}

void Panel::setMaximised(bool maximised) {
  m_maximised = maximised;
  m_maximise->setIcon(icon(maximised ? Icon::restore : Icon::maximise, m_colour, m_disabled));
  m_maximise->setToolTip(maximised ? "Back to all panels (F11)" : "Maximise this panel (F11)");
}

void Panel::applyTheme(const viz::Theme& theme) {
  m_colour = toColor(theme.secondary);
  m_disabled = toColor(theme.disabled);
  setMaximised(m_maximised);
  m_badge->setIcon(icon(Icon::close, toColor(theme.accent), m_disabled));
  for (const auto& [button, which] : m_buttons) button->setIcon(icon(which, m_colour, m_disabled));
}

QDockWidget* Panel::makeDock(QWidget* parent) {
  auto* dock = new QDockWidget(asLabel(title()), parent);  // in a menu and on a tab a single one marks a key
  dock->setObjectName("dock_" + m_id);
  dock->setTitleBarWidget(m_header);
  dock->setWidget(m_body);
  if (isGuest(m_place)) m_body->setMinimumSize(1, kPanelHeader);  // as its header
  dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
  return dock;
}

QWidget* Panel::makePage(QWidget* parent) {
  auto* page = new QWidget(parent);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_header);
  column->addWidget(m_body, 1);
  setMaximised(true);  // it has the whole page
  return page;
}

}  // namespace kvscope
