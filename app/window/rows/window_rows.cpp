// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/window_rows.h"

#include <functional>
#include <utility>

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMainWindow>
#include <QMenuBar>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/window/look/style.h"
#include "app/window/rows/loading_row.h"
#include "app/window/rows/passing_words.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/search_bar.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/panel.h"

namespace kvscope {

namespace {

QString modelName(const Snapshot& snapshot, const viz::Theme& theme) {
  if (snapshot.model.n_layers == 0) return snapshot.phase == RunPhase::loading ? "loading the model" : "no model";
  return QString("model <b style='color:%2'>%1</b>")
      .arg(QString::fromStdString(snapshot.model.name).toHtmlEscaped(), toColor(theme.text).name());
}

QString modelFacts(const Snapshot& snapshot) {
  const ModelConfig& m = snapshot.model;
  if (m.n_layers == 0) return {};
  return QString("%1 layers · %2 query heads · %3 KV heads · %4")
      .arg(m.n_layers)
      .arg(m.n_heads)
      .arg(m.n_kv_heads)
      .arg(QString::fromStdString(snapshot.device));
}

/// Calls when the widget is moved or resized: the pages are by what happens to the rows above them and to the window.
class WhenMoved final : public QObject {
 public:
  WhenMoved(QWidget* widget, std::function<void()> call) : QObject(widget), m_call(std::move(call)) { widget->installEventFilter(this); }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Move || event->type() == QEvent::Resize) m_call();
    return QObject::eventFilter(watched, event);
  }

 private:
  std::function<void()> m_call;
};

}  // namespace

WindowRows::WindowRows(QMainWindow& window, WindowModel& model, const std::shared_ptr<viz::TokenWindow>& zoom)
    : m_model(model), m_central(new QWidget(&window)) {
  auto* rows = new QVBoxLayout(m_central);
  m_rows = rows;
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  window.setCentralWidget(m_central);

  m_menu_row = new QWidget(m_central);
  m_menu_row->setObjectName("menuRow");
  m_menu_row->setFixedHeight(kMenuRow);
  auto* menu_line = new QHBoxLayout(m_menu_row);
  menu_line->setContentsMargins(14, 0, 14, 0);
  menu_line->setSpacing(8);
  auto* name = new QLabel("<b>kvscope</b>", m_menu_row);
  m_menus = new QMenuBar(m_menu_row);
  m_model_name = new QLabel(m_menu_row);
  m_model_facts = new ElidedLabel(m_menu_row);
  m_model_facts->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  m_model_facts->setObjectName("modelFacts");
  m_model_name->setObjectName("secondary");
  for (QWidget* words : {static_cast<QWidget*>(m_model_name), static_cast<QWidget*>(m_model_facts)}) words->setFont(uiFont(12));
  menu_line->addWidget(name);
  menu_line->addWidget(m_menus, 1);
  menu_line->addWidget(m_model_name);
  menu_line->addWidget(m_model_facts);

  m_tools = new ToolRow(model.workspace, model.controller, m_central);
  m_tools->setGenerateCount(model.options.generate);
  m_crumbs = new CrumbRow(model.workspace, m_central);
  m_crumbs->followZoom(zoom);
  m_search = new SearchBar(model.workspace, m_central);
  m_notices = new MessageBar(model.workspace, m_central);
  m_messages = new MessageBar(model.workspace, m_central);
  m_loading = new LoadingRow(model.workspace, model.controller, m_central);
  m_pages = new QStackedWidget(m_central);
  m_status = new StatusRow(model.workspace, model.controller, m_central);
  m_passing = new PassingWords(m_central);
  for (QWidget* row : {m_menu_row, static_cast<QWidget*>(m_tools), static_cast<QWidget*>(m_crumbs), static_cast<QWidget*>(m_search),
                       static_cast<QWidget*>(m_notices), static_cast<QWidget*>(m_messages), static_cast<QWidget*>(m_loading)})
    rows->addWidget(row);
  rows->addWidget(m_pages, 1);
  rows->addWidget(m_status);
  m_progress = new ProgressLine(model.workspace, m_central);
  new WhenMoved(m_pages, [this] { placeOverlays(); });

  connect(&model.controller, &SessionController::promptEdited, this, &WindowRows::takeText);
  connect(&model.controller, &SessionController::requestChanged, this, [this] {
    if (takeText()) m_passing->hide();  // it may be about what was open before
  });
  // What both bars would say stands once.
  connect(m_messages, &MessageBar::said, m_notices, &MessageBar::takeBack);
  connect(m_notices, &MessageBar::said, m_messages, &MessageBar::takeBack);
  for (auto signal : {&Workspace::snapshotChanged, &Workspace::themeChanged})
    connect(&model.workspace, signal, this, [this] {
      m_model_name->setText(modelName(m_model.workspace.snapshot(), m_model.workspace.theme()));
      m_model_facts->setText(modelFacts(m_model.workspace.snapshot()));
    });
}

bool WindowRows::takeText() {
  const RunRequest& now = m_model.controller.request();
  if (now.prompt == m_prompt && now.prompt_ids == m_prompt_ids) return false;
  m_prompt = now.prompt;
  m_prompt_ids = now.prompt_ids;
  return true;
}

/// Over the row of the state, if it is there: what is on the pages may be wanted next.
void WindowRows::say(const QString& passing_words) {
  m_passing->say(passing_words, m_status->isVisible() ? static_cast<QWidget&>(*m_status) : *m_pages);
}

void WindowRows::insertAbovePages(QWidget* row) { m_rows->insertWidget(m_rows->indexOf(m_pages), row); }

void WindowRows::insertBelowPages(QWidget* row) { m_rows->insertWidget(m_rows->indexOf(m_pages) + 1, row); }

void WindowRows::replaceBy(QWidget* row) {
  for (QWidget* own : {m_menu_row, static_cast<QWidget*>(m_tools), static_cast<QWidget*>(m_crumbs), static_cast<QWidget*>(m_status)})
    own->setVisible(!row);
  if (m_instead) m_instead->hide();
  if (row) row->show();
  m_instead = row;
}

void WindowRows::placeOverlays() {
  const QWidget* above = m_instead ? m_instead : m_crumbs;
  if (m_passing->isVisibleTo(m_central)) m_passing->place();  // said before the window had its size
  if (m_overlay) m_overlay->move(m_central->width() - m_overlay->width() - kGutter, above->geometry().bottom() + kGutter);
  m_progress->setGeometry(0, above->geometry().bottom() - 1, m_central->width(), 2);
  m_progress->raise();
}

}  // namespace kvscope
