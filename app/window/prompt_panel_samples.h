// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace kvscope {

/// Three prompts to start from, shown over the empty editor; gone with the first character.
class PromptSamples : public QWidget {
  Q_OBJECT

 public:
  explicit PromptSamples(QWidget* parent = nullptr);

 Q_SIGNALS:
  void chosen(const QString& prompt);
};

}  // namespace kvscope
