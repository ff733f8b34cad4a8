// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QDialog>
#include <QString>

class QAction;
class QLineEdit;
class QTableWidget;

namespace kvscope {

class KeyEditor;
class KeyMap;
class SessionController;
class Workspace;

/// One line of the key sheet.
struct KeyHelp {
  QString area;  // "File", "Canvas"
  QString what;
  QString keys;
  QAction* action = nullptr;  // the command whose keys may be changed; nullptr: they stay
};

/// Help (F1): every key of the window, read from its actions, the keys of the canvases, how to read the pictures, and what words mean.
/// Searchable; keys of commands can be changed.
class HelpDialog : public QDialog {
  Q_OBJECT

 public:
  /// Reads the actions of `parent`'s window each time it is shown. keys: nullptr: none can be changed.
  HelpDialog(Workspace& workspace, SessionController& controller, QWidget* parent = nullptr, KeyMap* keys = nullptr);

  /// The lines that are shown now (after the search).
  std::vector<KeyHelp> shownKeys() const;
  QLineEdit& search() { return *m_search; }
  QTableWidget& table() { return *m_table; }
  KeyEditor* editor() { return m_editor; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void readKeys();
  void fill();
  void shareWidths();
  void editSelected();

  Workspace& m_workspace;
  KeyMap* m_key_map;
  KeyEditor* m_editor = nullptr;
  std::vector<KeyHelp> m_keys;
  QLineEdit* m_search;
  QTableWidget* m_table;
};

/// Keys of the canvases: they are no QActions, the canvas with the focus takes them.
std::vector<KeyHelp> canvasKeys();

}  // namespace kvscope
