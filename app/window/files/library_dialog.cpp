// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/library_dialog.h"

#include <array>

#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QTreeWidget>

#include "app/window/files/recent_files.h"
#include "app/window/files/thumbnails.h"
#include "app/window/look/style.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/session_file.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "io/files.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

constexpr int kTitle = 0, kFacts = 1;
constexpr int kKindRole = Qt::UserRole, kFileRole = Qt::UserRole + 1, kIndexRole = Qt::UserRole + 2;
constexpr int kPromptWords = 48;  // characters of a prompt that say which one it is

LibraryDialog::Kind kindOf(const QTreeWidgetItem* item) { return static_cast<LibraryDialog::Kind>(item->data(kTitle, kKindRole).toInt()); }

QString sessionFacts(const QString& path) {
  try {
    const SavedSession s = readSession(path).session;
    return QString("%1 · %2 · «%3»")
        .arg(counted(s.request.lanes.size(), "run", "runs"), counted(s.bookmarks.size(), "bookmark", "bookmarks"),
             qs(s.request.prompt).simplified().left(kPromptWords));
  } catch (const Error& error) {
    return QString("cannot be read: ") + error.what();
  }
}

QString whenAndWhere(const QFileInfo& file) {
  return QString("%1 · %2").arg(QLocale::c().toString(file.lastModified(), "d MMM yyyy, hh:mm"), QDir::toNativeSeparators(file.path()));
}

}  // namespace

LibraryDialog::LibraryDialog(Workspace& workspace, SessionController& controller, RecentFiles& recent, Bookmarks& bookmarks,
                             Thumbnails& thumbnails, QWidget* parent)
    : QDialog(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_recent(recent),
      m_bookmarks(bookmarks),
      m_thumbnails(thumbnails),
      m_tree(new QTreeWidget(this)),
      m_message(new QLabel(this)) {
  setWindowTitle("Library");
  resize(820, 620);
  m_tree->setColumnCount(2);
  m_tree->setHeaderLabels({"Name", "What it is"});
  m_tree->setIconSize(kThumbnail);
  m_tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_tree->setEditTriggers(QAbstractItemView::EditKeyPressed);
  m_tree->setAccessibleName("Models, sessions, prompts, runs and bookmarks");
  m_tree->header()->setStretchLastSection(true);
  m_tree->setColumnWidth(kTitle, 330);
  m_message->setWordWrap(true);
  m_message->hide();
  const auto button = [this](const QString& text, const QString& help) {
    auto* b = new QPushButton(text, this);
    b->setAccessibleName(text);
    b->setToolTip(help);
    b->setAutoDefault(false);
    return b;
  };
  m_open = button("Open", "The selected one (Enter)");
  m_rename = button("Rename", "The file of a session, or a bookmark (F2)");
  m_compare = button("Compare", "Two runs of this session, or the runs of other sessions on this prompt");
  m_remove = button("Remove from the list", "The file stays where it is; a bookmark is gone (Ctrl+Z brings it back)");
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  for (QPushButton* b : {m_open, m_rename, m_compare}) row->addWidget(b);
  row->addStretch(1);
  row->addWidget(m_remove);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 12, 12, 12);
  column->setSpacing(8);
  column->addWidget(m_tree, 1);
  column->addWidget(m_message);
  column->addLayout(row);
  connect(m_tree, &QTreeWidget::itemSelectionChanged, this, [this] { refreshButtons(); });
  connect(m_tree, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { open(item); });
  connect(m_tree, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* item, int at) {
    if (!m_refreshing && at == kTitle) rename(item);
  });
  connect(m_open, &QPushButton::clicked, this, [this] {
    if (m_tree->selectedItems().size() == 1) open(m_tree->selectedItems().front());
  });
  connect(m_rename, &QPushButton::clicked, this, [this] {
    if (m_tree->selectedItems().size() == 1) m_tree->editItem(m_tree->selectedItems().front(), kTitle);
  });
  connect(m_compare, &QPushButton::clicked, this, [this] { compare(); });
  connect(m_remove, &QPushButton::clicked, this, [this] { removeSelected(); });
  const auto later = [this] {
    if (isVisible() && m_workspace.snapshot().phase != RunPhase::computing) m_soon.start();
  };
  m_soon.setSingleShot(true);
  m_soon.setInterval(0);
  connect(&m_soon, &QTimer::timeout, this, [this] { refresh(); });
  connect(&workspace, &Workspace::snapshotChanged, this, later);
  connect(&workspace, &Workspace::themeChanged, this, later);
  connect(&bookmarks, &Bookmarks::changed, this, later);
  connect(&recent, &RecentFiles::changed, this, later);
}

void LibraryDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  m_message->hide();
  refresh();
  m_tree->setFocus();
}

QString LibraryDialog::message() const { return m_message->isHidden() ? QString() : m_message->text(); }

void LibraryDialog::say(const QString& text) {
  m_message->setText(text);
  m_message->setVisible(!text.isEmpty());
}

