// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_panel_card.h"

#include <algorithm>

#include <QEvent>
#include <QGridLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QToolTip>
#include <QVBoxLayout>

#include "app/window/panels/policy/policy_panel_allocation.h"
#include "app/window/panels/policy/policy_panel_facts.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kVotes = 44;  // px at 100 %: where the second bar's words begin

/// A thin line between parts of the card, in the theme's colour.
class Divider : public QWidget {
 public:
  Divider(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) { setFixedHeight(1); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.fillRect(rect(), toColor(m_workspace.theme().line));
  }

 private:
  Workspace& m_workspace;
};

void setInk(QLabel& label, viz::Rgb ink, const QFont& font) {
  label.setStyleSheet(QString("color: %1; background: transparent;").arg(toColor(ink).name()));
  label.setFont(font);  // after the sheet, which resets it
}

QLabel* selectableLabel(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setWordWrap(true);
  label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  return label;
}

}  // namespace

// ---- bars

BudgetBars::BudgetBars(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName("budget and votes");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged}) connect(&workspace, signal, this, &BudgetBars::refresh);
  refresh();
}

std::vector<BudgetBars::Part> BudgetBars::parts() const {
  const BudgetFacts budget = budgetFacts(m_workspace);
  std::vector<Part> out;
  for (const Part& part : {Part{budget.sinks, Category::sink, "sinks"}, Part{budget.heavy, Category::kept, budget.heavy_name},
                           Part{budget.recent, Category::recent, "recent"}})
    if (budget.known && part.n > 0) out.push_back(part);
  return out;
}

/// A narrow bar has no room for the names of its parts.
void BudgetBars::refresh() {
  QStringList words;
  for (const Part& part : parts()) words << QString("%1 %2").arg(part.name, qs(viz::format_mean(part.n)));
  setToolTip(words.isEmpty() ? QString() : "slots of a head: " + words.join(", "));
  setAccessibleDescription(toolTip());
  update();
}

QString BudgetBars::helpAt(const QPoint& at) const {
  const VotesFacts votes = votesFacts(m_workspace);
  if (!votes.known || at.y() < px(*this, kVotes)) return toolTip();
  return QString(
             "%1: %2\nEvery token that was seen has one vote. A slot has those of all tokens that were merged into it;\n"
             "the vote of a token that was evicted is lost: nothing stands for it.")
      .arg(votes.title, votes.words);
}

bool BudgetBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), helpAt(help->pos()), this);
  return true;
}

QSize BudgetBars::sizeHint() const { return {px(*this, 320), px(*this, 76)}; }

void BudgetBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const viz::Theme& theme = m_workspace.theme();
  const QColor text = toColor(theme.text), secondary = toColor(theme.secondary);
  const auto u = [this](double v) { return px(*this, v); };
  const BudgetFacts budget = budgetFacts(m_workspace);
  const VotesFacts votes = votesFacts(m_workspace);
  if (!budget.known) {
    painter.setFont(typeFont(*this, Type::control));
    painter.setPen(secondary);
    painter.drawText(
        rect(), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap,
        m_workspace.snapshot().phase == RunPhase::computing ? "The text is being read." : "Run a prompt to see how slots are used.");
    return;
  }
  painter.setOpacity(1 - m_workspace.dim());
  const auto heading = [&](int y, const QString& left, const QString& right) {
    painter.setFont(typeFont(*this, Type::body));
    const int right_width = std::min(width() * 3 / 4, painter.fontMetrics().horizontalAdvance(right) + 4);
    painter.setPen(secondary);
    paintLine(painter, QRect(0, y, width() - right_width - u(6), u(18)), Qt::AlignLeft, left);
    painter.setPen(text);
    paintLine(painter, QRect(width() - right_width, y, right_width, u(18)), Qt::AlignRight, right);
  };
  const auto hollow = [&](const QRectF& area) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(toColor(theme.evicted_outline), 1));
    painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), u(2), u(2));
  };

  heading(0, budget.title, budget.words);
  const double whole = std::max({budget.used(), budget.asked, 1.0});
  const double bar_height = u(15);
  double x = 0;
  for (const Part& part : parts()) {
    const double w = width() * part.n / whole;
    const QRectF area(x, u(20), std::max(1.0, w - 2), bar_height);
    const QColor fill = toColor(theme.category[static_cast<std::size_t>(part.category)]);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(area, u(2), u(2));
    painter.setFont(typeFont(*this, Type::caption));
    // The tooltip has what finds no room here.
    const QString n = qs(viz::format_mean(part.n)), words = QString("%1 %2").arg(part.name, n);
    const auto fits = [&](const QString& s, double around) { return painter.fontMetrics().horizontalAdvance(s) + around <= area.width(); };
    painter.setPen(inkOn(theme, fill));
    if (fits(words, u(10)))
      painter.drawText(area.adjusted(u(6), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, words);
    else if (fits(part.name, u(4)) || fits(n, u(4)))
      painter.drawText(area, Qt::AlignCenter, fits(part.name, u(4)) ? part.name : n);
    x += w;
  }
  if (x < width() - 2) hollow(QRectF(x, u(20), width() - x, bar_height));

  const QFontMetrics metrics(typeFont(*this, Type::body));
  heading(u(kVotes), votes.title, fitting(metrics, width() - metrics.horizontalAdvance(votes.title) - u(10), {votes.words, votes.brief}));
  const long long seen = votes.in_slots + votes.lost;
  const double kept = seen > 0 ? width() * static_cast<double>(votes.in_slots) / static_cast<double>(seen) : 0;
  painter.setPen(Qt::NoPen);
  painter.setBrush(toColor(theme.category[static_cast<std::size_t>(Category::kept)]));
  const double y = u(64), thin = u(9);
  if (kept > 0) painter.drawRoundedRect(QRectF(0, y, std::max(1.0, votes.lost > 0 ? kept - 2 : kept), thin), u(2), u(2));
  if (votes.lost > 0) hollow(QRectF(kept, y, width() - kept, thin));
}

