// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_panel_samples.h"

#include <algorithm>

#include <QMenu>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/window/commands/commands.h"
#include "app/window/panels/prompt/sample_prompts.h"

namespace kvscope {

namespace {
constexpr qsizetype kShown = 3;
}

PromptSamples::PromptSamples(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  const auto& all = samplePrompts();
  for (const SamplePrompt& sample : all.first(std::min<qsizetype>(kShown, all.size()))) {
    auto* button = new QPushButton(asLabel(sample.title));
    button->setObjectName("chip");
    button->setToolTip(sample.about);
    button->setAccessibleName(QString("sample prompt: %1").arg(sample.title));
    column->addWidget(button, 0, Qt::AlignLeft);
    connect(button, &QPushButton::clicked, this, [this, text = sample.text] { Q_EMIT chosen(text); });
  }
  if (all.size() <= kShown) return;
  auto* more = new QPushButton(QString("All %1 samples").arg(all.size()));
  more->setObjectName("chip");
  more->setAccessibleName("all sample prompts");
  auto* menu = new QMenu(more);
  fillWithSamples(*menu, [this](const QString& text) { Q_EMIT chosen(text); });
  more->setMenu(menu);
  column->addWidget(more, 0, Qt::AlignLeft);
}

void fillWithSamples(QMenu& menu, std::function<void(const QString& text)> chosen) {
  menu.setToolTipsVisible(true);
  for (const SamplePrompt& sample : samplePrompts()) {
    QAction* action = menu.addAction(asLabel(sample.title), &menu, [chosen, text = sample.text] { chosen(text); });
    action->setToolTip(sample.about);
  }
  if (menu.isEmpty()) menu.addAction("the list of samples cannot be read")->setEnabled(false);
}

}  // namespace kvscope
