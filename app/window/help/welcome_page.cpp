// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/welcome_page.h"

#include <array>

#include <QCheckBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>

#include "app/lessons/lesson.h"
#include "app/window/panels/prompt/sample_prompts.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

constexpr int kCardWidth = 272, kCardHeight = 292, kPictureHeight = 120, kCardSpacing = 18, kModelsHeight = 260;  // px at 100 %
constexpr int kMargin = 24, kScrollBar = 14, kCards = 4;

QPushButton* link(const QString& text, QWidget* parent) {
  auto* button = new QPushButton(text, parent);
  button->setObjectName("flat");
  button->setAccessibleName(text);
  return button;
}

}  // namespace

WelcomeCard::WelcomeCard(Picture picture, const QString& title, const QString& text, Workspace& workspace, QWidget* parent)
    : QPushButton(parent), m_picture(picture), m_workspace(workspace), m_title(new QLabel(title, this)), m_text(new QLabel(text, this)) {
  setObjectName("card");
  setAccessibleName(title);
  setAccessibleDescription(text);
  m_title->setObjectName("cardTitle");
  m_text->setObjectName("cardText");
  m_text->setWordWrap(true);
  m_text->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  for (QLabel* label : {m_title, m_text}) label->setAttribute(Qt::WA_TransparentForMouseEvents);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 24 + kPictureHeight, 20, 16);
  column->setSpacing(8);
  column->addWidget(m_title);
  column->addWidget(m_text, 1);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setMinimumHeight(kCardHeight);  // in a low window the gaps give way, not the words
  connect(&workspace, &Workspace::themeChanged, this, qOverload<>(&QWidget::update));
}

void WelcomeCard::setSentence(const QString& text) {
  m_text->setText(text);
  setAccessibleDescription(text);
}

QString WelcomeCard::sentence() const { return m_text->text(); }

QSize WelcomeCard::sizeHint() const { return {kCardWidth, kCardHeight}; }

void WelcomeCard::paintEvent(QPaintEvent* event) {
  QPushButton::paintEvent(event);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!isEnabled()) painter.setOpacity(0.35);
  paintPicture(painter, QRectF(20, 20, width() - 40, kPictureHeight - 8));
}

void WelcomeCard::keyPressEvent(QKeyEvent* event) {
  window()->setAttribute(Qt::WA_KeyboardFocusChange);
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return click();
  QPushButton::keyPressEvent(event);
}

void WelcomeCard::paintPicture(QPainter& painter, const QRectF& area) const {
  const viz::Theme& theme = m_workspace.theme();
  const auto fill = [&theme](Category c) { return toColor(theme.category[static_cast<std::size_t>(c)]); };
  const QColor line = toColor(theme.line),
               faint = mix(toColor(theme.panel), toColor(theme.category[static_cast<std::size_t>(Category::evicted)]), 0.6);
  painter.setPen(Qt::NoPen);
  if (m_picture == Picture::lecture) {  // an atlas of a few heads
    constexpr int kColumns = 20, kRows = 6;
    constexpr std::array<const char*, kRows> kCells = {"SSK..K...M..K..KRRRN", "SS..KK..M....K..RRRN", "SSK....KK..M....RRRN",
                                                       "SS.K..M...K.K...RRRN", "SSKK....K....M.KRRRN", "SS...K.M..K...K.RRRN"};
    const double w = area.width() / kColumns, h = area.height() / kRows;
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) {
        const char kind = kCells[static_cast<std::size_t>(r)][c];
        const QColor colour = kind == 'S'   ? fill(Category::sink)
                              : kind == 'K' ? fill(Category::kept)
                              : kind == 'M' ? fill(Category::merged)
                              : kind == 'R' ? fill(Category::recent)
                              : kind == 'N' ? fill(Category::fresh)
                                            : faint;
        painter.fillRect(QRectF(area.left() + c * w, area.top() + r * h, w - 1, h - 3), colour);
      }
    return;
  }
  if (m_picture == Picture::sample) return paintSample(painter, area);
  if (m_picture == Picture::model) {  // layers over each other
    for (int i = 0; i < 4; ++i) {
      const QRectF layer(area.center().x() - 74 + i * 8, area.top() + 8 + i * 24, 132, 18);
      painter.setBrush(mix(toColor(theme.panel), fill(Category::kept), 0.3 + 0.2 * i));
      painter.drawRoundedRect(layer, 4, 4);
    }
    return;
  }
  // A clock that runs back.
  const QPointF middle = area.center();
  const double radius = area.height() / 2 - 10;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(isEnabled() ? toColor(theme.accent) : line, 5, Qt::SolidLine, Qt::RoundCap));
  painter.drawArc(QRectF(middle.x() - radius, middle.y() - radius, 2 * radius, 2 * radius), 130 * 16, -310 * 16);
  painter.drawLine(middle, middle - QPointF(0, radius * 0.6));
  painter.drawLine(middle, middle + QPointF(radius * 0.4, radius * 0.2));
  const QPointF tip = middle + QPointF(-radius * 0.64, -radius * 0.77);
  painter.drawLine(tip, tip + QPointF(2, -16));
  painter.drawLine(tip, tip + QPointF(-16, 0));
}

/// An answer, and the same with one digit wrong.
void WelcomeCard::paintSample(QPainter& painter, const QRectF& area) const {
  const viz::Theme& theme = m_workspace.theme();
  const QColor changed = toColor(theme.changed), raised = toColor(theme.raised);
  const QString rows[] = {"482", "422"};
  painter.setFont(monoFont(22, true));
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c) {
      const bool wrong = rows[r][c] != rows[0][c];
      const QRectF box(area.center().x() - 75 + c * 52, area.top() + 10 + r * 48, 46, 40);
      painter.setPen(Qt::NoPen);
      painter.setBrush(wrong ? changed : raised);
      painter.drawRoundedRect(box, 5, 5);
      painter.setPen(wrong ? inkOn(theme, changed) : toColor(theme.text));
      painter.drawText(box, Qt::AlignCenter, rows[r].mid(c, 1));
    }
}

