// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/model_finder.h"

#include <utility>

#include "found/list_models.h"
#include "found/usual_places.h"

namespace kvscope {

ModelFinder::ModelFinder(QObject* parent) : QObject(parent) { m_thread.setMaxThreadCount(1); }

ModelFinder::~ModelFinder() {
  if (m_newest) m_newest->cancel();
  m_thread.waitForDone();
}

void ModelFinder::look(const QString& built_in, const QStringList& opened_before) {
  std::vector<ModelPlace> places = usual_places();
  places.push_back({"built in", built_in.toStdString()});  // nobody finds it by its folder
  for (const QString& path : opened_before) places.push_back({"opened before", path.toStdString()});
  look(places);
}

void ModelFinder::look(const std::vector<ModelPlace>& places) {
  if (m_newest) m_newest->cancel();
  m_newest = std::make_shared<CancelToken>();
  m_models.clear();
  m_all = 0;
  m_stopped = false;
  m_thread.start([this, places, mine = m_newest] {
    const auto here = [&](auto work) {  // of what was replaced nobody hears any more
      QMetaObject::invokeMethod(
          this,
          [this, mine, work = std::move(work)] {
            if (m_newest == mine) work();
          },
          Qt::QueuedConnection);
    };
    ListOptions options;
    options.cancel = mine.get();
    options.on_model = [&](const FoundModel& model, std::size_t, std::size_t all) { here([this, model, all] { take(model, all); }); };
    try {
      list_models(places, options);
    } catch (const Cancelled&) {
      return;
    }
    here([this] { end(); });
  });
  Q_EMIT changed();
}

void ModelFinder::take(const FoundModel& model, std::size_t all) {
  m_models.push_back(model);
  m_all = all;
  Q_EMIT changed();
}

void ModelFinder::end() {
  m_newest.reset();
  Q_EMIT changed();
}

void ModelFinder::stop() {
  if (!m_newest) return;
  m_newest->cancel();
  m_stopped = true;
  end();
}

}  // namespace kvscope
