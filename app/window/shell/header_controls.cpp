// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/header_controls.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QToolButton>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

/// Shortens with "…" what has no room, where Qt cuts letters.
class HeaderBox : public QComboBox {
 protected:
  void paintEvent(QPaintEvent*) override {
    QStylePainter painter(this);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    const QRect room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
    option.currentText = factsThatFit(fontMetrics(), room.width() - 2, option.currentText);  // whole words
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
  }
};

}  // namespace

QComboBox* headerBox(const QString& name) {
  auto* box = new HeaderBox;
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

void addOptionBoxes(Panel& panel, CanvasWidget& canvas) {
  const std::vector<viz::Option> options = canvas.view().options();
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!options[i].listed) continue;
    auto* box = headerBox(QString::fromStdString(options[i].name));
    for (const std::string& choice : options[i].choices) box->addItem(QString::fromStdString(choice));
    box->setCurrentIndex(options[i].current);
    QObject::connect(box, &QComboBox::activated, &canvas, [&canvas, i](int choice) { canvas.choose(i, choice); });
    // Keys of the canvas may choose too.
    QObject::connect(&canvas, &CanvasWidget::factsChanged, box, [box, &canvas, i] {
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

void addHeadBox(Panel& panel, Workspace& workspace) {
  auto* box = headerBox("Heads whose fates colour the text");
  box->setMaxVisibleItems(24);
  panel.addControl(box);
  const auto refresh = [&workspace, box] {
    const ModelConfig& model = workspace.snapshot().model;
    const QSignalBlocker quiet(box);
    const int n = model.n_layers * model.n_kv_heads;
    if (box->count() != n + 1) {
      box->clear();
      box->addItem("all heads");
      for (int i = 0; i < n; ++i) box->addItem(QString("L%1 · H%2").arg(i / model.n_kv_heads).arg(i % model.n_kv_heads));
    }
    const viz::Selection& s = workspace.selection();
    box->setCurrentIndex(s.layer && s.kv_head ? *s.layer * model.n_kv_heads + *s.kv_head + 1 : 0);
  };
  QObject::connect(&workspace, &Workspace::snapshotChanged, box, refresh);
  QObject::connect(&workspace, &Workspace::selectionChanged, box, refresh);
  QObject::connect(box, &QComboBox::activated, box, [&workspace](int index) {
    viz::Selection selection = workspace.selection();
    selection.layer.reset();
    selection.kv_head.reset();
    if (const int n = workspace.snapshot().model.n_kv_heads; index > 0 && n > 0) {
      selection.layer = (index - 1) / n;
      selection.kv_head = (index - 1) % n;
    }
    workspace.setSelection(selection);
  });
  refresh();
}

}  // namespace kvscope
