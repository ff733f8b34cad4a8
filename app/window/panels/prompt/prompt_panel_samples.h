// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <QWidget>

class QMenu;

namespace kvscope {

/// The first three sample prompts and a menu of all, shown over the empty editor; gone with the first character.
class PromptSamples : public QWidget {
  Q_OBJECT

 public:
  explicit PromptSamples(QWidget* parent = nullptr);

 Q_SIGNALS:
  void chosen(const QString& prompt);
};

/// A line for each sample prompt; its tooltip says what to look for.
void fillWithSamples(QMenu& menu, std::function<void(const QString& text)> chosen);

}  // namespace kvscope