// ---- card

PolicyCard::PolicyCard(Workspace& workspace, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_bars(new BudgetBars(workspace, this)), m_allocation(new AllocationCurve(workspace, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(7);
  column->addWidget(m_bars);
  column->addWidget(m_allocation);
  column->addWidget(new Divider(workspace, this));
  m_grid = new QGridLayout;
  m_grid->setHorizontalSpacing(12);
  m_grid->setVerticalSpacing(2);
  m_grid->setColumnStretch(1, 1);
  column->addLayout(m_grid);
  column->addWidget(new Divider(workspace, this));
  m_idea = selectableLabel(this);
  column->addWidget(m_idea);
  setAccessibleName("policy card");
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::selectionChanged, &Workspace::dimmedChanged}) {
    connect(&workspace, signal, this, [this] { refresh(); });
  }
  connect(&workspace, &Workspace::themeChanged, this, [this] { applyStyle(); });
  refresh();
  applyStyle();
}

void PolicyCard::refresh() {
  const std::vector<CardFact> facts = cardFacts(m_workspace);
  bool restyle = m_rows.size() < facts.size();
  while (m_rows.size() < facts.size()) {
    auto* name = new QLabel(this);
    name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    auto* value = selectableLabel(this);
    const int row = static_cast<int>(m_rows.size());
    m_grid->addWidget(name, row, 0);
    m_grid->addWidget(value, row, 1);
    m_rows.emplace_back(name, value);
    m_alert.push_back(false);
  }
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    const bool used = i < facts.size();
    m_rows[i].first->setVisible(used);
    m_rows[i].second->setVisible(used);
    if (!used) continue;
    m_rows[i].first->setText(facts[i].name);
    m_rows[i].second->setText(facts[i].value);
    m_rows[i].second->setAccessibleName(facts[i].name + ": " + facts[i].value);
    for (QLabel* label : {m_rows[i].first, m_rows[i].second}) label->setToolTip(facts[i].details);
    if (m_alert[i] != facts[i].alert) restyle = true;
    m_alert[i] = facts[i].alert;
  }
  const bool known = budgetFacts(m_workspace).known;  // before the first step the sentence stands alone
  m_allocation->setVisible(known);
  for (QWidget* child : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    if (dynamic_cast<Divider*>(child)) child->setVisible(known);
  m_idea->setText(policyIdea(m_workspace));
  m_bars->setAccessibleDescription(budgetFacts(m_workspace).words + "; " + votesFacts(m_workspace).words);
  m_bars->update();
  if (restyle) applyStyle();
}

void PolicyCard::applyStyle() {
  m_styling = true;
  const viz::Theme& theme = m_workspace.theme();
  const QFont body = typeFont(*this, Type::body);
  m_grid->setColumnMinimumWidth(0, px(*this, 72));
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    setInk(*m_rows[i].first, m_alert[i] ? theme.accent : theme.secondary, body);
    setInk(*m_rows[i].second, theme.text, body);
  }
  setInk(*m_idea, theme.disabled, body);
  for (auto* divider : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) divider->update();
  m_styling = false;
}

void PolicyCard::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && !m_styling && m_idea) applyStyle();
}

}  // namespace kvscope
