// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/help_dialog_guide.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "viz/draw/draw.h"

namespace kvscope {

namespace {

class Swatch : public QWidget {
 public:
  Swatch(Workspace& workspace, Category category, QWidget* parent) : QWidget(parent), m_workspace(workspace), m_category(category) {
    takeSize();
  }

 protected:
  /// A lecture's dialogs get their type when they are shown.
  void changeEvent(QEvent* event) override {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) takeSize();
  }

  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const int side = px(*this, 12);
    paintSwatch(painter, QRectF(0, (height() - side) / 2, side, side), m_workspace.theme(), m_category);
  }

 private:
  void takeSize() { setFixedSize(px(*this, 14), px(*this, 20)); }

  Workspace& m_workspace;
  Category m_category;
};

struct Meaning {
  Category category;
  const char* words;
};

constexpr Meaning kMeanings[] = {
    {Category::sink, "one of the first tokens, never removed"},
    {Category::kept, "has a slot of its own because of its rank"},
    {Category::merged, "has no slot left, another slot stands for it"},
    {Category::recent, "one of the newest, protected for now"},
    {Category::fresh, "came in with this step"},
    {Category::evicted, "gone: no slot stands for it"},
};

constexpr const char* kRules[] = {
    "All views look at the same head, tokens, step and run: the bar under the toolbar shows the selection; × removes an item.",
    "With no head selected, colour counts the heads that still represent a token.",
    "Hatched bars are attention that this query would pay, were every token in place, to one that this cache has lost.",
    "Votes are the original tokens a slot stands for. Votes in slots plus votes lost are the tokens seen.",
    "The local error says where damage starts; KL (in nats) says whether it matters for the next token.",
    "n/a means not measured. It is never zero.",
};

QLabel* text(const QString& words, QWidget* parent, bool bold = false) {
  auto* label = new QLabel(words, parent);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setFont(typeFont(*parent, Type::control, bold));
  label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  return label;
}

}  // namespace

HelpGuide::HelpGuide(Workspace& workspace, QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 4, 0, 0);
  column->setSpacing(8);
  column->addWidget(text("What a colour means", this, true));
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(4);
  grid->setColumnStretch(2, 1);
  int row = 0;
  for (const Meaning& meaning : kMeanings) {
    grid->addWidget(new Swatch(workspace, meaning.category, this), row, 0, Qt::AlignTop);
    grid->addWidget(text(viz::category_name(meaning.category), this), row, 1);
    grid->addWidget(text(meaning.words, this), row, 2);
    ++row;
  }
  column->addLayout(grid);
  column->addSpacing(8);
  column->addWidget(text("How to read the pictures", this, true));
  for (const char* rule : kRules) column->addWidget(text(rule, this));
  column->addStretch(1);
  connect(&workspace, &Workspace::themeChanged, this, [this] {
    for (QWidget* child : findChildren<QWidget*>()) child->update();
  });
}

}  // namespace kvscope
