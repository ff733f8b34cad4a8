// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/help_dialog.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/window/commands/commands.h"
#include "app/window/commands/key_map.h"
#include "app/window/help/glossary.h"
#include "app/window/help/help_dialog_guide.h"
#include "app/window/help/help_dialog_keys.h"
#include "app/window/look/spoken.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

static const QString kWords = QStringLiteral("Words");

std::vector<KeyHelp> canvasKeys() {
  // What the views take in View::key(), in the words of a reader.
  return {
      {"Atlas", "move the cell cursor", "← → ↑ ↓"},
      {"Atlas", "move by ten tokens", "Shift+← Shift+→"},
      {"Atlas", "move by a page of tokens", "Page Up, Page Down"},
      {"Atlas", "first token, newest token", "Home, End"},
      {"Atlas", "open the inspector on the cell; only select it", "Enter; Shift+Enter"},
      {"Atlas", "zoom about the cursor", "+ −"},
      {"Atlas", "show all tokens", "0"},
      {"Selected tokens", "pin (again: unpin), evict, merge into …, restore by hand", "P, E, M, R"},
      {"Inspector", "budget of this head alone", "drag the cut-off line; Shift+↑ ↓"},
      {"Head grid", "move over the heads", "← → ↑ ↓, Home, End"},
      {"Head grid", "open the inspector on the head", "Enter"},
      {"Head grid", "choose the metric", "1 … 8"},
      {"Head grid", "the largest value first, or the order of the model", "S, or the corner"},
      {"Head strip", "previous and next token", "← →"},
      {"Head strip", "extend the selection", "Shift+← Shift+→"},
      {"Head strip", "open the inspector", "Enter"},
      {"Inspector", "token before and after, first and last slot", "← →, Home, End"},
      {"Inspector", "select more or fewer tokens", "Shift+← Shift+→"},
      {"Inspector", "previous and next head", "↑ ↓"},
      {"Inspector", "zoom, show all", "+ −, 0"},
      {"Inspector", "more of the reasons", "wheel; Page Up, Page Down"},
      {"Inspector", "hide tokens by score, votes or age; show them again", "S, V, A; with Shift"},
      {"Timeline", "one step back or on", "← →"},
      {"Timeline", "ten steps back or on", "Shift+← Shift+→"},
      {"Timeline", "first step, latest step", "Home, End"},
      {"Timeline", "limit statistics to a range of steps", "drag the step numbers, Shift+drag"},
      {"Window", "play and pause", "Space, but in a lecture"},
      {"Window", "compare the runs, and back", "C"},
      {"Window", "hatch what leaves next", "G"},
      {"Lecture", "next scene, scene before", "Space, Page Down; Page Up"},
      {"Lecture", "black screen; any key returns", "B, full stop"},
      {"Lecture", "end what is written, played or computed, then the lecture", "Esc"},
      {"Lecture", "first step, latest step; in the atlas token", "Home, End"},
      {"Lecture", "generate, as everywhere: no start of a show", "F5"},
      {"Lecture", "select the cell, extend the selection", "Enter, Shift+Enter"},
      {"Compare", "previous and next run", "↑ ↓"},
      {"Compare", "previous and next token", "← →"},
      {"Compare", "open the inspector on the run", "Enter"},
      {"Compare", "take the run for the difference", "R"},
      {"Compare", "remove the run", "Delete"},
      {"Compare", "swap the runs of the difference", "X"},
      {"Compare", "a token joins or leaves the selection", "Ctrl+click"},
      {"Prompt", "select tokens", "Shift+← Shift+→, Ctrl+A"},
      {"Prompt", "a token joins or leaves the selection", "Ctrl+click"},
      {"Atlas, inspector", "select tokens; besides those selected", "Ctrl+drag; Ctrl+Shift+drag"},
      {"Policy", "budget of a head, of its layer, as allocated", "drag or ↑ ↓, Shift+drag, double click or Delete"},
      {"Policy", "the same by keys", "← →, ↑ ↓, Delete"},
      {"Sweep", "along a curve, another curve, open the run", "← →, ↑ ↓, Enter"},
      {"Add runs", "choose the cell, a row or column", "Space; click its name"},
      {"Add runs", "find a policy; a whole run, once it has a colon", "type"},
      {"Generated tokens", "go to the step before or after", "← →, Home, End"},
      {"Tables", "copy the selected rows", "Ctrl+C"},
  };
}

HelpDialog::HelpDialog(Workspace& workspace, SessionController&, QWidget* parent, KeyMap* keys)
    : QDialog(parent), m_workspace(workspace), m_key_map(keys), m_search(new QLineEdit(this)), m_table(new QTableWidget(0, 3, this)) {
  setWindowTitle("Keys and how to read the pictures");
  resize(px(*this, 980), px(*this, 640));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16, 14, 16, 14);
  row->setSpacing(20);
  auto* left = new QVBoxLayout;
  left->setSpacing(8);
  m_search->setPlaceholderText("Find a key, a command or a word");
  offerClear(*m_search);
  m_search->setAccessibleName("find a key, a command or a word");
  left->addWidget(m_search);
  m_table->setHorizontalHeaderLabels({"where", "what", "keys"});
  m_table->setAccessibleName("keys of the window");
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setShowGrid(false);
  m_table->setAlternatingRowColors(true);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setTabKeyNavigation(false);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setMinimumSectionSize(1);
  m_table->verticalHeader()->setDefaultSectionSize(px(*this, 24));
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
  m_table->horizontalHeader()->setSectionResizeMode(2, QHeaderView::Fixed);
  m_table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  m_table->viewport()->installEventFilter(this);
  left->addWidget(m_table, 1);
  if (keys) {
    m_editor = new KeyEditor(*keys, this);
    left->addWidget(m_editor);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] { editSelected(); });
    connect(m_table, &QTableWidget::itemActivated, this, [this] { m_editor->field().setFocus(); });
    connect(keys, &KeyMap::keysChanged, this, [this] { readKeys(); });
  }
  row->addLayout(left, 5);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(new HelpGuide(workspace));
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName("how to read the pictures");
  row->addWidget(scroll, 3);
  connect(m_search, &QLineEdit::textChanged, this, [this] { fill(); });
  m_search->setFocus();
  readKeys();
}

