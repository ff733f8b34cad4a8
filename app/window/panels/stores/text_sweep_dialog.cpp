// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/text_sweep_dialog.h"

#include <utility>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/window/look/file_dialogs.h"
#include "app/window/panels/runs/run_grid_model.h"
#include "app/window/panels/stores/sweep_process.h"
#include "app/window/session/run_estimate.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "trace/sweep_reader.h"

namespace kvscope {

namespace {

constexpr int kMostSeeds = 1000, kMostDepths = 100, kMostSamples = 1000, kFewestTokens = 32, kMostTokens = 1 << 20;

const QStringList kBudgets = {"10 %", "20 %", "40 %"};
const QStringList kBudgetsOfBytes = {"30 % bytes", "50 % bytes", "75 % bytes"};  // of storage that takes a fifth at least

}  // namespace

TextSweepDialog::TextSweepDialog(WindowModel& model, SweepProcess& process, QWidget* parent)
    : QDialog(parent),
      m_model(model),
      m_process(process),
      m_source(new QComboBox(this)),
      m_texts(new QLineEdit(this)),
      m_policies(new QLineEdit(this)),
      m_budgets(new QLineEdit(this)),
      m_store(new QLineEdit(this)),
      m_depths(new QSpinBox(this)),
      m_samples(new QSpinBox(this)),
      m_tokens(new QSpinBox(this)),
      m_seeds(new QSpinBox(this)),
      m_words(new QLabel(this)),
      m_command(new QPlainTextEdit(this)),
      m_start(new QPushButton("Start", this)) {
  setWindowTitle("Sweep over texts");
  setModal(false);
  m_source->addItems({"with questions, from a file", "a number hidden in prose"});
  m_source->setAccessibleName("Which texts");
  m_seeds->setRange(1, kMostSeeds);
  m_texts->setAccessibleName("File with the texts");
  m_texts->setToolTip(
      "A JSON object per line: context, question, answer, and perhaps answer_prefix, max_new_tokens, task (RULER's columns)");
  m_policies->setAccessibleName("Policies");
  m_policies->setToolTip("With commas between, each perhaps with keys: name:key=value. The full cache runs in any case");
  m_budgets->setAccessibleName("Budgets");
  m_budgets->setToolTip("Percent of each text's tokens, with commas between");
  m_seeds->setAccessibleName("Seeds");
  m_seeds->setToolTip("How often each text runs, with another seed each time: more than one says something only where lots are drawn");
  m_store->setAccessibleName("Folder of the results");
  m_store->setToolTip("What is finished is kept here, file by file: what is there is not computed again");
  m_words->setWordWrap(true);
  m_words->setTextFormat(Qt::PlainText);
  m_command->setReadOnly(true);
  m_command->setAccessibleName("The command that does the same");
  m_command->setTabChangesFocus(true);
  m_command->setFont(typeFont(*this, Type::caption, false, TypeFace::tabular));
  m_command->setFixedHeight(px(*this, 76));
  m_start->setObjectName("primary");
  m_start->setDefault(true);
  layOut();
  connect(m_texts, &QLineEdit::textChanged, this, &TextSweepDialog::takeTexts);
  for (QLineEdit* line : {m_policies, m_budgets, m_store}) connect(line, &QLineEdit::textChanged, this, &TextSweepDialog::refresh);
  for (QSpinBox* box : {m_depths, m_samples, m_tokens, m_seeds}) connect(box, &QSpinBox::valueChanged, this, &TextSweepDialog::refresh);
  connect(m_start, &QPushButton::clicked, this, &TextSweepDialog::start);
  connect(&m_process, &SweepProcess::changed, this, &TextSweepDialog::refresh);
  connect(&m_model.controller, &SessionController::requestChanged, this, [this] {
    if (isVisible()) suggest();
  });
  connect(&m_model.workspace, &Workspace::themeChanged, this, &TextSweepDialog::refresh);
  m_texts->setText(ownTexts());
  resize(px(*this, 620), sizeHint().height());
}

QWidget* TextSweepDialog::withButton(QLineEdit* line, const QString& help, void (TextSweepDialog::*ask)()) {
  auto* both = new QWidget(this);
  auto* row = new QHBoxLayout(both);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  auto* button = new QPushButton("Choose…", both);
  button->setAutoDefault(false);
  button->setAccessibleName(help);
  button->setToolTip(help);
  row->addWidget(line, 1);
  row->addWidget(button);
  connect(button, &QPushButton::clicked, this, ask);
  return both;
}

QWidget* TextSweepDialog::hiddenFields() {
  auto* all = new QWidget(this);
  auto* row = new QHBoxLayout(all);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  constexpr TextSweep::Hidden kUsual;
  const auto add = [&](QSpinBox* box, const QString& name, const QString& help, std::pair<int, int> range, int value) {
    auto* label = new QLabel(name, all);
    label->setBuddy(box);
    box->setRange(range.first, range.second);
    box->setValue(value);
    box->setAccessibleName(help);
    box->setToolTip(help);
    row->addWidget(label);
    row->addWidget(box);
  };
  add(m_depths, "dept&hs", "At how many depths the number is hidden, from the first place to the last", {1, kMostDepths}, kUsual.depths);
  add(m_samples, "texts &each", "Texts for each depth", {1, kMostSamples}, kUsual.samples);
  add(m_tokens, "to&kens", "Length of each text", {kFewestTokens, kMostTokens}, kUsual.tokens);
  row->addStretch(1);
  return all;
}

bool TextSweepDialog::hides() const { return m_source->currentIndex() == 1; }

void TextSweepDialog::layOut() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(10);
  auto* about = new QLabel(
      "Every policy runs on every text at every budget, beside the full cache, with the model of this window. The context of a text is "
      "compressed before its question is known; then each run answers by itself.",
      this);
  about->setObjectName("secondary");
  about->setWordWrap(true);
  column->addWidget(about);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(10);
  grid->setVerticalSpacing(8);
  auto* texts = new QStackedWidget(this);
  texts->addWidget(withButton(m_texts, "Choose a file of texts", &TextSweepDialog::askForTexts));
  texts->addWidget(hiddenFields());
  texts->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(m_source, &QComboBox::currentIndexChanged, this, [this, texts](int i) {
    texts->setCurrentIndex(i);
    takeTexts();
  });
  const std::vector<std::tuple<QString, QWidget*, QWidget*>> fields = {
      {"&Texts", m_source, m_source},
      {"", m_texts, texts},
      {"&Policies", m_policies, m_policies},
      {"Bud&gets", m_budgets, m_budgets},
      {"See&ds", m_seeds, m_seeds},
      {"&Results in", m_store, withButton(m_store, "Choose a folder for the results", &TextSweepDialog::askForStore)}};
  for (int i = 0; const auto& [name, buddy, widget] : fields) {
    auto* label = new QLabel(name, this);
    label->setBuddy(buddy);
    grid->addWidget(label, i, 0);
    grid->addWidget(widget, i++, 1, widget == m_seeds || widget == m_source ? Qt::AlignLeft : Qt::Alignment());
  }
  column->addLayout(grid);
  m_words->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  column->addWidget(m_words, 1);  // the room that long words have needed stays theirs: no row moves when they go
  column->addWidget(m_command);
  auto* buttons = new QHBoxLayout;
  auto* copy = new QPushButton("Copy the command", this);
  auto* close = new QPushButton("Close", this);
  for (QPushButton* b : {copy, close}) b->setAutoDefault(false);
  buttons->addWidget(copy);
  buttons->addStretch(1);
  buttons->addWidget(close);
  buttons->addWidget(m_start);
  column->addLayout(buttons);
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
  connect(close, &QPushButton::clicked, this, &QDialog::close);
}

