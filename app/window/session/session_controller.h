// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include <QObject>
#include <QString>
#include <QStringList>

#include "app/window/session/fork_parents.h"
#include "runtime/session/engine.h"
#include "runtime/session/run_request.h"
#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope {

class Workspace;

/// The only place that talks to the engine: holds the wanted state (RunRequest), submits it when it changes (an edit within
/// 40 ms of another one after a pause of as long, everything else at once) and hands finished snapshots to the workspace. UI thread only;
/// the engine's thread only wakes it.
class SessionController : public QObject {
  Q_OBJECT

 public:
  SessionController(Workspace& workspace, QObject* parent = nullptr);
  ~SessionController() override;

  const RunRequest& request() const { return m_request; }
  QStringList laneSpecs() const;
  /// Folder of the model asked for last.
  const QString& modelFolder() const { return m_model_folder; }
  /// For people: of a cache the model, not the folder of its revision.
  QString modelName() const;
  /// The model that is open has no tokenizer: nothing that is typed can be computed.
  static bool readsNoText(const Snapshot& snapshot);
  /// Another engine computes from now on; what is loaded and asked for is asked of it, too. "exec:PATH", "ssh:HOST[:PATH]"; empty: this
  /// process. Throws UsageError, and nothing has changed.
  void setEngine(const QString& address);
  /// Where runs are computed, and how the line is.
  EngineLink engineLink() const;
  /// Runs are computed by another process, whose models are not looked at from here.
  bool computesElsewhere() const { return !m_engine.isEmpty(); }
  /// True for the result of what is wanted now.
  bool answersNewest(const Snapshot& snapshot) const;
  /// Why a lane of this specification cannot run on the present model and prompt; empty: it can, or nothing is known yet. Files that it
  /// names are read by a thread of their own: what comes of that is known later (refusalsChanged).
  QString refusalOf(const LaneSpec& spec);
  /// Stored results are shown.
  bool viewOnly() const { return !m_view_only.isEmpty(); }
  /// Why nothing can be computed from what is shown; empty: it can.
  QString whyViewOnly() const { return m_view_only; }
  /// True where nothing can be computed from what is shown; it is said why.
  bool refuses();
  /// A text that is not taken leaves the runs before on screen: in the place of this one stands another than the one that is asked for.
  bool showsAnother(int lane) const;
  static constexpr const char* kAnotherRun =
      "the text was not taken, so the runs on screen are those of before, and another one is asked for in this place: mend the text first";
  static QString anotherWords() { return QString("Nothing was changed: %1.").arg(kAnotherRun); }
  /// Why there is no room for so many runs, the full cache among them; empty: there is.
  static QString noRoomFor(std::size_t runs);
  /// An extra run is being computed.
  bool hasExtra() const;
  /// Memory for recorded results, of models loaded from now on; 0: the engine's choice.
  void setRecordLimit(std::size_t bytes) { m_record_limit = bytes; }
  ForkParents& forks() { return m_forks; }
  /// Edits of the runs between beginDrag() and endDrag() are one, however long they take: its number, 0 where none goes on.
  int drag() const { return m_dragging ? m_drags : 0; }

 public Q_SLOTS:
  void loadModel(const QString& folder);
  void setPrompt(const QString& text, kvscope::PromptText what = kvscope::PromptText::plain);
  void setLaneSpec(int lane, const kvscope::LaneSpec& spec);  // lane >= 1; checked here, like a text
  void setLaneSpec(int lane, const QString& text);
  void addLane(const kvscope::LaneSpec& spec);
  void addLane(const QString& text);
  void removeLane(int lane);  // lane >= 1
  void setPromptMode(kvscope::PromptMode mode);
  void setFollow(kvscope::Follow follow);
  void setTemperature(double temperature);
  void setSeed(quint64 seed);
  void setHistory(bool on);
  void want(const kvscope::viz::WantMeasure& wanted);
  void generate(int nTokens);  // so many tokens after the prompt in all
  void stop();
  void stopLoading();                                       // what was typed meanwhile is computed on the model that stays
  void replaceRequest(const kvscope::RunRequest& request);  // undo, edits by hand: everything at once
  /// The runs as they are about the text as it is: while it is being edited (promptEdited) with it, else at once, unless the user has
  /// stopped what they are computed for.
  void correctRuns(std::vector<kvscope::LaneSpec> lanes);
  void openRequest(const kvscope::RunRequest& request);  // start-up, a session: the same, in place of stored results too
  /// Shows results that were computed elsewhere, for `request`. Until a model is loaded or a request is opened every command is refused
  /// with `why`.
  void showStored(const kvscope::SnapshotPtr& results, const kvscope::RunRequest& request, const QString& why);
  void beginDrag();
  void endDrag();

  /// Runs one lane more than the request has, beside what is on screen and without touching it. Any other command ends it (extraEnded).
  void runExtra(const QString& text);
  void endExtra();
  /// Takes the extra run of this result into the request; nothing is computed again. Only from within extraDone.
  void adoptExtra(const kvscope::SnapshotPtr& result);

 Q_SIGNALS:
  void requestChanged();
  /// The text was edited, not replaced together with the runs: before requestChanged.
  void promptEdited();
  /// refusalOf() knows more now.
  void refusalsChanged();
  /// The model of this folder was asked for and is open; before the first result of it.
  void modelOpened(const QString& folder);
  /// The engine has a command; its answers carry this generation.
  void submitted(quint64 generation);
  /// A command was refused before it reached the engine (bad specification): one sentence with remedy.
  void refused(const QString& message);
  void extraProgress(double fraction);
  /// The extra run is the last lane of the result.
  void extraDone(const kvscope::SnapshotPtr& result);
  void extraFailed(const QString& why);
  /// Something else was wanted before it was ready.
  void extraEnded();

 private:
  void submit();
  void deliver();
  void deliverExtra(const SnapshotPtr& snapshot);
  bool refusesAnother(int lane);  // where showsAnother(): it is said
  /// What somebody wrote; refused() says what is wrong with it.
  bool accepts(const LaneSpec& spec);
  bool roomFor(std::size_t runs);
  std::optional<LaneSpec> parsed(const QString& text);
  void take(const RunRequest& request);

  Workspace& m_workspace;
  RunRequest m_request;
  QString m_model_folder;
  QString m_engine;  // address; empty: this process
  std::size_t m_record_limit = 0;
  QString m_view_only;  // why nothing is computed; empty: it is
  ForkParents m_forks;
  int m_drags = 0;
  bool m_dragging = false;
  struct Private;
  std::unique_ptr<Private> d;
};

}  // namespace kvscope