WelcomePage::WelcomePage(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
  setObjectName("inspectArea");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName("Welcome");
  m_sample = new WelcomeCard(WelcomeCard::Picture::sample, "See where it breaks",
                             "A tenth of the cache gets one digit wrong. Which head lost it?", workspace);
  m_lecture = new WelcomeCard(WelcomeCard::Picture::lecture, "Open a lesson",
                              QString("What a small cache costs, scene by scene. %1 more are in View > Lecture and teaching > Lessons.")
                                  .arg(built_in_lessons().size() - 1),
                              workspace);
  m_model = new WelcomeCard(WelcomeCard::Picture::model, "Open model",
                            "A GGUF file or a folder with config.json. Or drop one on the window.", workspace);
  m_recover = new WelcomeCard(WelcomeCard::Picture::recover, "Recover session", {}, workspace);
  setRecovery({});
  auto* title = new QLabel("What does a model remember?", this);
  title->setFont(uiFont(26, true));
  auto* below =
      new QLabel("kvscope shows, token by token and head by head, what a smaller key-value cache keeps, merges and forgets.", this);
  below->setObjectName("secondary");
  below->setFont(uiFont(14));
  below->setWordWrap(true);
  below->setAlignment(Qt::AlignHCenter);
  auto* cards = new QWidget(this);
  m_cards = new QGridLayout(cards);
  m_cards->setContentsMargins(0, 0, 0, 0);
  m_cards->setSpacing(kCardSpacing);
  placeCards(kCards);
  m_way_on = link({}, this);
  nameWayOn();
  connect(&workspace, &Workspace::snapshotChanged, this, &WelcomePage::nameWayOn);
  auto* tour = link("A tour in six steps", this);
  m_at_start = new QCheckBox("Show this at every start", this);
  auto* links = new QHBoxLayout;
  links->setSpacing(16);
  links->addStretch(1);
  links->addWidget(m_way_on);
  links->addWidget(tour);
  links->addWidget(m_at_start);
  links->addStretch(1);
  auto* all = new QWidget;
  auto* column = m_column = new QVBoxLayout(all);
  column->setContentsMargins(kMargin, 12, kMargin, 12);
  column->setSpacing(10);
  column->addStretch(3);
  column->addWidget(title, 0, Qt::AlignHCenter);
  column->addWidget(below);
  column->addSpacing(10);
  column->addWidget(cards, 0, Qt::AlignHCenter);
  column->addSpacing(6);
  column->addLayout(links);
  column->addStretch(4);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(all);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(scroll);
  connect(m_sample, &QPushButton::clicked, this, &WelcomePage::sampleRequested);
  connect(m_lecture, &QPushButton::clicked, this, &WelcomePage::lectureRequested);
  connect(m_model, &QPushButton::clicked, this, &WelcomePage::modelRequested);
  connect(m_recover, &QPushButton::clicked, this, &WelcomePage::recoveryRequested);
  connect(m_way_on, &QPushButton::clicked, this, &WelcomePage::inspectRequested);
  connect(tour, &QPushButton::clicked, this, &WelcomePage::tourRequested);
  connect(m_at_start, &QCheckBox::toggled, this, &WelcomePage::shownAtStartChanged);
  QWidget* const order[] = {m_sample, m_lecture, m_model, m_recover, m_way_on, tour, m_at_start};
  for (std::size_t i = 1; i < std::size(order); ++i) setTabOrder(order[i - 1], order[i]);
  setFocusProxy(m_sample);
}

/// The page can be had again while something else is open.
void WelcomePage::nameWayOn() {
  const QString open = QString::fromStdString(m_workspace.snapshot().prompt);
  const bool sample = open.isEmpty() || samplePromptOf(open);
  m_way_on->setText(sample ? "Go on with the sample text (Esc)" : "Go on with what is open (Esc)");
  m_way_on->setAccessibleName(m_way_on->text());
}

void WelcomePage::placeCards(int columns) {
  if (columns == m_columns) return;
  m_columns = columns;
  for (int i = 0; WelcomeCard * card : {m_sample, m_lecture, m_model, m_recover}) {
    m_cards->removeWidget(card);
    m_cards->addWidget(card, i / columns, i % columns);
    ++i;
  }
}

void WelcomePage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const auto fit = [this](int n) { return n * kCardWidth + (n - 1) * kCardSpacing + 2 * kMargin + kScrollBar <= width(); };
  placeCards(fit(kCards) ? kCards : fit(2) ? 2 : 1);
}

void WelcomePage::setRecovery(const QString& sentence) {
  m_recover->setEnabled(!sentence.isEmpty());
  m_recover->setSentence(sentence.isEmpty() ? QString("Nothing was left unsaved by an earlier window: there is nothing to recover.")
                                            : sentence);
}

void WelcomePage::sayUnread(const QString& sentence) { m_recover->setSentence(sentence); }

void WelcomePage::setModels(QWidget* models) {
  models->setMaximumSize(kCards * kCardWidth + (kCards - 1) * kCardSpacing, kModelsHeight);
  auto* middle = new QHBoxLayout;  // under the cards, as wide as four of them at most
  middle->addStretch(1);
  middle->addWidget(models, 1000);
  middle->addStretch(1);
  m_column->insertLayout(m_column->count() - 1, middle, 40);  // rows first, then room around all of it
  setTabOrder(m_at_start, models);
}

void WelcomePage::setShownAtStart(bool on) { m_at_start->setChecked(on); }

}  // namespace kvscope
