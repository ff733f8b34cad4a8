// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/model_choice.h"

#include <QDialog>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>

#include "app/window/files/found_models.h"
#include "app/window/files/recent_files.h"
#include "app/window/shell/options.h"

namespace kvscope {

ModelChoice::ModelChoice(const RecentFiles& recent, bool everywhere, QWidget& window)
    : m_recent(recent), m_everywhere(everywhere), m_dialog(new QDialog(&window)), m_in_dialog(new FoundModels(m_finder, m_dialog)) {
  makeDialog();
}

void ModelChoice::makeDialog() {
  m_dialog->setWindowTitle("Open model");
  m_dialog->resize(1040, 520);
  const auto button = [this](const QString& text, const QString& help) {
    auto* b = new QPushButton(text, m_dialog);
    b->setAccessibleName(text);
    b->setToolTip(help);
    b->setAutoDefault(false);
    return b;
  };
  QPushButton* folder = button("Choose a folder…", "A folder with config.json, safetensors and a tokenizer");
  QPushButton* file = button("Choose a GGUF file…", "A model in one file, or the first of several");
  QPushButton* cancel = button("Cancel", "Esc");
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(folder);
  row->addWidget(file);
  row->addStretch(1);
  row->addWidget(cancel);
  auto* column = new QVBoxLayout(m_dialog);
  column->setContentsMargins(12, 12, 12, 12);
  column->setSpacing(10);
  column->addWidget(m_in_dialog, 1);
  column->addLayout(row);
  connectTable(*m_in_dialog);
  connect(cancel, &QPushButton::clicked, m_dialog, &QDialog::reject);
  connect(folder, &QPushButton::clicked, this, [this] {
    m_dialog->reject();
    askForFolder();
  });
  connect(file, &QPushButton::clicked, this, [this] {
    m_dialog->reject();
    askForFile();
  });
}

void ModelChoice::connectTable(FoundModels& table) {
  connect(&table, &FoundModels::lookRequested, this, &ModelChoice::look);
  connect(&table, &FoundModels::openRequested, this, [this](const QString& path) {
    m_dialog->accept();
    Q_EMIT chosen(path);
  });
}

FoundModels* ModelChoice::makeTable(QWidget* parent) {
  auto* table = new FoundModels(m_finder, parent);
  connectTable(*table);
  const auto show = [this, table] { table->setVisible(m_finder.busy() || !m_finder.models().empty()); };
  connect(&m_finder, &ModelFinder::changed, table, show);
  show();
  return table;
}

void ModelChoice::look() {
  QStringList models;
  for (const QString& path : m_recent.all()) {
    const QFileInfo file(path);
    if (file.isDir() || file.suffix().compare("gguf", Qt::CaseInsensitive) == 0) models << path;
  }
  m_everywhere ? m_finder.look(QString::fromStdString(builtInModel()), models) : m_finder.look(std::vector<ModelPlace>());
}

void ModelChoice::askForFolder() {
  const QString folder = QFileDialog::getExistingDirectory(m_dialog->parentWidget(), "Open model folder");
  if (!folder.isEmpty()) Q_EMIT chosen(folder);
}

void ModelChoice::askForFile() {
  const QString path = QFileDialog::getOpenFileName(m_dialog->parentWidget(), "Open model file", {}, "GGUF models (*.gguf);;All files (*)");
  if (!path.isEmpty()) Q_EMIT chosen(path);
}

void ModelChoice::ask() {
  if (!m_finder.busy() && (m_everywhere || m_finder.models().empty())) look();
  m_dialog->open();
  m_in_dialog->setFocus();
}

}  // namespace kvscope
