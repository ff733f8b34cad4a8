// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/stores/sweep_page.h"

#include <QComboBox>
#include <QFileInfo>

#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/store_panel.h"
#include "app/window/shell/header_controls.h"

namespace kvscope {

SweepPage::SweepPage(Workspace& workspace, SweepPanel* own, SweepProcess& process, QWidget* parent)
    : QStackedWidget(parent), m_own(own), m_store(new StorePanel(workspace, process, this)), m_which(headerBox("Over which texts")) {
  addWidget(m_own);
  addWidget(m_store);
  m_which->addItems({"this text", "many texts"});
  connect(m_which, &QComboBox::currentIndexChanged, this, [this](int i) {
    setCurrentIndex(i);
    setFocusProxy(currentWidget());
    showControls();
    Q_EMIT factsChanged();
  });
  connect(m_own, &SweepPanel::factsChanged, this, &SweepPage::factsChanged);
  connect(m_store, &StorePanel::factsChanged, this, &SweepPage::factsChanged);
  setFocusProxy(m_own);
  showControls();
}

bool SweepPage::showsStore() const { return currentWidget() == m_store; }

void SweepPage::showStore(bool on) { m_which->setCurrentIndex(on ? 1 : 0); }

void SweepPage::openStore(const QString& folder) {
  m_store->open(folder);
  showStore(true);
  Q_EMIT storeOpened(QFileInfo(folder).absoluteFilePath());
}

QString SweepPage::facts() const { return showsStore() ? m_store->facts() : m_own->facts(); }

std::vector<QWidget*> SweepPage::controls() const {
  std::vector<QWidget*> out = {m_which};
  for (const auto& of : {m_own->controls(), m_store->controls()}) out.insert(out.end(), of.begin(), of.end());
  return out;
}

void SweepPage::showControls() {
  for (QWidget* control : m_own->controls()) control->setVisible(!showsStore());
  for (QWidget* control : m_store->controls()) control->setVisible(showsStore());
}

bool SweepPage::measured() const { return showsStore() ? m_store->data().nThere() > 0 : m_own->data().nMeasured() > 0; }

void SweepPage::save(SavedSession& session) const {
  session.sweep = m_own->saved();
  session.store = showsStore() && !m_store->folder().isEmpty() ? QFileInfo(m_store->folder()).absoluteFilePath() : QString();
}

void SweepPage::restore(const SavedSession& session) {
  m_own->restore(session.sweep);
  if (!session.store.isEmpty()) m_store->reopen(session.store);
  showStore(!session.store.isEmpty());
}

viz::Table SweepPage::table() const { return showsStore() ? m_store->numbers() : m_own->data().table(); }

QImage SweepPage::picture(const QSize& size, double scale, const viz::Theme& theme) const {
  return showsStore() ? m_store->picture(size, scale, theme) : m_own->chart().picture(size, scale, theme);
}

}  // namespace kvscope
