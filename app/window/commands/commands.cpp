// SPDX-License-Identifier: Apache-2.0
#include "app/window/commands/commands.h"

#include <algorithm>
#include <set>

#include <QAction>
#include <QMenu>
#include <QRegularExpression>
#include <QStringList>
#include <QWidget>

namespace kvscope {

QString commandText(QString text) {
  text = text.section('\t', 0, 0);  // behind a tab stands a key that is no shortcut
  text.replace("&&", QChar(0));
  text.remove('&');
  return text.replace(QChar(0), "&");
}

QString asLabel(QString name) { return name.replace('&', "&&"); }

QString commandArea(const QAction& action) {
  for (const QObject* object : action.associatedObjects()) {
    if (const auto* menu = qobject_cast<const QMenu*>(object); menu && !menu->title().isEmpty()) return commandText(menu->title());
  }
  return "Window";
}

constexpr const char* kAlsoCalled = "alsoCalled";

QStringList alsoCalled(const QAction& action) { return action.property(kAlsoCalled).toStringList(); }

void setAlsoCalled(QAction& action, const QStringList& names) { action.setProperty(kAlsoCalled, names); }

QString commandKeys(const QAction& action) {
  QStringList keys;
  for (const QKeySequence& sequence : action.shortcuts()) keys << sequence.toString(QKeySequence::NativeText);
  if (const QString bare = action.text().section('\t', 1); !bare.isEmpty()) keys << bare;
  return keys.join(", ");
}

std::vector<QAction*> commandsOf(QWidget& window) {
  std::vector<QAction*> out;
  for (QAction* action : window.findChildren<QAction*>()) {
    if (action->menu() || action->isSeparator() || !action->isEnabled() || !action->isVisible() || action->text().isEmpty()) continue;
    // Actions of a widget (copy in a table, clear in a line) mean nothing without it.
    const auto* owner = qobject_cast<const QWidget*>(action->parent());
    const QObjectList objects = action->associatedObjects();  // a copy: its ends must be of the same list
    const bool in_menu =
        std::any_of(objects.begin(), objects.end(), [](const QObject* o) { return qobject_cast<const QMenu*>(o) != nullptr; });
    if (!in_menu && owner != &window) continue;
    out.push_back(action);
  }
  // A list of its own (all samples, under the empty editor) has the commands of a menu again.
  const auto titled = [](const QAction* action) {
    const QObjectList objects = action->associatedObjects();
    return std::any_of(objects.begin(), objects.end(), [](const QObject* o) {
      const auto* menu = qobject_cast<const QMenu*>(o);
      return menu != nullptr && !menu->title().isEmpty();
    });
  };
  std::set<QString> in_titled;
  for (const QAction* action : out)
    if (titled(action)) in_titled.insert(commandText(action->text()));
  std::erase_if(out, [&](const QAction* action) { return !titled(action) && in_titled.contains(commandText(action->text())); });
  std::stable_sort(out.begin(), out.end(), [](const QAction* a, const QAction* b) {
    return commandArea(*a) + commandText(a->text()) < commandArea(*b) + commandText(b->text());
  });
  return out;
}

int wordRank(const QString& wanted, const QString& text) {
  static const QRegularExpression kBetween("[^\\p{L}\\p{N}]+");
  const QStringList typed = wanted.toCaseFolded().split(kBetween, Qt::SkipEmptyParts),
                    there = text.toCaseFolded().split(kBetween, Qt::SkipEmptyParts);
  if (typed.isEmpty()) return 0;
  const auto begins = [&there](const QString& word) {
    return std::ranges::any_of(there, [&word](const QString& own) { return own.startsWith(word); });
  };
  if (std::ranges::all_of(typed, [&there](const QString& word) { return there.contains(word); })) return 3;
  if (std::ranges::all_of(typed, begins)) return 2;
  return text.contains(wanted, Qt::CaseInsensitive) ? 1 : 0;
}

std::optional<int> fuzzyScore(QStringView wanted, QStringView text) {
  // best[j]: best score with the letters so far, the last of them at text[j].
  constexpr int kNone = -1000000, kWordStart = 12, kRun = 8, kLetter = 1;
  const auto n = static_cast<std::size_t>(text.size());
  std::vector<int> best(n, kNone), next(n);
  bool first = true;
  for (const QChar raw : wanted) {
    if (raw.isSpace()) continue;
    int before = first ? 0 : kNone;  // best among earlier places, so that letters may be skipped
    for (std::size_t j = 0; j < n; ++j) {
      next[j] = kNone;
      const QChar here = text[static_cast<qsizetype>(j)];
      if (here.toCaseFolded() == raw.toCaseFolded()) {
        const bool start = j == 0 || !text[static_cast<qsizetype>(j) - 1].isLetterOrNumber();
        const int alone = before == kNone ? kNone : before + kLetter + (start ? kWordStart : 0);
        const int run = !first && j > 0 && best[j - 1] != kNone ? best[j - 1] + kLetter + kRun + (start ? kWordStart : 0) : kNone;
        next[j] = std::max(alone, run);
      }
      if (!first) before = std::max(before, best[j]);
    }
    best.swap(next);
    first = false;
  }
  if (first) return 0;
  const int score = n > 0 ? *std::max_element(best.begin(), best.end()) : kNone;
  if (score <= kNone / 2) return std::nullopt;
  return score * 4 - static_cast<int>(n) / 4;  // of equals, the shorter
}

}  // namespace kvscope
