// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/command_palette.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/commands/commands.h"

namespace kvscope {

namespace {

constexpr int kBesideText = 26, kBesideList = 50;  // px: inside of a cell; margins and the bar that scrolls
constexpr int kLiteral = 1000;                     // more than any score of letters

/// What choosing a panel does, before its name.
QString verbOf(const QAction& action) {
  const QString area = commandArea(action);
  if (area == "Panels" && action.isCheckable()) return action.isChecked() ? "Hide " : "Show ";
  return area == "Go to panel" && action.shortcut().isEmpty() ? "Go to " : "";
}

/// As the menu has it; of a panel what choosing it does.
QString wordsOf(const QAction& action) {
  const QString text = commandText(action.text()), verb = verbOf(action);
  if (!verb.isEmpty()) return verb + text;
  if (commandArea(action) == "Sample prompts") return "In place of the text: " + text;
  return (action.isChecked() ? "✓ " : "") + text;
}

}  // namespace

CommandPalette::CommandPalette(QWidget& window)
    : QFrame(&window), m_window(window), m_line(new QLineEdit(this)), m_list(new QTreeWidget(this)) {
  setObjectName("palette");
  m_line->setPlaceholderText("What to do: some letters of a command");
  m_line->setAccessibleName("Find a command");
  m_list->setAccessibleName("Commands");
  m_list->setColumnCount(3);
  m_list->setHeaderHidden(true);
  m_list->setRootIsDecorated(false);
  m_list->setUniformRowHeights(true);
  m_list->setAllColumnsShowFocus(true);
  m_list->setFocusPolicy(Qt::NoFocus);  // the line keeps it
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->header()->setStretchLastSection(false);
  m_list->header()->setSectionResizeMode(1, QHeaderView::Stretch);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 10, 10, 10);
  column->setSpacing(8);
  column->addWidget(m_line);
  column->addWidget(m_list);
  hide();
  m_line->installEventFilter(this);
  m_window.installEventFilter(this);
  connect(m_line, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(m_list, &QTreeWidget::itemClicked, this, &CommandPalette::run);
}

void CommandPalette::open() {
  if (isVisible()) return dismiss();
  m_focus_before = QApplication::focusWidget();
  m_line->clear();
  collect();
  show();
  raise();
  m_window.activateWindow();  // a floating panel may have the keys
  m_line->setFocus();
}

void CommandPalette::collect() {
  const auto now = commandsOf(m_window);
  m_commands.assign(now.begin(), now.end());
  filter();
  m_wanted = wantedWidth();
  place();
  shareWidth();
}

void CommandPalette::dismiss() {
  if (!isVisible()) return;
  hide();
  if (m_focus_before)
    m_focus_before->setFocus();
  else
    m_window.setFocus();
}

/// What a command is called comes first: where it stands and its keys take what they need of the rest.
void CommandPalette::shareWidth() {
  const bool whole = m_list->viewport()->width() >= m_wanted;
  for (const auto& [column, part] : {std::pair(0, 0.3), std::pair(2, 0.25)}) {
    m_list->resizeColumnToContents(column);
    const int most = whole ? m_list->header()->sectionSize(column) : static_cast<int>(part * width());
    m_list->header()->resizeSection(column, std::min(m_list->header()->sectionSize(column), most));
  }
}

/// What the three columns take where nothing of any command is cut.
int CommandPalette::wantedWidth() const {
  int out = 0;
  for (int column = 0; column < m_list->columnCount(); ++column) {
    int widest = 0;
    for (int row = 0; row < m_list->topLevelItemCount(); ++row)
      widest = std::max(widest, m_list->fontMetrics().horizontalAdvance(m_list->topLevelItem(row)->text(column)));
    out += widest + kBesideText;
  }
  return out;
}

void CommandPalette::place() {
  const int wanted = std::max(620, m_wanted + kBesideList);
  const int width = std::min(wanted, m_window.width() - 40), height = std::min(420, m_window.height() - 120);
  setGeometry((m_window.width() - width) / 2, 78, width, height);
}

/// How well what was typed finds a command; nullopt: it does not. Words as they stand come before letters that are strewn over others.
std::optional<CommandPalette::Found> CommandPalette::found(std::size_t number, const QString& typed) const {
  QAction* const action = m_commands[number];
  if (!action) return std::nullopt;
  const QString text = commandText(action->text()), whole = commandArea(*action) + ' ' + verbOf(*action) + text;
  // Letters in the text count more than letters that need the menu's name.
  const std::optional<int> own = fuzzyScore(typed, text), with_area = fuzzyScore(typed, whole);
  Found out{
      .rank = 0, .score = std::max(own.value_or(-100000) + 8, with_area.value_or(-100000)), .action = action, .number = number, .also = {}};
  const auto take = [&out](int rank) {
    out.rank = std::max(out.rank, rank);
    return out.rank == rank;
  };
  constexpr int kOwn = 3, kAlso = 2, kWhole = 1, kOf = 4;  // of equal hits, in this order
  if (const int rank = wordRank(typed, text)) take(kOf * rank + kOwn);
  for (const QString& name : alsoCalled(*action))
    if (const int rank = wordRank(typed, name); rank > 0 && kOf * rank + kAlso > out.rank) take(kOf * rank + kAlso), out.also = name;
  if (const int rank = wordRank(typed, whole)) take(kOf * rank + kWhole);
  if (out.rank == 0 && !own && !with_area) return std::nullopt;
  if (!typed.isEmpty() && text.startsWith(typed, Qt::CaseInsensitive)) out.score += kLiteral;
  return out;
}

void CommandPalette::filter() {
  std::vector<Found> hits;
  const QString typed = m_line->text().trimmed();
  for (std::size_t i = 0; i < m_commands.size(); ++i)
    if (const std::optional<Found> hit = found(i, typed)) hits.push_back(*hit);
  // Strewn letters help only where nothing has the words.
  if (std::ranges::any_of(hits, [](const Found& f) { return f.rank > 0; })) std::erase_if(hits, [](const Found& f) { return f.rank == 0; });
  if (!typed.isEmpty())
    std::ranges::stable_sort(hits, [](const Found& a, const Found& b) { return std::pair(a.rank, a.score) > std::pair(b.rank, b.score); });
  m_list->clear();
  for (const Found& f : hits) {
    const QString area = commandArea(*f.action), words = wordsOf(*f.action) + (f.also.isEmpty() ? QString() : " (" + f.also + ")");
    auto* item = new QTreeWidgetItem(m_list, {area, words, commandKeys(*f.action)});
    item->setData(0, Qt::UserRole, static_cast<qsizetype>(f.number));
    item->setData(0, Qt::AccessibleTextRole, area + ": " + words);  // a hit is called by its first column
    item->setForeground(0, palette().placeholderText());
    item->setForeground(2, palette().placeholderText());
    if (f.action->toolTip() != commandText(f.action->text())) item->setToolTip(1, f.action->toolTip());
  }
  if (hits.empty()) {
    auto* nothing = new QTreeWidgetItem(m_list, {QString(), "No command has these letters. F1 lists all that have keys."});
    nothing->setData(0, Qt::AccessibleTextRole, nothing->text(1));
    nothing->setFlags(Qt::NoItemFlags);
  } else {
    m_list->setCurrentItem(m_list->topLevelItem(0));
  }
  shareWidth();
  m_line->setAccessibleDescription(QString("%1 commands").arg(hits.size()));
}

void CommandPalette::run() {
  const QTreeWidgetItem* item = m_list->currentItem();
  if (!item) return;
  const QVariant number = item->data(0, Qt::UserRole);
  if (!number.isValid()) return;
  const QPointer<QAction> action = m_commands[number.toULongLong()];
  if (!action) return collect();  // its menu has others by now
  dismiss();
  if (action->isEnabled()) action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == &m_window && event->type() == QEvent::Resize && isVisible()) place();
  if (watched != m_line) return QFrame::eventFilter(watched, event);
  if (event->type() == QEvent::FocusOut && isVisible()) {
    const Qt::FocusReason why = static_cast<QFocusEvent*>(event)->reason();
    // Another window or its own menu is no leave; a click elsewhere is, and so is a shortcut that turns the page below.
    if (why != Qt::ActiveWindowFocusReason && why != Qt::PopupFocusReason && why != Qt::MenuBarFocusReason) hide();
  } else if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int n = m_list->topLevelItemCount(), at = m_list->currentItem() ? m_list->indexOfTopLevelItem(m_list->currentItem()) : 0;
    const auto go = [&](int to) {
      if (n > 0) m_list->setCurrentItem(m_list->topLevelItem(std::clamp(to, 0, n - 1)));
      return true;
    };
    switch (key) {
      case Qt::Key_Down:
        return go(at + 1);
      case Qt::Key_Up:
        return go(at - 1);
      case Qt::Key_PageDown:
        return go(at + 10);
      case Qt::Key_PageUp:
        return go(at - 10);
      case Qt::Key_Return:
      case Qt::Key_Enter:
        run();
        return true;
      case Qt::Key_Escape:
        dismiss();
        return true;
      case Qt::Key_Tab:
      case Qt::Key_Backtab:
        return true;  // there is only one thing to focus
      default:
        break;
    }
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace kvscope
