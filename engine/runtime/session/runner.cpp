// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/runner.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "core/failure.h"
#include "core/machine_memory.h"
#include "runtime/model/loading.h"
#include "runtime/session/reading.h"

namespace kvscope {

namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::chrono::seconds kRest{2};

struct LoadCommand {
  std::string folder;
  SessionOptions options;
};

}  // namespace

struct Runner::Impl {
  Impl(Mailbox& box, std::function<void()> notify_window, std::uint64_t first)
      : mailbox(box), notify(std::move(notify_window)), generation(first), thread([this] { work(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      quit = true;
      cancel.cancel();
      load_cancel.cancel();
    }
    wake.notify_one();
    thread.join();
  }

  std::uint64_t command(std::optional<LoadCommand> new_load, std::optional<RunRequest> new_request) {
    std::uint64_t mine = 0;
    {
      const std::lock_guard lock(mutex);
      mine = ++generation;
      if (new_load) {
        load = std::move(new_load);
        load_cancel.cancel();  // a request does not end it: it waits for the model
      }
      if (new_request) request = std::move(new_request);
      cancel.cancel();  // what runs now answers an older wish
    }
    wake.notify_one();
    return mine;
  }

  void work() {
    for (;;) {
      std::optional<LoadCommand> now_load;
      std::optional<RunRequest> now_request;
      std::uint64_t now_generation;
      {
        std::unique_lock lock(mutex);
        const auto asked = [this] { return quit || load || request; };
        if (shown > 0 && !wake.wait_for(lock, kRest, asked)) {  // long enough for a window to have let go of what it showed before
          lock.unlock();
          freed.give_back_if_much();
          lock.lock();
        }
        wake.wait(lock, asked);
        if (quit) return;
        now_load = std::exchange(load, std::nullopt);
        now_request = std::exchange(request, std::nullopt);
        now_generation = generation;
        cancel.reset();
        if (now_load) load_cancel.reset();
      }
      started_us = now_us();
      if (now_request) current = std::move(*now_request);
      answer(now_load, now_generation);
    }
  }

  void answer(const std::optional<LoadCommand>& now_load, std::uint64_t now_generation) {
    try {
      if (now_load) {
        opening.resize(1);
        LoadWatch watch(load_cancel, [&](const std::vector<LoadStage>& stages) {
          opening = stages;
          put_changed(shown, [&](Snapshot& s) {
            s.phase = RunPhase::loading;
            s.activity = "reading " + now_load->folder;
            s.loading = stages;
          });
        });
        session = load_session(now_load->folder, now_load->options, watch);  // the old model stays when the new one cannot be opened
        opening.clear();
        answered.reset();
      }
      if (!session) {
        put_failure("no model: open a model folder (File, Open model)", now_generation);
        return;
      }
      const auto progress = [&](const std::string& activity, double fraction) { report(activity, fraction); };
      const auto publish = [&](Snapshot partial) { put(std::move(partial), now_generation); };
      put(session->run(current, cancel, progress, publish), now_generation);
    } catch (const Cancelled&) {
      if (!stopped()) return;
      if (!session)
        put_failure(fmt::format("{} was not opened: stopped; open a model folder (File, Open model)", now_load->folder), now_generation);
      else if (good && !good->lanes.empty() && !(answered && goes_on_from(*answered, current)))
        put_failure("stopped before any of it was computed: Generate, or the next edit, computes it", now_generation);
      else
        publish_phase(RunPhase::idle, "stopped", now_generation);
    } catch (const PromptTooLong& e) {
      put_failure(e.what(), now_generation, e.cut);
    } catch (const std::exception& e) {
      put_failure(words_of(e), now_generation);
    }
  }

  bool stopped() {
    const std::lock_guard lock(mutex);
    return !quit && !load && !request;
  }

  void put(Snapshot snapshot, std::uint64_t of) {
    snapshot.generation = snapshot.lanes_of = shown = of;
    snapshot.sequence = ++sequence;
    snapshot.started_us = started_us;
    snapshot.published_us = now_us();
    auto shared = std::make_shared<const Snapshot>(std::move(snapshot));
    good = shared;
    answered = current;
    mailbox.put(std::move(shared));
    notify();
  }

  // The last good state with another phase: old content stays on screen.
  void put_changed(std::uint64_t of, const std::function<void(Snapshot&)>& change) {
    Snapshot next;
    if (good) next = *good;
    change(next);
    next.generation = shown = of;
    next.sequence = ++sequence;
    mailbox.put(std::make_shared<const Snapshot>(std::move(next)));
    notify();
  }

  void publish_phase(RunPhase phase, const std::string& activity, std::uint64_t of) {
    put_changed(of, [&](Snapshot& s) {
      drop_unread(s);
      s.phase = phase;
      s.activity = activity;
      s.loading = std::exchange(opening, {});
    });
  }

  void put_failure(const std::string& sentence, std::uint64_t of, const PromptCut& cut = {}) {
    put_changed(of, [&](Snapshot& s) {
      drop_unread(s);
      s.phase = RunPhase::failed;
      s.failure = sentence;
      s.cut = cut;
      s.loading = std::exchange(opening, {});
      if (session && s.model.n_layers == 0) {  // a model that has answered nothing yet is open all the same
        s.model = session->config();
        s.device = session->device_name();
      }
    });
  }

  void report(const std::string& activity, double fraction) {
    const auto now = std::chrono::steady_clock::now();
    if (now - reported < std::chrono::milliseconds(100)) return;
    reported = now;
    put_changed(shown, [&](Snapshot& s) {
      s.phase = RunPhase::computing;
      s.activity = activity;
      s.progress = fraction;
    });
  }

  Mailbox& mailbox;
  std::function<void()> notify;

  std::mutex mutex;
  std::condition_variable wake;
  std::optional<LoadCommand> load;
  std::optional<RunRequest> request;
  std::uint64_t generation = 0;
  bool quit = false;
  CancelToken cancel;       // of a run
  CancelToken load_cancel;  // of the opening of a model

  // engine thread only
  std::unique_ptr<Session> session;
  RunRequest current;
  SnapshotPtr good;
  std::optional<RunRequest> answered;  // by `good`, with the model that is open
  std::vector<LoadStage> opening;      // how far a model was opened that is not open yet
  std::uint64_t sequence = 0;
  std::int64_t started_us = 0;  // steady clock, of the request that runs
  std::uint64_t shown = 0;      // generation that the newest snapshot answers; progress of a newer request does not change it
  std::chrono::steady_clock::time_point reported;
  FreedMemory freed;

  std::thread thread;  // last: starts when everything above is there
};

Runner::Runner(Mailbox& mailbox, std::function<void()> on_snapshot, std::uint64_t generation)
    : impl_(std::make_unique<Impl>(mailbox, std::move(on_snapshot), generation)) {}
Runner::~Runner() = default;

std::uint64_t Runner::load_model(std::string folder, SessionOptions options) {
  return impl_->command(LoadCommand{std::move(folder), std::move(options)}, std::nullopt);
}
std::uint64_t Runner::submit(RunRequest request) { return impl_->command(std::nullopt, std::move(request)); }
void Runner::stop() {
  impl_->cancel.cancel();
  impl_->load_cancel.cancel();
}

}  // namespace kvscope
