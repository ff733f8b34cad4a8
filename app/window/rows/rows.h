// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <QElapsedTimer>
#include <QFrame>
#include <QTimer>

#include "viz/canvas.h"
#include "viz/reduce/finding.h"
#include "viz/selection.h"

class QAction;
class QBoxLayout;
class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;
class QToolButton;

namespace kvscope {

class BudgetBox;
class Chip;
class CrumbSentence;
class SessionController;
class StepAnswer;
class Workspace;

/// Toolbar: open, save, generate, and policy and budget of the selected lane.
class ToolRow : public QFrame {
  Q_OBJECT

 public:
  ToolRow(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);
  /// How many tokens a press of Generate adds up to.
  int generateCount() const;
  void setGenerateCount(int n);
  QToolButton* compareButton() const { return m_compare; }
  QComboBox* policyBox() const { return m_policy; }
  QToolButton* addButton() const { return m_add; }
  QSlider* budgetSlider() const { return m_slider; }
  BudgetBox* budgetBox() const { return m_slots; }
  /// At once what waits for its pause.
  void sendWaitingBudget();

 Q_SIGNALS:
  void openRequested();
  void saveRequested();
  void generateRequested();
  void stopRequested();
  void nextRequested();
  void compareToggled(bool on);
  void findRequested();
  /// Beside the others, and to be looked at.
  void runWanted(const QString& spec);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void listen();
  void refresh();
  bool hasBudget() const;
  QString facts() const;
  void sayFacts();
  /// How much of it there is room to say.
  enum class BudgetOf { name, letter, only_letter };
  void sayBudgetOf(BudgetOf how);
  void sayWhyNot(const QString& why);
  void fit();
  void applyTheme();
  void policyChosen(int index);
  void addChosen(const QString& policy);
  void budgetChosen(int nSlots, const std::optional<double>& share = {});
  void sendBudget();

  Workspace& m_workspace;
  SessionController& m_controller;
  QToolButton *m_open, *m_save, *m_stop, *m_next, *m_add, *m_compare, *m_find;
  QPushButton* m_generate;
  QSpinBox* m_count;
  QComboBox* m_policy;
  QSlider* m_slider;
  BudgetBox* m_slots;
  QLabel *m_budget_of, *m_budget_facts;
  QTimer m_coalesce;  // a dragged slider sends its latest value, not every one
  int m_wanted = -1;
  std::optional<double> m_wanted_share;  // of the prompt, where the budget is one
  int m_wanted_lane = -1;
  QString m_wanted_of;                    // the specification that the budget was chosen for
  QString m_budget_run;                   // whose budget was named last
  std::pair<QString, int> m_fitted = {};  // of which run, and how wide the row was, when words were last taken out
  bool m_refreshing = false;
};

/// What is selected, in words, each part with a cross; a history of what was looked at (selection, step, range, page) to the left.
class CrumbRow : public QFrame {
  Q_OBJECT

 public:
  explicit CrumbRow(Workspace& workspace, QWidget* parent = nullptr);
  /// The window of tokens that canvases show is a place of the history, too.
  void followZoom(std::shared_ptr<viz::TokenWindow> window) { m_zoom = std::move(window); }
  bool canGoBack() const { return m_at > 0; }
  bool canGoForward() const { return m_at + 1 < m_history.size(); }

 public Q_SLOTS:
  void back();
  void forward();
  void clearSelection();
  /// The page that is shown now; a page is a place of the history, too.
  void setPage(int page);
  /// What the runs came to has the keyboard: it is what a screen reader begins with.
  void focusSentence(Qt::FocusReason why);
  /// What a change came to that was offered here.
  void followAnswer(const StepAnswer& answer) { m_answer = &answer; }
  /// On the welcome nothing is seen yet of what its words and questions are about.
  void setWelcome(bool on);
  /// What is shown now is where the history begins: what was before has not been seen.
  void beginHere();
  /// What is selected now was not chosen for the question "why?".
  void takeAsGiven();
  /// A canvas may have been zoomed or moved.
  void lookAtZoom();
  /// Why did the token leave that was chosen in a head, or else the one that the sentence speaks of?
  void askWhy();

 Q_SIGNALS:
  void pageRequested(int page);
  void zoomRestored();
  /// Why did the token leave that is selected?
  void whyRequested();
  /// What would have saved the answer, or what came of that question.
  void savedRequested();
  /// A budget that was found is to be set: slots per head to ask for, and which share of the prompt that is.
  void budgetRequested(int slots, const QString& share);
  /// Which head breaks the answer?
  void whichRequested();
  /// This head is to keep its full cache.
  void fullCacheRequested(int layer, int kvHead);
  /// Another step than the one that is shown is wrong: which?
  void differenceRequested();

