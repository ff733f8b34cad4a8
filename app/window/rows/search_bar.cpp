// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/search_bar.h"

#include <utility>

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QStyle>
#include <QToolButton>

#include "app/window/look/style.h"
#include "app/window/session/workspace.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kPauseMs = 150;  // nothing jumps during typing

QString count(std::size_t n) { return QString::fromStdString(viz::format_count(static_cast<std::int64_t>(n))); }

}  // namespace

SearchBar::SearchBar(Workspace& workspace, QWidget* parent)
    : QFrame(parent),
      m_workspace(workspace),
      m_scope(new QComboBox(this)),
      m_line(new QLineEdit(this)),
      m_state(new QLabel(this)),
      m_elsewhere(new QLabel(this)) {
  setObjectName("searchBar");
  const auto button = [this](const QString& text, const QString& help, const char* look) {
    auto* b = new QToolButton(this);
    b->setObjectName(look);
    b->setText(text);
    b->setToolTip(help);
    b->setAccessibleName(help);
    b->setFocusPolicy(Qt::StrongFocus);
    return b;
  };
  m_scope->setObjectName("header");
  m_scope->addItems({"tokens", "heads", "events"});
  m_scope->setAccessibleName("Where to search");
  m_scope->setToolTip("Tokens: the text. Heads: L2 H5. Events: words of “merge token 12 into 17 L2 H5 step 40”, of the shown run");
  m_line->setAccessibleName("Find");
  m_line->setMinimumWidth(220);
  m_line->setMaximumWidth(520);
  m_regex = button(".*", "Regular expression", "headerText");
  m_case = button("Aa", "Match case", "headerText");
  for (QToolButton* b : {m_regex, m_case}) {
    b->setProperty("toggle", true);
    b->setCheckable(true);
  }
  m_previous = button({}, "Previous (Shift+Enter, Shift+F3)", "header");
  m_next = button({}, "Next (Enter, F3)", "header");
  m_close = button({}, "Close the search (Esc)", "header");
  m_state->setObjectName("facts");
  m_elsewhere->setObjectName("facts");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(13, 4, 14, 4);
  row->setSpacing(6);
  row->addWidget(m_scope);
  row->addWidget(m_line, 1);
  for (QToolButton* b : {m_regex, m_case, m_previous, m_next}) row->addWidget(b);
  row->addSpacing(6);
  row->addWidget(m_state, 1);
  row->addWidget(m_elsewhere);
  row->addWidget(m_close);

  m_line->installEventFilter(this);
  for (QTimer* timer : {&m_pause, &m_again}) timer->setSingleShot(true), timer->setInterval(kPauseMs);
  connect(&m_pause, &QTimer::timeout, this, [this] { search(true); });
  connect(&m_again, &QTimer::timeout, this, [this] { search(false); });
  connect(&workspace, &Workspace::selectionChanged, this, [this] {
    if (isVisible() && where() != m_searched) m_again.start();  // a range is dragged
  });
  connect(m_line, &QLineEdit::textChanged, &m_pause, qOverload<>(&QTimer::start));
  connect(m_scope, &QComboBox::currentIndexChanged, this, [this](int index) {
    m_line->setPlaceholderText(index == 0   ? "text of the prompt and what followed"
                               : index == 1 ? "L2, H5 or L2 H5"
                                            : "evict, merge, a token, L2 H5, step 40");
    m_pause.start();
  });
  for (QToolButton* b : {m_regex, m_case}) connect(b, &QToolButton::toggled, &m_pause, qOverload<>(&QTimer::start));
  connect(m_previous, &QToolButton::clicked, this, &SearchBar::previous);
  connect(m_next, &QToolButton::clicked, this, &SearchBar::next);
  connect(m_close, &QToolButton::clicked, this, &SearchBar::dismiss);
  connect(&workspace, &Workspace::snapshotChanged, this, [this] {
    if (isVisible() && m_workspace.snapshot().phase == RunPhase::idle) search(false);  // not after every step of a long text
  });
  const auto theme = [this] {
    const QColor colour = toColor(m_workspace.theme().secondary), disabled = toColor(m_workspace.theme().disabled);
    m_previous->setIcon(icon(Icon::left, colour, disabled));
    m_next->setIcon(icon(Icon::right, colour, disabled));
    m_close->setIcon(icon(Icon::close, colour, disabled));
  };
  connect(&workspace, &Workspace::themeChanged, this, theme);
  theme();
  m_line->setPlaceholderText("text of the prompt and what followed");
  hide();
}

QString SearchBar::stateText() const { return m_state->text(); }