QList<QTreeWidgetItem*> LibraryDialog::rows(Kind kind) const {
  QList<QTreeWidgetItem*> out;
  const QTreeWidgetItem* group = m_tree->topLevelItem(static_cast<int>(kind));
  for (int i = 0; group && i < group->childCount(); ++i)
    if (group->child(i)->data(kTitle, kKindRole).isValid()) out << group->child(i);
  return out;
}

QTreeWidgetItem* LibraryDialog::addRow(Kind kind, const QString& name, const QString& facts, const QImage& picture) {
  auto* item = new QTreeWidgetItem(m_tree->topLevelItem(static_cast<int>(kind)), {name, facts});
  item->setData(kTitle, kKindRole, static_cast<int>(kind));
  item->setToolTip(kFacts, facts);
  item->setSizeHint(kTitle, {0, kThumbnail.height() + 8});
  QImage shown = picture;
  if (shown.isNull()) {
    shown = QImage(kThumbnail, QImage::Format_RGB32);
    shown.fill(toColor(m_workspace.theme().line));
  }
  item->setIcon(kTitle, QIcon(QPixmap::fromImage(shown)));
  return item;
}

void LibraryDialog::addFiles() {
  for (const QString& path : m_recent.all()) {
    const QFileInfo file(path);
    const bool session = path.endsWith(".kvscope", Qt::CaseInsensitive);
    const Kind kind = session                                                              ? Kind::session
                      : file.isDir() || file.suffix().isEmpty() || file.suffix() == "gguf" ? Kind::model
                                                                                           : Kind::prompt;
    QString facts = file.exists() ? whenAndWhere(file) : QString("missing · ") + QDir::toNativeSeparators(file.path());
    if (session && file.exists()) facts = sessionFacts(path) + " · " + facts;
    QTreeWidgetItem* item = addRow(kind, session ? file.completeBaseName() : file.fileName(), facts, m_thumbnails.of(path));
    item->setData(kTitle, kFileRole, path);
    if (session && file.exists()) item->setFlags(item->flags() | Qt::ItemIsEditable);
    if (!file.exists()) {
      for (const int at : {kTitle, kFacts}) item->setForeground(at, toColor(m_workspace.theme().disabled));
      item->setIcon(kTitle, QIcon(item->icon(kTitle).pixmap(kThumbnail, QIcon::Disabled)));
    }
  }
}

void LibraryDialog::addRunsAndBookmarks() {
  const Snapshot& s = m_workspace.snapshot();
  const viz::Theme& theme = m_workspace.theme();
  for (int i = 0; i < static_cast<int>(s.lanes.size()); ++i) {
    const LaneSnapshot& lane = s.lanes[static_cast<std::size_t>(i)];
    const QString facts = QString("%1 · %2 steps · %3 slots per head · %4")
                              .arg(qs(lane.spec))
                              .arg(lane.steps.size())
                              .arg(qs(viz::format_mean(lane.slots)), qs(viz::format_bytes(lane.kv_bytes)));
    addRow(Kind::run, QString("%1  %2").arg(qs(viz::lane_letter(i)), qs(lane.title)), facts, laneThumbnail(s, i, {}, theme))
        ->setData(kTitle, kIndexRole, i);
  }
  for (int i = 0; i < m_bookmarks.size(); ++i) {
    const Bookmark& b = m_bookmarks.all()[static_cast<std::size_t>(i)];
    QTreeWidgetItem* item = addRow(Kind::bookmark, b.name, b.note.isEmpty() ? b.page : b.page + " · " + b.note,
                                   laneThumbnail(s, runNow(m_workspace.snapshot(), b.run, b.selection.lane).lane, b.selection.step, theme));
    item->setData(kTitle, kIndexRole, i);
    item->setFlags(item->flags() | Qt::ItemIsEditable);
  }
}

void LibraryDialog::refresh() {
  m_refreshing = true;
  m_tree->clear();
  constexpr std::array<const char*, kKinds> groups = {"Models", "Sessions", "Prompts", "Runs of this session", "Bookmarks of this session"};
  constexpr std::array<const char*, kKinds> empty = {"no folder was opened yet: Ctrl+O", "none was saved or opened yet: Ctrl+S",
                                                     "no text file was opened yet", "no run yet", "none yet: B marks what is shown"};
  for (const char* group : groups) {
    auto* item = new QTreeWidgetItem(m_tree, {group});
    item->setFirstColumnSpanned(true);
    item->setFlags(Qt::ItemIsEnabled);
    item->setFont(kTitle, uiFont(13, true));
    item->setExpanded(true);
  }
  addFiles();
  addRunsAndBookmarks();
  for (int i = 0; i < kKinds; ++i) {
    QTreeWidgetItem* group = m_tree->topLevelItem(i);
    if (group->childCount() > 0) continue;
    auto* none = new QTreeWidgetItem(group, {empty[static_cast<std::size_t>(i)]});
    none->setFlags(Qt::NoItemFlags);
    none->setFirstColumnSpanned(true);
  }
  m_refreshing = false;
  refreshButtons();
}

