// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/found_models.h"

#include <algorithm>
#include <cmath>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>

#include "app/window/session/model_finder.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

constexpr int kName = 0, kPlace = 1, kFamily = 2, kWeights = 3, kDisk = 4, kMemory = 5;
constexpr int kState = kMemory + static_cast<int>(kFoundContexts.size());
constexpr int kPathRole = Qt::UserRole, kProblemRole = Qt::UserRole + 1;
constexpr int kNameWidth = 230, kTextWidth = 96, kNumberWidth = 74;  // px at 100 %

QString sizeOrDash(double bytes) { return std::isnan(bytes) || bytes <= 0 ? QString("–") : qs(viz::format_bytes(bytes)); }

}  // namespace

FoundModels::FoundModels(ModelFinder& finder, QWidget* parent)
    : QWidget(parent),
      m_finder(finder),
      m_table(new QTreeWidget(this)),
      m_status(new QLabel(this)),
      m_details(new QLabel(this)),
      m_open(new QPushButton("Open", this)),
      m_stop(new QPushButton(this)) {
  QStringList headers = {"Model on this machine", "Found in", "Family", "Weights", "On disk"};
  for (const int n : kFoundContexts) headers << QString(n == kFoundContexts.front() ? "Memory at %1K" : "at %1K").arg(n / 1024);
  m_table->setHeaderLabels(headers << "Opens");
  m_table->setRootIsDecorated(false);
  m_table->setUniformRowHeights(true);
  m_table->setAllColumnsShowFocus(true);
  m_table->setAccessibleName("Models on this machine");
  m_table->headerItem()->setToolTip(kDisk, "The files of the model");
  for (std::size_t i = 0; i < kFoundContexts.size(); ++i) {
    const int column = kMemory + static_cast<int>(i);
    m_table->headerItem()->setToolTip(
        column,
        QString("Memory of the weights and the full cache in f32 after %1 tokens; –: the model was made for fewer").arg(kFoundContexts[i]));
  }
  for (int column = kName; column < kState; ++column)
    m_table->setColumnWidth(column, column == kName ? kNameWidth : column < kDisk || column == kMemory ? kTextWidth : kNumberWidth);
  for (int column = kDisk; column < kState; ++column) m_table->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
  m_table->header()->setStretchLastSection(true);
  m_status->setObjectName("secondary");
  m_details->setObjectName("secondary");
  m_details->setWordWrap(true);
  m_details->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_stop->setObjectName("flat");
  m_stop->setAutoDefault(false);
  m_open->setAccessibleName("Open the selected model");
  m_open->setToolTip("The selected model (Enter)");
  m_open->setAutoDefault(false);
  m_open->setEnabled(false);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(m_status, 1);
  row->addWidget(m_stop);
  row->addWidget(m_open);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  column->addWidget(m_table, 1);
  column->addWidget(m_details);
  column->addLayout(row);
  setFocusProxy(m_table);
  connect(m_table, &QTreeWidget::itemSelectionChanged, this, [this] { showDetails(); });
  connect(m_table, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) { activate(item); });
  connect(m_open, &QPushButton::clicked, this, [this] { Q_EMIT openRequested(chosen()); });
  connect(m_stop, &QPushButton::clicked, this, [this] {
    if (m_finder.busy()) return m_finder.stop();
    Q_EMIT lookRequested();
  });
  connect(&finder, &ModelFinder::changed, this, [this] { refresh(); });
  refresh();
}

QString FoundModels::status() const { return m_status->text(); }

QString FoundModels::details() const { return m_details->isHidden() ? QString() : m_details->text(); }

QString FoundModels::chosen() const {
  const QList<QTreeWidgetItem*> items = m_table->selectedItems();
  if (items.isEmpty() || !items.front()->data(kName, kProblemRole).toString().isEmpty()) return {};
  return items.front()->data(kName, kPathRole).toString();
}

void FoundModels::refresh() {
  const std::vector<FoundModel>& models = m_finder.models();
  if (models.size() < m_shown) {
    m_table->clear();
    m_shown = 0;
    m_opening = 0;
    showDetails();
  }
  while (m_shown < models.size()) addRow(m_shown++);
  const QString opening =
      QString("%1, %2 of them %3").arg(counted(models.size(), "model", "models")).arg(m_opening).arg(m_opening == 1 ? "opens" : "open");
  if (m_finder.busy())
    m_status->setText(m_finder.all() == 0 ? QString("Looking for models…")
                                          : QString("Looked into %1 of %2…").arg(models.size()).arg(m_finder.all()));
  else if (m_finder.stopped())
    m_status->setText(QString("Stopped: %1 so far").arg(opening));
  else
    m_status->setText(models.empty() ? QString("No models of other programs on this machine") : opening);
  const QString act = m_finder.busy() ? "Stop looking" : "Look again";
  m_stop->setText(act);
  m_stop->setAccessibleName(act);
}

void FoundModels::addRow(std::size_t index) {
  const FoundModel& model = m_finder.models()[index];
  const QString problem = qs(model.problem), path = qs(model.path);
  auto* item = new QTreeWidgetItem;
  item->setText(kName, qs(model.name));
  item->setText(kPlace, qs(model.place));
  item->setText(kFamily, model.family.empty() ? QString("–") : qs(model.family));
  item->setText(kWeights, model.numbers.empty() ? QString("–") : qs(model.numbers));
  item->setText(kDisk, sizeOrDash(model.disk_bytes));
  for (std::size_t i = 0; i < model.run_bytes.size(); ++i) item->setText(kMemory + static_cast<int>(i), sizeOrDash(model.run_bytes[i]));
  item->setText(kState, !model.opens() ? "no: " + problem : model.reads_text ? QString("yes") : QString("yes, token ids only"));
  item->setData(kName, kPathRole, path);
  item->setData(kName, kProblemRole, problem);
  for (int column = kDisk; column < kState; ++column) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
  item->setToolTip(kName, path);
  item->setToolTip(kWeights, qs(model.numbers));
  item->setToolTip(kState, model.reads_text ? problem : QString("It has no tokenizer, so text cannot be turned into tokens"));
  if (!model.opens())
    for (int column = kName; column <= kState; ++column) item->setForeground(column, palette().brush(QPalette::Disabled, QPalette::Text));
  model.opens() ? m_table->insertTopLevelItem(m_opening++, item) : m_table->addTopLevelItem(item);
}

void FoundModels::showDetails() {
  const QList<QTreeWidgetItem*> items = m_table->selectedItems();
  const QString problem = items.isEmpty() ? QString() : items.front()->data(kName, kProblemRole).toString();
  m_details->setText(items.isEmpty()     ? QString()
                     : problem.isEmpty() ? items.front()->data(kName, kPathRole).toString()
                                         : "Does not open: " + problem);
  m_details->setVisible(!items.isEmpty());
  m_open->setEnabled(!chosen().isEmpty());
}

/// Of one that does not open the reason is already there: it was selected by the same key or click.
void FoundModels::activate(const QTreeWidgetItem* item) {
  if (item->data(kName, kProblemRole).toString().isEmpty()) Q_EMIT openRequested(item->data(kName, kPathRole).toString());
}

}  // namespace kvscope