/// What a key does has the most room; where keys are many, they take a second line.
void HelpDialog::shareWidths() {
  m_table->setColumnWidth(2, std::min(m_table->viewport()->width() * 3 / 10,
                                      std::max(px(*this, 60), static_cast<const QAbstractItemView*>(m_table)->sizeHintForColumn(2))));
  m_table->resizeRowsToContents();
}

bool HelpDialog::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_table->viewport() && event->type() == QEvent::Resize) shareWidths();
  return QDialog::eventFilter(watched, event);
}

void HelpDialog::showEvent(QShowEvent* event) {
  readKeys();
  QDialog::showEvent(event);
}

void HelpDialog::readKeys() {
  m_keys.clear();
  std::set<std::tuple<QString, QString>> seen;
  if (QWidget* window = parentWidget() ? parentWidget()->window() : nullptr) {
    for (const QAction* action : window->findChildren<QAction*>()) {
      const QWidget* owner = qobject_cast<const QWidget*>(action->parent());
      if (owner && owner->window() == this) continue;
      const bool may_change = m_key_map && m_key_map->has(action);
      if (action->shortcut().isEmpty() && !may_change) continue;
      const KeyHelp key{commandArea(*action), commandText(action->text()), commandKeys(*action),
                        may_change ? const_cast<QAction*>(action) : nullptr};
      if (!key.what.isEmpty() && seen.emplace(key.what, key.keys).second) m_keys.push_back(key);
    }
  }
  std::stable_sort(m_keys.begin(), m_keys.end(), [](const KeyHelp& a, const KeyHelp& b) { return a.area < b.area; });
  for (KeyHelp& key : canvasKeys()) m_keys.push_back(std::move(key));
  fill();
}

static bool holdsAll(const QString& line, const QStringList& words) {
  return std::ranges::all_of(words, [&](const QString& w) { return line.contains(w, Qt::CaseInsensitive); });
}

std::vector<KeyHelp> HelpDialog::shownKeys() const {
  std::vector<KeyHelp> shown;
  // Every word that was typed has to occur somewhere in the line.
  const QStringList words = m_search->text().simplified().split(' ', Qt::SkipEmptyParts);
  for (const KeyHelp& key : m_keys) {
    if (words.isEmpty() && key.keys.isEmpty()) continue;  // commands without a key: there are many
    const QString line = key.area + ' ' + key.what + ' ' + key.keys;
    if (holdsAll(line, words)) shown.push_back(key);
  }
  if (words.isEmpty()) return shown;
  // What a word on the screen means is looked for here, too; those that are called so come first.
  const auto end = static_cast<std::ptrdiff_t>(shown.size());
  std::ptrdiff_t n_named = 0;
  for (const Term& term : Glossary::builtIn().terms()) {
    const QString names = (QStringList{term.name} + term.aliases).join(' ');
    if (!holdsAll(names + ' ' + term.text, words)) continue;
    const bool named = holdsAll(names, words);
    shown.insert(named ? shown.begin() + end + n_named++ : shown.end(), {kWords, term.name + ": " + term.text, {}});
  }
  return shown;
}

void HelpDialog::fill() {
  const std::vector<KeyHelp> shown = shownKeys();
  const QSignalBlocker quiet(m_table);
  const int selected = m_table->currentRow();
  m_table->setRowCount(static_cast<int>(shown.size()));
  for (int r = 0; r < m_table->rowCount(); ++r) {
    const KeyHelp& key = shown[static_cast<std::size_t>(r)];
    const bool first_of_area = r == 0 || shown[static_cast<std::size_t>(r) - 1].area != key.area;
    m_table->setItem(r, 0, new QTableWidgetItem(first_of_area ? key.area : QString()));
    m_table->setItem(r, 1, new QTableWidgetItem(key.what));
    auto* keys = new QTableWidgetItem(key.keys);
    keys->setFont(typeFont(*this, Type::body, false, TypeFace::tabular));
    m_table->setItem(r, 2, keys);
    // A screen reader needs the area in every line.
    m_table->item(r, 1)->setData(Qt::AccessibleTextRole, key.area + ": " + key.what);
    if (key.action && m_key_map->changed(*key.action)) {
      keys->setText(key.keys.isEmpty() ? "none, by you" : key.keys + ", by you");
      m_table->item(r, 2)->setForeground(toColor(m_workspace.theme().accent));
    }
  }
  shareWidths();
  // What is searched for is what will be changed.
  const int row = selected >= 0 && selected < m_table->rowCount() ? selected : m_search->text().isEmpty() ? -1 : 0;
  row < 0 ? m_table->clearSelection() : m_table->selectRow(row);
  if (m_editor) editSelected();
}

void HelpDialog::editSelected() {
  const std::vector<KeyHelp> shown = shownKeys();
  const auto row = static_cast<std::size_t>(std::max(0, m_table->currentRow()));
  const bool any = m_table->selectionModel()->hasSelection() && row < shown.size();
  QAction* action = any ? shown[row].action : nullptr;
  m_editor->show(action, any && !action && shown[row].area != kWords ? "Keys inside charts, lists and text cannot be changed." : QString());
}

}  // namespace kvscope