QString SearchBar::elsewhereText() const { return m_elsewhere->text(); }

void SearchBar::open() {
  if (QWidget* focus = QApplication::focusWidget(); focus && !isAncestorOf(focus)) m_focus_before = focus;
  QFrame::show();
  m_line->setFocus();
  m_line->selectAll();
  search(false);
}

void SearchBar::dismiss() {
  const bool had_focus = isAncestorOf(QApplication::focusWidget());
  hide();
  m_pause.stop();
  m_again.stop();
  m_workspace.setFound({});
  if (had_focus && m_focus_before) m_focus_before->setFocus();
}

void SearchBar::show(const QString& state, bool wrong) {
  m_state->setText(state);
  m_state->setStyleSheet(wrong ? "color: " + toColor(m_workspace.theme().changed).name() : QString());
}

SearchBar::Where SearchBar::where() const { return {m_workspace.selection().lane, m_workspace.selection().steps}; }

void SearchBar::search(bool select) {
  m_pause.stop();
  m_again.stop();
  const Where before = std::exchange(m_searched, where());
  const bool elsewhere = before != m_searched && m_scope->currentIndex() == static_cast<int>(SearchIn::events);
  const int at = elsewhere ? -1 : m_at;
  m_result = searchFor({static_cast<SearchIn>(m_scope->currentIndex()), m_line->text(), m_regex->isChecked(), m_case->isChecked()},
                       m_workspace.snapshot(), m_workspace.selection());
  m_at = -1;
  std::vector<viz::TokenRange> places;
  if (m_scope->currentIndex() == 0)
    for (const SearchHit& hit : m_result.hits) places.push_back(*hit.tokens);
  m_workspace.setFound(places);
  countElsewhere();
  for (QToolButton* b : {m_previous, m_next}) b->setEnabled(!m_result.hits.empty());
  if (!m_result.error.isEmpty()) return show(m_result.error, true);
  if (m_line->text().trimmed().isEmpty()) return show({}, false);
  if (m_result.hits.empty() && m_result.given_up) return show(m_result.note + ": none found so far", true);
  if (m_result.hits.empty()) return show(m_result.note.isEmpty() ? QString("none") : "none: " + m_result.note, false);
  if (select) return go(1);
  m_at = at < static_cast<int>(m_result.hits.size()) ? at : -1;  // the same search on a new result
  show(m_at < 0 ? noted(count(m_result.hits.size()) + (m_result.hits.size() == 1 ? " place" : " places")) : place(), false);
}

QString SearchBar::noted(const QString& found) const {
  return m_result.note.isEmpty() ? found : QString("%1 (%2)").arg(found, m_result.note);
}

QString SearchBar::place() const {
  return noted(QString("%1 of %2").arg(count(static_cast<std::size_t>(m_at) + 1), count(m_result.hits.size())));
}

void SearchBar::countElsewhere() {
  QStringList counts;
  if (m_result.error.isEmpty() && !m_line->text().trimmed().isEmpty()) {
    for (int i = 0; i < m_scope->count(); ++i) {
      if (i == m_scope->currentIndex()) continue;
      const SearchResult other = searchFor({static_cast<SearchIn>(i), m_line->text(), m_regex->isChecked(), m_case->isChecked()},
                                           m_workspace.snapshot(), m_workspace.selection());
      if (!other.hits.empty())
        counts << QString("%1%2 %3").arg(count(other.hits.size()), other.note.isEmpty() ? "" : "+",
                                         other.hits.size() == 1 ? m_scope->itemText(i).chopped(1) : m_scope->itemText(i));
    }
  }
  m_elsewhere->setText(counts.isEmpty() ? QString() : "also " + counts.join(", "));
}

void SearchBar::go(int by) {
  if (!isVisible()) return open();
  if (m_pause.isActive()) return search(true);
  if (m_again.isActive()) search(false);
  const int n = static_cast<int>(m_result.hits.size());
  if (n == 0) return;
  m_at = m_at < 0 ? (by > 0 ? 0 : n - 1) : (m_at + by + n) % n;
  const SearchHit& hit = m_result.hits[static_cast<std::size_t>(m_at)];
  m_workspace.setSelection(hit.applied(m_workspace.selection()));
  show(place() + "  ·  " + hit.what, false);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_line && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      go(key->modifiers() & Qt::ShiftModifier ? -1 : 1);
      return true;
    }
  }
  return QFrame::eventFilter(watched, event);
}

/// From the line and from every button.
void SearchBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier) return dismiss();
  QFrame::keyPressEvent(event);
}

}  // namespace kvscope
