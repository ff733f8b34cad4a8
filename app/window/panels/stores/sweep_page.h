// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>

#include "viz/canvas.h"

class QComboBox;

namespace kvscope {

class StorePanel;
class SweepPanel;
class SweepProcess;
class Workspace;
struct SavedSession;

/// Quality over budget: of the text on screen, or of many texts out of a store.
class SweepPage : public QStackedWidget {
  Q_OBJECT

 public:
  /// Takes the panel of the one text.
  SweepPage(Workspace& workspace, SweepPanel* own, SweepProcess& process, QWidget* parent = nullptr);

  SweepPanel& own() { return *m_own; }
  const SweepPanel& own() const { return *m_own; }
  StorePanel& store() { return *m_store; }
  bool showsStore() const;
  QString facts() const;
  /// For the panel's header: those of what is shown are visible.
  std::vector<QWidget*> controls() const;
  /// What is shown, as numbers and as a picture. measured: there is any.
  bool measured() const;
  viz::Table table() const;
  void save(SavedSession& session) const;
  void restore(const SavedSession& session);
  QImage picture(const QSize& size, double scale, const viz::Theme& theme) const;

 public Q_SLOTS:
  void showStore(bool on);
  /// Throws Error: no store, or a damaged one.
  void openStore(const QString& folder);

 Q_SIGNALS:
  void factsChanged();
  void storeOpened(const QString& folder);

 private:
  void showControls();

  SweepPanel* m_own;
  StorePanel* m_store;
  QComboBox* m_which;
};

}  // namespace kvscope
