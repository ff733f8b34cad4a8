// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QDialog>

#include "app/window/panels/stores/text_sweep.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace kvscope {

class SweepProcess;
struct WindowModel;

/// Asks for a sweep over many texts: which texts, policies, budgets and seeds, and the folder that keeps what is finished. It says before
/// how much work that is, and the command that does the same.
class TextSweepDialog : public QDialog {
  Q_OBJECT

 public:
  TextSweepDialog(WindowModel& model, SweepProcess& process, QWidget* parent);

  QComboBox& source() { return *m_source; }  // a file; prose in which numbers are hidden
  QLineEdit& texts() { return *m_texts; }
  QSpinBox& depths() { return *m_depths; }
  QSpinBox& samples() { return *m_samples; }
  QSpinBox& tokens() { return *m_tokens; }
  QLineEdit& policies() { return *m_policies; }
  QLineEdit& budgets() { return *m_budgets; }
  QLineEdit& store() { return *m_store; }
  QSpinBox& seeds() { return *m_seeds; }
  QPushButton& startButton() { return *m_start; }
  QString command() const;
  /// What stands in the way, or how much work it is.
  QString words() const;
  /// A sweep over the text on screen that was asked for: the next one, over many, begins with it.
  struct Swept {
    QStringList policies, budgets;  // percents
    int seeds = 1;
  };
  void begin(const std::optional<Swept>& swept) { m_swept = swept; }
  /// The policies, budgets and seeds of that sweep, else the policies of the runs on screen; what was typed stays.
  void suggest();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* withButton(QLineEdit* line, const QString& help, void (TextSweepDialog::*ask)());
  QWidget* hiddenFields();
  void layOut();
  bool hides() const;  // numbers in prose
  void askForTexts();
  void askForStore();
  void takeTexts();
  /// What is asked for; nullopt: not yet, and why.
  std::optional<TextSweep> wanted(QString* why) const;
  QString workOf(const TextSweep& sweep) const;
  void refresh();
  void start();

  WindowModel& m_model;
  SweepProcess& m_process;
  QComboBox* m_source;
  QLineEdit *m_texts, *m_policies, *m_budgets, *m_store;
  QSpinBox *m_depths, *m_samples, *m_tokens, *m_seeds;
  QLabel* m_words;
  QPlainTextEdit* m_command;
  QPushButton* m_start;
  std::optional<Swept> m_swept;
  QString m_suggested, m_budgets_suggested, m_offered;  // policies, budgets and store that nobody typed
  int m_seeds_suggested = 1;
  int m_n_texts = 0;
  QString m_wrong_texts;  // why they cannot be read
};

}  // namespace kvscope
