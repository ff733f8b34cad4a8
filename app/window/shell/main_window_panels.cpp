// SPDX-License-Identifier: Apache-2.0
// The panels of the window and where they stand.
#include <algorithm>
#include <iterator>
#include <utility>

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStyle>
#include <QToolButton>

#include "app/window/panels/runs/bookmark_panel.h"
#include "app/window/shell/dock_area.h"
#include "app/window/panels/effect/effect_panel.h"
#include "app/window/help/glossary.h"
#include "app/window/shell/main_window.h"
#include "app/window/panels/policy/policy_panel.h"
#include "app/window/panels/policy/policy_presets.h"
#include "app/window/panels/policy/policy_panel_card.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/shell/rows.h"
#include "app/window/look/style.h"
#include "app/window/panels/runs/table_panel.h"
#include "app/window/shell/transport.h"
#include "policy/catalog.h"
#include "viz/draw/format.h"
#include "viz/reduce/range.h"

namespace kvscope {

namespace {

constexpr const char* kExtraDocks[] = {"table", "what_if", "bookmarks", "jobs"};  // what is opened now and then
constexpr int kLeastAtlas = 150, kLeastStrip = 120, kLeastTimeline = 156, kLeastExtra = 150;  // px with the header: below, words would stand on words

QComboBox* headerBox(const QString& name) {
  auto* box = new QComboBox;
  box->setObjectName("header");
  box->setAccessibleName(name);
  box->setToolTip(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  box->setFixedHeight(22);
  box->setMaximumWidth(212);
  box->setMinimumWidth(84);  // gives way before the panel has to
  return box;
}

QToolButton* headerButton(const QString& text, const QString& help) {
  auto* button = new QToolButton;
  button->setObjectName("headerText");
  button->setText(text);
  button->setToolTip(help);
  button->setAccessibleName(help);
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

QWidget* pageWithMargins(QWidget* content, QWidget* parent) {
  auto* page = new QWidget(parent);
  page->setObjectName("inspectArea");
  page->setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(kGutter, kGutter - 1, kGutter, kGutter);
  column->addWidget(content);
  return page;
}

}  // namespace

Panel* MainWindow::addPanel(const QString& id, const QString& title, QWidget* content) {
  auto* panel = new Panel(id, title, content, this);
  m_panels.push_back(panel);
  connect(panel, &Panel::badgeClicked, this, [this] { limitSteps(std::nullopt); });
  connect(panel, &Panel::maximiseRequested, this, [this, panel] { toggleMaximised(panel); });
  return panel;
}

Panel* MainWindow::addCanvasPanel(viz::View& view) {
  auto* canvas = new CanvasWidget(view, m_workspace, m_renderer.get(), m_no_pictures);
  m_canvases.push_back(canvas);
  Panel* panel = addPanel(view.id(), view.title(), canvas);
  connect(canvas, &CanvasWidget::factsChanged, this, [this] { refreshHeaders(); });
  connect(canvas, &CanvasWidget::openInspectorRequested, this, [this] { showPage(Page::inspector); });
  connect(canvas, &CanvasWidget::removeLaneRequested, &m_controller, &SessionController::removeLane);
  connect(canvas, &CanvasWidget::cancelRunRequested, &m_runs, &RunQueue::cancel);
  connect(canvas, &CanvasWidget::editRequested, &m_hand, [this](viz::EditTokens::What what) {
    using What = viz::EditTokens::What;
    using Kind = WhatIf::Kind;
    m_hand.edit(what == What::pin ? Kind::pin : what == What::evict ? Kind::evict : what == What::merge ? Kind::merge : Kind::restore);
  });
  connect(canvas, &CanvasWidget::measureWanted, &m_controller, &SessionController::want);
  connect(canvas, &CanvasWidget::budgetRequested, &m_hand, [this](int lane, int layer, int kv_head, int n) { m_hand.setBudget(lane, layer, kv_head, n); });
  connect(canvas, &CanvasWidget::focused, this, [this, canvas] {
    m_table->setSource(canvas->view().title(), [canvas] { return canvas->table(); });
  });
  addOptionBoxes(*panel, *canvas);
  return panel;
}

void MainWindow::addOptionBoxes(Panel& panel, CanvasWidget& canvas) {
  const std::vector<viz::Option> options = canvas.view().options();
  for (std::size_t i = 0; i < options.size(); ++i) {
    auto* box = headerBox(QString::fromStdString(options[i].name));
    for (const std::string& choice : options[i].choices) box->addItem(QString::fromStdString(choice));
    box->setCurrentIndex(options[i].current);
    connect(box, &QComboBox::activated, &canvas, [&canvas, i](int choice) {
      canvas.view().choose(i, choice);
      canvas.invalidate();
      Q_EMIT canvas.factsChanged();
    });
    // Keys of the canvas may choose too.
    connect(&canvas, &CanvasWidget::factsChanged, box, [box, &canvas, i] {
      const std::vector<viz::Option> now = canvas.view().options();
      if (i < now.size()) box->setCurrentIndex(now[i].current);
    });
    // Where the facts are the choice itself, the list is enough.
    if (canvas.facts() != box->currentText()) {
      auto* name = new QLabel(QString::fromStdString(options[i].name));
      name->setObjectName("facts");
      panel.addControl(name);
    }
    panel.addControl(box);
  }
}

void MainWindow::addHeadBox(Panel& panel) {
  auto* box = headerBox("Heads whose fates colour the text");
  box->setMaxVisibleItems(24);
  panel.addControl(box);
  const auto refresh = [this, box] {
    const ModelConfig& model = m_workspace.snapshot().model;
    const QSignalBlocker quiet(box);
    const int n = model.n_layers * model.n_kv_heads;
    if (box->count() != n + 1) {
      box->clear();
      box->addItem("all heads");
      for (int i = 0; i < n; ++i) box->addItem(QString("L%1 · H%2").arg(i / model.n_kv_heads).arg(i % model.n_kv_heads));
    }
    const viz::Selection& s = m_workspace.selection();
    box->setCurrentIndex(s.layer && s.kv_head ? *s.layer * model.n_kv_heads + *s.kv_head + 1 : 0);
  };
  connect(&m_workspace, &Workspace::snapshotChanged, box, refresh);
  connect(&m_workspace, &Workspace::selectionChanged, box, refresh);
  connect(box, &QComboBox::activated, this, [this](int index) {
    viz::Selection selection = m_workspace.selection();
    selection.layer.reset();
    selection.kv_head.reset();
    if (const int n = m_workspace.snapshot().model.n_kv_heads; index > 0 && n > 0) {
      selection.layer = (index - 1) / n;
      selection.kv_head = (index - 1) % n;
    }
    m_workspace.setSelection(selection);
  });
  refresh();
}

void MainWindow::buildPanels() {
  m_prompt = new PromptPanel(m_workspace, m_controller);
  auto* policy = m_policy = new PolicyPanel(m_workspace, m_controller);
  policy->presets().setSettings(m_settings.get());
  connectAllocation(policy->card().allocation());
  auto* effect = new EffectPanel(m_workspace, m_controller);
  m_table = new TablePanel(m_workspace, m_controller);
  Panel* prompt_panel = addPanel("prompt", "Prompt & output", m_prompt);
  Panel* policy_panel = addPanel("policy", "Policy & budget", policy);
  Panel* effect_panel = addPanel("effect", "Output effect", effect);
  Panel* table_panel = addPanel("table", "Data table", m_table);
  m_bookmark_panel = new BookmarkPanel(m_workspace, m_bookmarks);
  Panel* bookmark_panel = addPanel("bookmarks", "Bookmarks", m_bookmark_panel);
  connect(m_bookmark_panel, &BookmarkPanel::addRequested, this, &MainWindow::addBookmark);
  connect(m_bookmark_panel, &BookmarkPanel::goRequested, this, &MainWindow::goToBookmark);
  connect(&m_bookmarks, &Bookmarks::changed, this, [this] { m_workspace.setStepMarks(m_bookmarks.stepMarks()); });
  addWhatIfPanel();
  addJobsPanel();
  addHeadBox(*prompt_panel);
  const auto facts = [](auto* widget, Panel* panel) {
    QObject::connect(widget, &std::remove_pointer_t<decltype(widget)>::factsChanged, panel, [=] { panel->setFacts(widget->facts()); });
    panel->setFacts(widget->facts());
  };
  for (QWidget* w : {static_cast<QWidget*>(m_prompt), static_cast<QWidget*>(policy), static_cast<QWidget*>(effect)})
    w->setWhatsThis(Glossary::builtIn().aboutView(w == m_prompt ? "prompt" : w == policy ? "policy" : "effect"));
  facts(m_prompt, prompt_panel);
  facts(policy, policy_panel);
  facts(effect, effect_panel);
  facts(m_table, table_panel);
  facts(m_bookmark_panel, bookmark_panel);
  // Low as these panels are beside the others, every line of theirs is to show a row.
  table_panel->addControl(m_table->tools());
  bookmark_panel->addControl(m_bookmark_panel->tools());
  for (const auto& view : m_views) addCanvasPanel(*view);
  if (CanvasWidget* atlas = canvas("atlas")) m_table->setSource(atlas->view().title(), [atlas] { return atlas->table(); });
  if (Panel* timeline = panel("timeline")) {
    new Transport(*timeline, m_workspace, m_playback);  // its panel owns it
    connect(timeline->addButton(Icon::bookmark, "Bookmark this view (B, Ctrl+B)"), &QToolButton::clicked, this, &MainWindow::addBookmark);
  }
  if (Panel* strip = panel("head_strip")) {
    auto* open = headerButton("Inspector", "Open the inspector of this head (Enter)");
    connect(open, &QToolButton::clicked, this, [this] { showPage(Page::inspector); });
    strip->addControl(open);
  }
  if (Panel* compare = panel("compare")) {
    auto* add = headerButton("Add runs…", "Policies × budgets × seeds (Ctrl+R)");
    connect(add, &QToolButton::clicked, this, [this] { addRuns(); });
    compare->addControl(add);
  }

  buildInspect();
  addSweepPanel();
  for (const char* id : {"inspector", "compare", "sweep"}) {
    Panel* single = panel(id);
    m_pages->addWidget(pageWithMargins(single ? single->makePage(m_pages) : new QWidget, m_pages));
  }
}

void MainWindow::buildInspect() {
  auto* area = new DockArea;
  m_inspect = area;
  m_inspect->setWindowFlags(Qt::Widget);
  m_inspect->setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
  for (Panel* panel : m_panels)
    if (panel->id() != "inspector" && panel->id() != "compare" && panel->id() != "sweep") m_docks.push_back(area->take(panel->makeDock(area)));
  dock("head_strip")->setProperty(DockArea::kLeast, kLeastStrip);
  dock("timeline")->setProperty(DockArea::kLeast, kLeastTimeline);
  for (const char* id : kExtraDocks) {
    dock(id)->setProperty(DockArea::kLeast, kLeastExtra);
    panel(id)->offerClose();
    connect(panel(id), &Panel::closeRequested, this, [this, which = panel(id), extra = dock(id)] {
      if (m_maximised == which) toggleMaximised(which);
      extra->close();
    });
  }
  m_pages->addWidget(pageWithMargins(m_inspect, m_pages));
  arrangeDocks();
}

void MainWindow::arrangeDocks() {
  QDockWidget *prompt = dock("prompt"), *policy = dock("policy"), *atlas = dock("atlas"), *strip = dock("head_strip"),
              *timeline = dock("timeline"), *grid = dock("head_grid"), *effect = dock("effect"), *table = dock(kExtraDocks[0]);
  if (QWidget* page = m_inspect->parentWidget(); !page->isVisible()) {  // behind another page it has had no size yet
    page->resize(m_pages->size());
    page->layout()->setGeometry(page->rect());
  }
  for (QDockWidget* d : m_docks) {
    d->setFloating(false);
    m_inspect->removeDockWidget(d);
  }
  m_inspect->addDockWidget(Qt::LeftDockWidgetArea, prompt);
  m_inspect->splitDockWidget(prompt, atlas, Qt::Horizontal);
  m_inspect->splitDockWidget(atlas, grid, Qt::Horizontal);
  m_inspect->splitDockWidget(prompt, policy, Qt::Vertical);
  m_inspect->splitDockWidget(atlas, strip, Qt::Vertical);
  m_inspect->splitDockWidget(strip, timeline, Qt::Vertical);
  m_inspect->splitDockWidget(timeline, table, Qt::Vertical);
  m_inspect->splitDockWidget(grid, effect, Qt::Vertical);
  // One place for what is opened now and then: a tab each, as wide as the atlas.
  for (const char* id : kExtraDocks)
    if (dock(id) != table) m_inspect->tabifyDockWidget(table, dock(id));
  for (QDockWidget* d : m_docks) d->show();
  for (const char* id : kExtraDocks) dock(id)->hide();
  // 392 / 828 / 348 and the heights of the design at 1600 x 1000, in proportion elsewhere.
  m_inspect->resizeDocks({prompt, atlas, grid}, {392, 828, 348}, Qt::Horizontal);
  m_inspect->resizeDocks({prompt, policy}, {545, 295}, Qt::Vertical);
  m_inspect->resizeDocks({grid, effect}, {338, 502}, Qt::Vertical);
  shareHeights();
}

QDockWidget* MainWindow::dock(const char* id) const {
  for (QDockWidget* d : m_docks)
    if (d->objectName() == QString("dock_") + id) return d;
  return nullptr;
}

/// 450 / 180 / 202 at 1600 x 1000. In a lower window the atlas gives way first: its rows can be thinner, words cannot.
void MainWindow::shareHeights() {
  QList<QDockWidget*> docks = {dock("atlas")};
  QList<int> heights = {m_inspect->height()};
  const auto take = [&](QDockWidget* d, double share, int least) {
    docks << d;
    heights << std::max(least, static_cast<int>(share * m_inspect->height()));
    heights.front() -= heights.back() + kGutter;
  };
  const auto stands = [](const QDockWidget* d) { return !d->isHidden() && !d->isFloating(); };
  const auto* const extra = std::ranges::find_if(kExtraDocks, [&](const char* id) { return stands(dock(id)); });  // tabs of one place
  const bool four = extra != std::end(kExtraDocks);
  if (stands(dock("head_strip"))) take(dock("head_strip"), four ? 0.17 : 0.214, kLeastStrip);
  if (stands(dock("timeline"))) take(dock("timeline"), four ? 0.185 : 0.240, kLeastTimeline);
  if (four) take(dock(*extra), 0.27, kLeastExtra);
  heights.front() = std::max(1, heights.front());
  if (stands(docks.front())) m_inspect->resizeDocks(docks, heights, Qt::Vertical);
}

void MainWindow::openDock(QDockWidget& dock) {
  const bool was_open = dock.isVisible();
  // In a low window a fourth row would leave the atlas none of its own.
  const bool extra = std::ranges::any_of(kExtraDocks, [&](const char* id) { return &dock == this->dock(id); });
  const bool crowded = extra && m_inspect->height() < kLeastAtlas + kLeastStrip + kLeastTimeline + kLeastExtra + 3 * kGutter;
  if ((page() != Page::inspect || crowded) && !dock.isFloating()) {
    const QSize size(m_pages->width() / 2, m_pages->height() / 3);
    m_visiting.push_back(&dock);
    dock.setFloating(true);
    dock.setGeometry(QRect(m_pages->mapToGlobal(QPoint((m_pages->width() - size.width()) / 2, m_pages->height() - size.height() - kGutter)), size));
  }
  dock.show();
  dock.raise();
  if (dock.isFloating()) dock.activateWindow();
  if (!was_open && !dock.isFloating()) shareHeights();
}

Panel* MainWindow::panelWithFocus() const {
  const QWidget* const focus = QApplication::focusWidget();
  const auto has_it = [focus](const Panel* p) { return focus && (p->body()->isAncestorOf(focus) || p->header()->isAncestorOf(focus)); };
  const auto found = std::ranges::find_if(m_panels, has_it);
  return found == m_panels.end() ? nullptr : *found;
}

void MainWindow::goTo(Panel& panel) {
  QDockWidget* const of_panel = dock(panel.id().toUtf8().constData());
  showPage(of_panel ? Page::inspect : panel.id() == "inspector" ? Page::inspector : panel.id() == "compare" ? Page::compare : Page::sweep);
  if (m_maximised && m_maximised != &panel) toggleMaximised(m_maximised);
  if (of_panel) openDock(*of_panel);
  focusFirst(*panel.content());
}

void MainWindow::focusFirst(QWidget& in) {
  for (QWidget* w = &in; w; w = w->nextInFocusChain() == &in ? nullptr : w->nextInFocusChain()) {
    if (w != &in && !in.isAncestorOf(w)) continue;
    if ((w->focusPolicy() & Qt::TabFocus) == 0 || !w->isVisible() || !w->isEnabled()) continue;
    return w->setFocus(Qt::ShortcutFocusReason);
  }
}

void MainWindow::goToNext(int step) {
  std::vector<Panel*> visible;
  std::ranges::copy_if(m_panels, std::back_inserter(visible), [](const Panel* p) { return p->body()->isVisible(); });
  if (visible.empty()) return;
  const auto n = static_cast<std::ptrdiff_t>(visible.size());
  const auto at = std::ranges::find(visible, panelWithFocus()) - visible.begin();
  const std::ptrdiff_t next = at == n ? (step > 0 ? 0 : n - 1) : (at + step + n) % n;
  goTo(*visible[static_cast<std::size_t>(next)]);
}

void MainWindow::endVisits() {
  for (QDockWidget* dock : std::exchange(m_visiting, {})) dock->setFloating(false);
}

void MainWindow::showDock(const char* id) { openDock(*dock(id)); }

void MainWindow::resetLayout() {
  if (m_maximised) toggleMaximised(m_maximised);
  showPage(Page::inspect);
  arrangeDocks();
}

void MainWindow::toggleMaximised(Panel* panel) {
  if (page() != Page::inspect) {  // those panels have the whole page already
    showPage(Page::inspect);
    return;
  }
  if (m_maximised) {
    m_inspect->restoreState(m_before_maximise);
    m_maximised->setMaximised(false);
    m_maximised->content()->setFocus();  // the panels that came back must not take it
    m_maximised = nullptr;
    return;
  }
  m_before_maximise = m_inspect->saveState();
  for (QDockWidget* dock : m_docks) dock->setVisible(dock->objectName() == "dock_" + panel->id());
  m_maximised = panel;
  panel->setMaximised(true);
  panel->content()->setFocus();
}

void MainWindow::refreshHeaders() {
  // Wherever the range of steps changes a number, the header says so.
  const std::optional<viz::StepRange>& steps = m_workspace.selection().steps;
  for (const char* id : {"timeline", "head_grid", "compare", "effect"}) {
    QString text = steps ? QString::fromStdString(viz::range_text(*steps)) : QString();
    const QString help = "Statistics count " + text + " only: click for all (Esc)";
    if (id == std::string_view("head_grid")) text = panel(id)->header()->width() < 330 ? QString() : text.mid(text.indexOf(' ') + 1);  // the list needs the room; the legend says it
    panel(id)->setBadge(text, help);
  }
  for (CanvasWidget* canvas : m_canvases) {
    if (canvas == m_lecture_atlas) continue;  // in a panel of its own, without this header
    QString facts = canvas->facts();
    // What the header says elsewhere is not said twice.
    for (const viz::Option& option : canvas->view().options()) {
      if (option.current < 0 || option.current >= static_cast<int>(option.choices.size())) continue;
      const QString chosen = QString::fromStdString(option.choices[static_cast<std::size_t>(option.current)]);
      if (facts == chosen) facts.clear();
      if (facts.startsWith(chosen + " · ")) facts.remove(0, chosen.size() + 3);
    }
    Panel* header = panel(canvas->view().id());
    if (header->id() == "head_strip") {
      const viz::Selection& s = m_workspace.selection();
      const QString head = s.layer && s.kv_head ? QString::fromStdString(viz::head_name(*s.layer, *s.kv_head)) : QString();
      header->setTitle(head.isEmpty() ? QString("Head") : "Head " + head);
      if (!head.isEmpty() && facts.startsWith(head + " · ")) facts.remove(0, head.size() + 3);
    }
    header->setFacts(facts);
  }
}

}  // namespace kvscope
