// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_panel.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/panels/effect/head_effect.h"
#include "app/window/panels/policy/head_keys_form.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/policy/policy_panel_card.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

/// Ends where words of the card end, the first of two lines reads like the whole: the curve gives some of its height for that, else those
/// words have to be scrolled to.
class WholeWords final : public QScrollArea {
 public:
  using QScrollArea::QScrollArea;
  /// below: what stands under the card, where it is shown.
  void keepWhole(PolicyCard* card, QWidget* below) {
    m_card = card;
    m_below = below;
    for (QWidget* w : {static_cast<QWidget*>(card), static_cast<QWidget*>(this), static_cast<QWidget*>(&card->allocation())})
      w->installEventFilter(this);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this] { fit(); });
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) QTimer::singleShot(0, this, [this] { fit(); });
    return QScrollArea::eventFilter(watched, event);
  }

 private:
  void fit() {
    AllocationCurve& curve = m_card->allocation();
    const int room = height(), given = curve.given();
    int over = 0, end = room;  // with the whole curve; as it is
    const auto look = [&](const QWidget& part, int moved, int lost) {
      const int top = part.mapTo(widget(), QPoint()).y(), bottom = top + part.height();
      if (!part.isVisible()) return;
      if (top + moved < room && bottom + moved + lost > room) over = std::max(over, bottom + moved + lost - room);
      if (&part != &curve && top < room && bottom > room) end = std::min(end, top);
    };
    look(curve, 0, given);
    for (const QLabel* words : m_card->findChildren<QLabel*>(Qt::FindDirectChildrenOnly)) look(*words, given, 0);
    curve.give(over <= px(curve, AllocationCurve::kMostGiven) ? over : 0);
    const bool below = m_below->isVisible() && verticalScrollBar()->value() > 0;  // the end of the card is not the end of what is seen
    setViewportMargins(0, 0, 0, below ? 0 : room - end);
  }

  PolicyCard* m_card = nullptr;
  QWidget* m_below = nullptr;
};

}  // namespace

PolicyPanel::PolicyPanel(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_scroll(new WholeWords(this)),
      m_card(new PolicyCard(workspace, this)),
      m_disclosure(new QToolButton(this)),
      m_parameters(new QWidget(this)),
      m_form(new PolicyForm(workspace, controller, m_parameters)),
      m_head_keys(new HeadKeysForm(workspace, controller, m_parameters)),
      m_effect(new HeadEffect(workspace, controller, this)),
      m_presets(new PresetButton(controller, *m_form, this)) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);
  // Names first: the style sheet looks at them only once. The button stays in sight however short the panel is.
  m_disclosure->setObjectName("headerText");
  outer->addWidget(m_scroll, 1);
  auto* edge = new QFrame(this);  // what goes on under it can be scrolled to
  edge->setObjectName("separator");
  edge->setFixedHeight(1);
  outer->addWidget(edge);
  m_effect->setContentsMargins(12, 4, 12, 0);  // beside what changes heads, wherever that is scrolled to
  outer->addWidget(m_effect);
  auto* bottom = new QHBoxLayout;
  bottom->setContentsMargins(6, 2, 12, 4);
  bottom->addWidget(m_disclosure);
  bottom->addStretch(1);
  bottom->addWidget(m_presets);
  outer->addLayout(bottom);
  auto* content = new QWidget;
  content->setMinimumWidth(1);  // as wide as what is seen: a wider one is scrolled sideways by whoever gives one of its fields the keyboard
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(12, 8, 12, 8);
  column->setSpacing(6);
  column->addWidget(m_card);
  auto* forms = new QVBoxLayout(m_parameters);
  forms->setContentsMargins(0, 0, 0, 0);
  forms->setSpacing(6);
  forms->addWidget(m_form);
  forms->addWidget(m_head_keys);
  column->addWidget(m_parameters);
  column->addStretch(1);
  m_scroll->setWidget(content);
  m_scroll->setWidgetResizable(true);
  m_scroll->setFrameShape(QFrame::NoFrame);
  m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_scroll->setFocusPolicy(Qt::NoFocus);
  static_cast<WholeWords*>(m_scroll)->keepWhole(m_card, m_parameters);

  m_disclosure->setToolButtonStyle(Qt::ToolButtonTextOnly);
  m_disclosure->setCheckable(true);
  m_disclosure->setAccessibleName("parameters of the policy");
  connect(m_disclosure, &QToolButton::toggled, this, [this](bool shown) {
    setParametersShown(shown);
    if (shown)
      QTimer::singleShot(0, this,
                         [this] { m_scroll->verticalScrollBar()->setValue(m_parameters->mapTo(m_scroll->widget(), QPoint()).y()); });
  });
  connect(m_form, &PolicyForm::changed, this, [this] {
    setParametersShown(parametersShown());
    focusWanted();
  });
  // What the results say above it must not push the field away that one was led to.
  connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] {
    if (m_led_to && m_led_to->isAncestorOf(QApplication::focusWidget())) bringIntoSight(*m_led_to);
  });
  connect(&workspace, &Workspace::snapshotChanged, this, &PolicyPanel::factsChanged);
  connect(&workspace, &Workspace::selectionChanged, this, &PolicyPanel::factsChanged);
  setFocusProxy(m_disclosure);
  setParametersShown(false);
}

void PolicyPanel::focusField(const QString& run, const QString& key) {
  m_wanted_run = run;
  m_wanted_key = key;
  focusWanted();
}

void PolicyPanel::focusWanted() {
  if (m_wanted_key.isEmpty() || qs(m_form->spec().text) != m_wanted_run) return;
  ParamEditor* const field = m_form->field(std::exchange(m_wanted_key, {}).toStdString());
  if (field == nullptr) return;
  m_led_to = field->widget();
  // Once it has its place.
  QTimer::singleShot(0, field->widget(), [widget = field->widget()] {
    bringIntoSight(*widget);
    widget->setFocus(Qt::ShortcutFocusReason);
  });
}

QString PolicyPanel::facts() const { return m_workspace.lane() ? qs(m_workspace.lane()->title) : QString(); }

bool PolicyPanel::parametersShown() const { return m_disclosure->isChecked(); }

void PolicyPanel::setParametersShown(bool shown) {
  m_disclosure->setChecked(shown);
  m_parameters->setVisible(shown);
  QString words = shown ? "▾ Parameters" : "▸ Parameters";
  if (const int n = m_form->nChanged(); n > 0) words += QString(" · %1 changed").arg(n);
  m_disclosure->setText(words);
}

}  // namespace kvscope
