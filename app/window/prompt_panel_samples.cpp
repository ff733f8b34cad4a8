// SPDX-License-Identifier: Apache-2.0
#include "app/window/prompt_panel_samples.h"

#include <QPushButton>
#include <QVBoxLayout>

namespace kvscope {

namespace {

struct Sample {
  const char* title;
  const char* prompt;
};

// Each makes one effect of a small cache easy to see.
constexpr Sample kSamples[] = {
    {"A fact hidden in a story, asked for at the end",
     "Anna walked along the river until the lights of the town were far behind her. The water was high and brown after the rain, and now and then a "
     "branch came down with it. The house number of Helen is 482. She thought of the long winter, of the fire in the kitchen, and of the letter that "
     "had not been answered. An old man with a dog came the other way and wished her a good evening, and then the path was empty again.\n"
     "What is the house number of Helen? The house number of Helen is"},
    {"A word that points back",
     "The cat sat on the mat because it was warm. The dog lay at the door because it was cold. When the rain came, the cat"},
    {"A text that repeats itself",
     "one two three four five six seven eight nine ten. one two three four five six seven eight nine ten. one two three four five six seven eight nine "
     "ten. one two three four"},
};

}  // namespace

PromptSamples::PromptSamples(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  for (const Sample& sample : kSamples) {
    auto* button = new QPushButton(sample.title);
    button->setObjectName("chip");
    button->setToolTip(QString(sample.prompt).left(200) + "…");
    button->setAccessibleName(QString("sample prompt: %1").arg(sample.title));
    column->addWidget(button, 0, Qt::AlignLeft);
    connect(button, &QPushButton::clicked, this, [this, prompt = sample.prompt] { Q_EMIT chosen(prompt); });
  }
}

}  // namespace kvscope