 private:
  bool eventFilter(QObject* watched, QEvent* event) override;
  struct Place {
    viz::Selection selection;
    int page = 0;
    viz::TokenWindow zoom;
    std::string run = {};  // the specification of the run that was looked at
    std::size_t n_runs = 0;
    bool operator==(const Place& other) const { return selection == other.selection && page == other.page && zoom == other.zoom; }
  };
  void listen();
  void refresh();
  void offerHeads();
  void offerBudgets();
  void offerRuns();
  QString welcomeWords(const Snapshot& snapshot, const LaneSnapshot& lane);
  void refreshQuestions();
  struct AskedToken {
    int layer = -1, kv_head = -1, token = -1;
    bool operator==(const AskedToken&) const = default;
  };
  AskedToken selectedToken() const;
  AskedToken askedToken(const viz::Loss& loss) const;
  AskedToken tokenOf(const viz::Loss& loss) const;
  int slotOf(int head, int token) const;
  viz::Loss lossNamed();
  QString whyWords();
  void remember();
  void go(qsizetype to);
  void travel(qsizetype by);
  Chip* chip(const QString& text, const QString& help, bool active);
  void applyTheme();

  Workspace& m_workspace;
  QToolButton *m_back, *m_forward;
  Chip *m_head, *m_tokens, *m_steps, *m_step, *m_lane;
  QPushButton *m_elsewhere, *m_saved, *m_which, *m_why, *m_clear;
  CrumbSentence* m_sentence;
  viz::FindingOnce m_finding;
  AskedToken m_shown_why;  // that stood selected when the sentence came to be, or that this has selected: nobody chose it for the question
  AskedToken m_selected;
  std::tuple<std::string, std::string, int> m_why_of;  // prompt, run and step that the question "why?" stood beside last
  viz::AgreementOnce m_agreement;
  const StepAnswer* m_answer = nullptr;
  std::shared_ptr<viz::TokenWindow> m_zoom = std::make_shared<viz::TokenWindow>();
  QList<Place> m_history;
  QElapsedTimer m_remembered;
  bool m_moving = false;  // the last place differs from the one before by its step, or by its zoom, only
  int m_page = 0;
  bool m_welcome = false;
  qsizetype m_at = -1;
  bool m_travelling = false;
};

/// One thing that went wrong or should be known, with what to do about it; goes away by its cross or when the cause is gone.
class MessageBar : public QFrame {
  Q_OBJECT

 public:
  explicit MessageBar(Workspace& workspace, QWidget* parent = nullptr);
  /// `details` is what Copy details puts on the clipboard; `remedy` names a button that does `run`, `other` a second one. An offer (a
  /// message with a remedy) that was not answered comes back when what was said over it is dismissed.
  void show(const QString& text, const QString& details, const QString& remedy = {}, const std::function<void()>& run = {},
            const QString& other = {}, const std::function<void()>& run_other = {});
  enum class Tone : std::uint8_t { failure, news };
  /// The same, once what is said now has been read: it has a matter of its own.
  void showAfter(const QString& text, const QString& details, const QString& remedy = {}, const std::function<void()>& run = {},
                 Tone tone = Tone::failure);
  /// What it says went well: without the colour of a failure, until the next message.
  void markNews();
  void dismiss();
  /// The same, and nothing comes back or after it.
  void clear();
  /// Goes away if this is what it says.
  void takeBack(const QString& text);
  QString text() const;
  /// It says this, or will once other things have been read.
  bool holds(const QString& text) const;

 Q_SIGNALS:
  void said(const QString& text);
  void cleared();
  /// By its cross: what it was about.
  void dismissed(const QString& details);

 private:
  struct Message {
    QString text, details, remedy, other;
    std::function<void()> run, run_other;
    bool news = false;
  };
  void say(const Message& message);
  void setNews(bool news);

  QLabel* m_text;
  QPushButton *m_remedy, *m_other;
  QToolButton* m_close;
  Message m_now;
  std::optional<Message> m_below;  // an offer that something else was said over
  std::vector<Message> m_after;    // to be said once what is said now is dismissed, the first first
};

/// Thin line under the breadcrumb while the engine computes.
class ProgressLine : public QWidget {
  Q_OBJECT

 public:
  explicit ProgressLine(Workspace& workspace, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Workspace& m_workspace;
};

/// idle or what is computed, run facts, memory, keys.
class StatusRow : public QFrame {
  Q_OBJECT

 public:
  StatusRow(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr);
  QString stateText() const;
  /// Runs of the queue that run or wait, and whether a program of its own sweeps over texts.
  void setQueued(int n, bool sweeping);

 Q_SIGNALS:
  void jobsClicked();

 private:
  void refresh();
  Workspace& m_workspace;
  SessionController& m_controller;
  int m_queued = 0;
  bool m_sweeping = false;
  QLabel *m_state, *m_jobs, *m_run, *m_seed, *m_memory;
};

}  // namespace kvscope