QString TextSweepDialog::command() const { return m_command->toPlainText(); }

QString TextSweepDialog::words() const { return m_words->text(); }

void TextSweepDialog::suggest() {
  Swept offer = m_swept.value_or(Swept{});
  if (offer.policies.isEmpty())
    for (const std::string& policy : policiesOf(m_model.controller.request().lanes)) offer.policies << qs(policy);
  const bool of_bytes =
      std::ranges::any_of(offer.policies, [](const QString& policy) { return !find_policy(policyOf(policy.toStdString())).takes_budget; });
  if (offer.budgets.isEmpty()) offer.budgets = of_bytes ? kBudgetsOfBytes : kBudgets;
  const auto suggest_in = [](QLineEdit* line, QString& before, const QString& now) {
    const bool untouched = line->text() == std::exchange(before, now);
    if (untouched) line->setText(now);
  };
  suggest_in(m_policies, m_suggested, offer.policies.join(", "));
  suggest_in(m_budgets, m_budgets_suggested, offer.budgets.join(", "));
  if (m_seeds->value() == std::exchange(m_seeds_suggested, offer.seeds)) m_seeds->setValue(offer.seeds);
  refresh();
}

void TextSweepDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  takeTexts();  // the file may be another one by now
  suggest();
}

void TextSweepDialog::askForTexts() {
  const QString file =
      QFileDialog::getOpenFileName(this, "Texts for a sweep", m_texts->text(), "Texts with questions (*.jsonl);;All files (*)");
  if (!file.isEmpty()) m_texts->setText(file);
}

void TextSweepDialog::askForStore() {
  const QString folder = folderToWriteTo(this, "Folder for the results", QFileInfo(m_store->text()).path());
  if (!folder.isEmpty()) m_store->setText(folder);
}

