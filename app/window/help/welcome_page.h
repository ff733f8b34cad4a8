// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPushButton>
#include <QString>

class QCheckBox;
class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace kvscope {

class Workspace;

/// A large button with a picture, a title and a sentence.
class WelcomeCard : public QPushButton {
  Q_OBJECT

 public:
  enum class Picture { sample, lecture, model, recover };
  WelcomeCard(Picture picture, const QString& title, const QString& text, Workspace& workspace, QWidget* parent = nullptr);
  void setSentence(const QString& text);
  QString sentence() const;
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void paintPicture(QPainter& painter, const QRectF& area) const;
  void paintSample(QPainter& painter, const QRectF& area) const;

  Picture m_picture;
  Workspace& m_workspace;
  QLabel *m_title, *m_text;
};

/// What a start without files shows: four ways to begin. It covers no menu, and any of them, or Escape, leads on. Where a window is narrow
/// the cards stand in two rows, and what has no room below can be scrolled to.
class WelcomePage : public QWidget {
  Q_OBJECT

 public:
  explicit WelcomePage(Workspace& workspace, QWidget* parent = nullptr);
  /// What was not saved, in words; empty: there is nothing to recover.
  void setRecovery(const QString& sentence);
  /// Of what cannot be recovered, instead of that there is nothing.
  void sayUnread(const QString& sentence);
  void setShownAtStart(bool on);
  /// A table below the cards.
  void setModels(QWidget* models);
  WelcomeCard& sampleCard() { return *m_sample; }
  WelcomeCard& lectureCard() { return *m_lecture; }
  WelcomeCard& modelCard() { return *m_model; }
  WelcomeCard& recoverCard() { return *m_recover; }

 Q_SIGNALS:
  void sampleRequested();
  void lectureRequested();
  void modelRequested();
  void recoveryRequested();
  void inspectRequested();
  void tourRequested();
  void shownAtStartChanged(bool on);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void placeCards(int columns);
  void nameWayOn();

  Workspace& m_workspace;
  QPushButton* m_way_on;
  WelcomeCard *m_sample, *m_lecture, *m_model, *m_recover;
  QCheckBox* m_at_start;
  QGridLayout* m_cards;
  QVBoxLayout* m_column;
  int m_columns = 0;  // of cards
};

}  // namespace kvscope
