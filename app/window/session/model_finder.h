// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include "core/cancel.h"
#include "found/found_model.h"

namespace kvscope {

/// Looks for models on this machine on a thread of its own. Signals come on the thread of this object, a model as soon as all is known of
/// it.
class ModelFinder : public QObject {
  Q_OBJECT

 public:
  explicit ModelFinder(QObject* parent = nullptr);
  ~ModelFinder() override;  // waits for the model that is being looked into

  /// Begins anew: where other programs keep models, the model that comes with the program, and what was opened before.
  void look(const QString& built_in, const QStringList& opened_before);
  void look(const std::vector<ModelPlace>& places);
  void stop();

  const std::vector<FoundModel>& models() const { return m_models; }  // so far
  bool busy() const { return m_newest != nullptr; }
  bool stopped() const { return m_stopped; }
  std::size_t all() const { return m_all; }  // how many there are to look into; 0: not known yet

 Q_SIGNALS:
  void changed();  // begun, one more, ended

 private:
  void take(const FoundModel& model, std::size_t all);
  void end();

  QThreadPool m_thread;                   // one
  std::shared_ptr<CancelToken> m_newest;  // null: nothing is being looked for
  std::vector<FoundModel> m_models;
  std::size_t m_all = 0;
  bool m_stopped = false;
};

}  // namespace kvscope