void LibraryDialog::refreshButtons() {
  const QList<QTreeWidgetItem*> chosen = m_tree->selectedItems();
  int runs = 0, sessions = 0, removable = 0, missing = 0;
  for (const QTreeWidgetItem* item : chosen) {
    const Kind kind = kindOf(item);
    const bool file = kind == Kind::model || kind == Kind::session || kind == Kind::prompt;
    const bool gone = file && !QFileInfo::exists(item->data(kTitle, kFileRole).toString());
    runs += kind == Kind::run;
    sessions += kind == Kind::session && !gone;
    removable += kind != Kind::run;
    missing += gone;
  }
  const auto n = chosen.size();
  m_open->setEnabled(n == 1 && missing == 0);
  m_rename->setEnabled(n == 1 && (chosen.front()->flags() & Qt::ItemIsEditable));
  m_compare->setEnabled(n > 0 && ((runs == 2 && n == 2) || sessions == n));
  m_remove->setEnabled(n > 0 && removable == n);
}

void LibraryDialog::open(QTreeWidgetItem* item) {
  if (!item->data(kTitle, kKindRole).isValid()) return;
  const Kind kind = kindOf(item);
  const int index = item->data(kTitle, kIndexRole).toInt();
  const QString path = item->data(kTitle, kFileRole).toString();
  if (kind == Kind::run) return Q_EMIT runRequested(index);
  if (kind == Kind::bookmark) return Q_EMIT bookmarkRequested(index);
  if (!QFileInfo::exists(path)) return say(path + " is missing: it was moved or deleted.");
  Q_EMIT fileRequested(path);
}

void LibraryDialog::rename(QTreeWidgetItem* item) {
  const QString name = item->text(kTitle).trimmed();
  if (kindOf(item) == Kind::bookmark) {
    const int i = item->data(kTitle, kIndexRole).toInt();
    Bookmark b = m_bookmarks.all()[static_cast<std::size_t>(i)];
    if (!name.isEmpty()) b.name = name;
    m_soon.start();
    return m_bookmarks.change(i, b);
  }
  const QString from = item->data(kTitle, kFileRole).toString(), to = QFileInfo(from).path() + '/' + name + ".kvscope";
  if (to == from) return;
  QString why;
  if (name.isEmpty() || name.contains('/') || name.startsWith('.'))
    why = QString("\"%1\" is no name for a file.").arg(name);
  else if (QFileInfo::exists(to))
    why = QString("%1 is already there: take another name.").arg(QFileInfo(to).fileName());
  else if (!QFile::rename(from, to))
    why = QString("%1 could not be renamed: the folder may be read-only.").arg(QFileInfo(from).fileName());
  if (why.isEmpty()) {
    m_thumbnails.keep(to, m_thumbnails.of(from), m_recent.all());
    m_recent.replace(from, to);
    Q_EMIT sessionRenamed(from, to);
  }
  m_soon.start();
  say(why);
}

void LibraryDialog::compare() {
  QList<int> lanes;
  const auto n_before = m_controller.laneSpecs().size();
  bool refused = false;
  for (const QTreeWidgetItem* item : m_tree->selectedItems()) {
    if (kindOf(item) == Kind::run) {
      lanes << item->data(kTitle, kIndexRole).toInt();
      continue;
    }
    try {
      const QString path = QFileInfo(item->data(kTitle, kFileRole).toString()).absoluteFilePath();
      const std::vector<LaneSpec> runs = with_files_beside(readSession(path).session.request.lanes, folder_of(path.toStdString()));
      if (const QStringList outside = filesOutside(runs, path, m_controller.modelFolder()); !outside.isEmpty())
        return say(whyNotUnasked(path, outside) + ".");
      for (const LaneSpec& spec : runs) {
        if (m_controller.laneSpecs().contains(qs(spec.text))) continue;
        m_controller.addLane(spec);
        refused = refused || !m_controller.laneSpecs().contains(qs(spec.text));
      }
    } catch (const Error& error) {
      return say(error.what());
    }
  }
  Q_EMIT comparisonRequested(lanes);
  if (!lanes.isEmpty()) return;
  const auto added = m_controller.laneSpecs().size() - n_before;
  QString words = added > 0 ? counted(added, "run", "runs") + " added, on the prompt of this session." : QString();
  if (refused) words += added > 0 ? " Others could not be added." : "None of these runs could be added.";
  say(words.isEmpty() ? "All of these runs are here already." : words);
}

void LibraryDialog::removeSelected() {
  QStringList paths;
  QList<int> marks;
  for (const QTreeWidgetItem* item : m_tree->selectedItems()) {
    if (kindOf(item) == Kind::bookmark)
      marks << item->data(kTitle, kIndexRole).toInt();
    else
      paths << item->data(kTitle, kFileRole).toString();
  }
  std::sort(marks.rbegin(), marks.rend());
  for (const int i : marks) m_bookmarks.remove(i);
  for (const QString& path : paths) m_recent.remove(path);
}

}  // namespace kvscope