void TextSweepDialog::takeTexts() {
  const QString file = hides() ? QString() : m_texts->text().trimmed();
  m_wrong_texts.clear();
  m_n_texts = 0;
  try {
    if (!file.isEmpty()) m_n_texts = countTexts(file);
    if (m_n_texts == 0 && !hides())
      m_wrong_texts = file.isEmpty() ? QString("Choose a file of texts.") : QString("%1: expected a text per line, got no line").arg(file);
  } catch (const Error& error) {
    m_wrong_texts = QString::fromUtf8(error.what());
  }
  if (m_store->text() == m_offered) {
    m_offered = storeFor(file);
    m_store->setText(m_offered);
  }
  refresh();
}

std::optional<TextSweep> TextSweepDialog::wanted(QString* why) const {
  const SessionController& controller = m_model.controller;
  if (controller.computesElsewhere())
    *why = "The engine is on another machine, and with it the model: start kvscope-cli sweep there, and open its store from here.";
  else if (sweepProgram().isEmpty())
    *why = "kvscope-cli is neither beside this program nor in the PATH, and it computes sweeps over texts: install it.";
  TextSweep out{.texts = m_texts->text().trimmed(), .store = m_store->text().trimmed(), .model = controller.modelFolder()};
  if (out.model == qs(builtInModel())) out.model.clear();
  if (hides()) out.texts.clear();
  out.hidden = {.depths = m_depths->value(), .samples = m_samples->value(), .tokens = m_tokens->value()};
  out.stream = controller.request().mode == PromptMode::stream;
  out.temperature = controller.request().temperature;
  out.seeds = m_seeds->value();
  const auto refuse = [why](const QString& because) {
    if (why->isEmpty()) *why = because;
  };
  if (!m_wrong_texts.isEmpty()) refuse(m_wrong_texts);
  QString wrong;
  out.policies = parsePolicies(m_policies->text(), &wrong);
  if (!wrong.isEmpty() || out.policies.empty()) refuse(wrong.isEmpty() ? QString("Name one policy at least.") : wrong);
  const std::vector<GridBudget> budgets = parseBudgets(m_budgets->text(), &wrong);
  QString because = wrong.isEmpty() ? QString() : whyNotTaken(wrong, "budget");
  for (const GridBudget& budget : budgets) {
    if (because.isEmpty() && (budget.key == "slots" || budget.key != budgets.front().key))
      because = QString("“%1” is not a budget of this sweep").arg(budget.text);
    out.of_bytes = budget.key == "bytes";
    out.budgets << qs(budget.value);
  }
  if (!because.isEmpty())
    refuse(because +
           ". Texts differ in length: use percents such as 20 %, at most 24 of them, or all of them of bytes, such as 20 % bytes.");
  if (out.budgets.isEmpty()) refuse("Name one budget at least.");
  for (const std::string& policy : out.policies)
    if (const PolicyInfo& info = find_policy(policyOf(policy)); !out.of_bytes && !info.takes_budget)
      refuse(QString("%1 lets no token go: with it the budgets are of bytes, such as 20 % bytes.").arg(qs(info.title)));
  if (out.store.isEmpty()) refuse("Choose a folder for the results.");
  if (!why->isEmpty()) return std::nullopt;
  return out;
}

QString TextSweepDialog::workOf(const TextSweep& sweep) const {
  const auto n_runs = sweep.policies.size() * static_cast<std::size_t>(sweep.budgets.size()) + 1;
  const auto n_texts = static_cast<std::size_t>(sweep.texts.isEmpty() ? sweep.hidden.count() : m_n_texts),
             n_seeds = static_cast<std::size_t>(sweep.seeds);
  QString out = counted(n_texts, "text", "texts");
  if (n_seeds > 1) out += " × " + counted(n_seeds, "seed", "seeds");
  out += QString(" × %1 (%2 at %3, and the full cache): %4 in all.")
             .arg(counted(n_runs, "run", "runs"), counted(sweep.policies.size(), "policy", "policies"),
                  counted(static_cast<std::size_t>(sweep.budgets.size()), "budget", "budgets"),
                  counted(n_texts * n_seeds * n_runs, "item", "items"));
  if (SweepReader::is_store(sweep.store.toStdString()))
    out += " The folder has results already: those of this sweep are not computed again.";
  return out;
}

void TextSweepDialog::refresh() {
  if (!isVisible()) return;
  QString why;
  const std::optional<TextSweep> sweep = wanted(&why);
  m_words->setText(sweep ? workOf(*sweep) : why);
  m_words->setStyleSheet(sweep ? QString() : QString("color: %1").arg(toColor(m_model.workspace.theme().changed).name()));
  m_command->setPlainText(sweep ? shellLine("kvscope-cli", argumentsOf(*sweep)) : QString());
  if (const int needed = layout()->totalHeightForWidth(width()); needed > height()) resize(width(), needed);  // words of one line more
  m_start->setEnabled(sweep && !m_process.running());
  m_start->setToolTip(m_process.running() ? "One sweep over texts is running: cancel it first, or wait" : "");
}

void TextSweepDialog::start() {
  QString why;
  const std::optional<TextSweep> sweep = wanted(&why);
  if (!sweep) return refresh();
  close();
  m_process.start(*sweep);
}

}  // namespace kvscope
