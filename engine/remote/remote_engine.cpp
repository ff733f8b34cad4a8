// SPDX-License-Identifier: Apache-2.0
#include "remote/remote_engine.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "core/error.h"
#include "core/failure.h"
#include "core/joined_thread.h"
#include "io/quote_name.h"
#include "remote/channel.h"
#include "remote/child.h"
#include "remote/commands.h"
#include "remote/snapshot_receiver.h"
#include "runtime/session/session.h"

namespace kvscope::remote {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPassphrase{60000};  // that ssh may ask for before the greeting
constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{30000};
constexpr std::chrono::milliseconds kFillEvery{150};  // pictures of numbers that are on the way

std::int64_t us_of(Clock::time_point at) { return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count(); }

/// A write to a process that has gone is an error, not the end of this program.
void without_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

}  // namespace

struct RemoteEngine::Impl {
  Impl(Address where, EngineOptions o, Mailbox& box, std::function<void()> notify_window)
      : address(std::move(where)), options(std::move(o)), mailbox(box), notify(std::move(notify_window)), generation(options.generation) {
    state.place = text_of(address);
    state.connected = false;
    thread = std::thread([this] { work(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      quit = true;
      wake.write.close();
    }
    changed.notify_all();
    thread.join();
  }

  std::uint64_t command(std::optional<LoadCommand> new_load, std::optional<RunRequest> new_request) {
    const std::lock_guard lock(mutex);
    Kind kind = Kind::run;
    std::string text;
    if (new_load) {
      if (new_load->folder == options.own_model) new_load->folder.clear();
      kind = Kind::load;
      text = load_text(*new_load);
      load = text;
    } else {
      text = request_text(*new_request);
      request = text;
    }
    asked = Clock::now();
    if (state.connected) unsent.push_back({kind, std::move(text)});
    wanted = true;
    changed.notify_all();
    return ++generation;
  }

  void stop() {
    const std::lock_guard lock(mutex);
    if (state.connected) unsent.push_back({Kind::stop, {}});
    changed.notify_all();
  }

  /// The thread of the line: one connection after the other.
  void work() {
    without_sigpipe();
    for (auto pause = kFirstPause;;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return quit || load || request; });
        if (quit) return;
        wanted = false;
      }
      bool worked = false, again = true;
      std::string why;
      try {
        connect(worked, again);
      } catch (const std::exception& e) {
        why = words_of(e);
      }
      std::unique_lock lock(mutex);
      if (quit) return;
      state.connected = false;
      process = -1;
      if (worked) pause = kFirstPause;
      say(lock, why, again ? pause : std::chrono::milliseconds(0));
      if (again)
        changed.wait_for(lock, pause, [this] { return quit || wanted; });
      else
        changed.wait(lock, [this] { return quit || wanted; });
      if (quit) return;
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  /// The last result with the sentence of what is wrong now. The same sentence is said once.
  void say(std::unique_lock<std::mutex>& lock, const std::string& why, std::chrono::milliseconds pause) {
    const std::string sentence = fmt::format(
        "{}: {}; {}", state.place, why,
        pause.count() > 0 ? "it is tried again by itself, and at once by the next change" : "it is tried again by the next change");
    if (std::exchange(state.problem, sentence) == sentence && said == generation) return;
    said = generation;
    lock.unlock();
    put_changed([&](Snapshot& s) {
      s.phase = RunPhase::failed;
      s.failure = sentence;
      s.cut = {};
    });
    lock.lock();
  }

  /// Until it ends, and then with a sentence. worked: a whole result came back. again: it may go another time.
  void connect(bool& worked, bool& again) {
    line_over = false;  // no writer is there
    Child child(command_of(address));
    MessageReader in(child.output(), wake.read.get());
    try {
      const JoinedThread writer([&] { write_all(child); });
      const struct AtEnd {
        Impl& impl;
        ~AtEnd() {
          {
            const std::lock_guard lock(impl.mutex);
            impl.state.connected = false;
            impl.line_over = true;
          }
          impl.changed.notify_all();
        }
      } at_end{*this};
      const std::optional<Message> first = in.next(address.host.empty() ? options.patience : std::max(options.patience, kPassphrase));
      if (!first) throw Error("it ended before its greeting");
      const Hello hello = read_hello(*first);
      again = false;
      check_versions(options.version, hello);
      again = true;
      greet(child);
      receive(child, in, worked);
    } catch (const Error& e) {
      std::string words = child.last_words();
      if (!again || words.empty()) throw;
      throw Error(fmt::format("{} ({})", e.what(), quote_name(words)));
    }
  }

  /// Model and request go first, whatever was there before.
  void greet(Child& child) {
    const std::lock_guard lock(mutex);
    unsent.clear();
    if (load) unsent.push_back({Kind::load, *load});
    if (request) unsent.push_back({Kind::run, *request});
    base = generation - unsent.size();
    state.connected = true;
    state.problem.clear();
    process = child.id();
    asked = Clock::now();
    changed.notify_all();
  }

  void write_all(Child& child) {
    const auto give_up = [this] {
      const std::lock_guard lock(mutex);
      return line_over || quit;
    };
    try {
      write_message(child.input(), Kind::hello, hello_bytes(options.version), give_up);
      for (;;) {
        Message message;
        {
          std::unique_lock lock(mutex);
          changed.wait(lock, [this] { return line_over || quit || (state.connected && !unsent.empty()); });
          if (line_over || quit) break;
          message = std::move(unsent.front());
          unsent.pop_front();
        }
        write_message(child.input(), message.kind, message.bytes, give_up);
      }
    } catch (const std::exception&) {
      return;  // the reader sees the end of the line, too
    }
  }

  void receive(Child& child, MessageReader& in, bool& worked) {
    const std::size_t limit = options.record_limit > 0 ? options.record_limit : default_record_limit();
    SnapshotReceiver receiver(2 * limit);  // one result while another takes its place
    Clock::time_point filled = Clock::now();
    for (auto patience = options.patience; const std::optional<Message> message = in.next(patience);) {
      patience = {};  // a long text, or a slow machine
      child.listen();
      receiver.take(*message);
      {
        const std::lock_guard lock(mutex);
        state.bytes = bytes_before + static_cast<double>(in.n_bytes());
      }
      const bool all = message->kind == Kind::complete;
      const bool more = message->kind == Kind::numbers && Clock::now() - filled > kFillEvery;
      worked = worked || all;
      if (!all && !more && message->kind != Kind::snapshot) continue;
      filled = Clock::now();
      Snapshot newest = *receiver.snapshot();
      if (message->kind == Kind::snapshot) measure(receiver.since_request_us(), newest);
      put(std::move(newest), receiver);
    }
    const std::lock_guard lock(mutex);
    bytes_before += static_cast<double>(in.n_bytes());
    if (!quit) throw Error("the engine has ended");
  }

  /// What the line has added: the time here since the request less the time there.
  void measure(std::int64_t there_us, const Snapshot& snapshot) {
    const std::lock_guard lock(mutex);
    if (there_us < 0 || snapshot.generation + base != generation || snapshot.lanes.empty()) return;
    const std::int64_t here_us = us_of(Clock::now()) - us_of(asked);
    state.step_ms = std::max(0.0, static_cast<double>(here_us - there_us) / 1000);
  }

  void put(Snapshot snapshot, const SnapshotReceiver& receiver) {
    if (snapshot.lanes.empty() && good && !good->lanes.empty()) {  // a new line has nothing to show yet
      put_changed([&](Snapshot& s) {
        s.phase = snapshot.phase;
        s.activity = snapshot.activity;
        s.progress = snapshot.progress;
        s.loading = snapshot.loading;
        s.failure = snapshot.failure;
        s.cut = snapshot.cut;
      });
      return;
    }
    if (!receiver.complete() && snapshot.phase == RunPhase::idle) {
      snapshot.phase = RunPhase::computing;
      snapshot.activity = "numbers on the way";
      snapshot.progress = receiver.share();
    }
    {
      const std::lock_guard lock(mutex);
      for (std::uint64_t* of : {&snapshot.generation, &snapshot.lanes_of})
        if (*of > 0) *of += base;
      snapshot.started_us = us_of(asked);
    }
    snapshot.sequence = ++sequence;
    snapshot.published_us = us_of(Clock::now());
    auto shared = std::make_shared<const Snapshot>(std::move(snapshot));
    good = shared;
    mailbox.put(std::move(shared));
    notify();
  }

  void put_changed(const std::function<void(Snapshot&)>& change) {
    Snapshot next;
    if (good) next = *good;
    change(next);
    if (next.phase == RunPhase::failed) {
      const std::lock_guard lock(mutex);
      next.generation = generation;
    }
    next.sequence = ++sequence;
    mailbox.put(std::make_shared<const Snapshot>(std::move(next)));
    notify();
  }

  const Address address;
  const EngineOptions options;
  Mailbox& mailbox;
  std::function<void()> notify;
  Pipe wake;  // its end wakes the thread of the line

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::string> load, request;  // the newest, to be sent again
  std::deque<Message> unsent;
  std::uint64_t generation = 0, base = 0;  // generations there begin after it
  Clock::time_point asked;                 // when the newest command was given, or sent again
  EngineLink state;
  double bytes_before = 0;  // of earlier connections
  int process = -1;
  bool wanted = false, quit = false, line_over = false;
  std::uint64_t said = 0;  // generation that was told of the problem

  // thread of the line only
  SnapshotPtr good;
  std::uint64_t sequence = 0;

  std::thread thread;
};

RemoteEngine::RemoteEngine(const Address& address, EngineOptions options, Mailbox& mailbox, std::function<void()> on_snapshot)
    : impl_(std::make_unique<Impl>(address, std::move(options), mailbox, std::move(on_snapshot))) {}
RemoteEngine::~RemoteEngine() = default;

std::uint64_t RemoteEngine::load_model(std::string folder, SessionOptions options) {
  return impl_->command(LoadCommand{std::move(folder), std::move(options)}, std::nullopt);
}
std::uint64_t RemoteEngine::submit(RunRequest request) { return impl_->command(std::nullopt, std::move(request)); }
void RemoteEngine::stop() { impl_->stop(); }

EngineLink RemoteEngine::link() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->state;
}

int RemoteEngine::process_id() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->process;
}

}  // namespace kvscope::remote
