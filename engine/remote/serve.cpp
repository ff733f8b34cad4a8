// SPDX-License-Identifier: Apache-2.0
#include "remote/serve.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "core/joined_thread.h"
#include "remote/channel.h"
#include "remote/child.h"
#include "remote/commands.h"
#include "remote/snapshot_sender.h"
#include "runtime/session/runner.h"

namespace kvscope::remote {

namespace {

using Clock = std::chrono::steady_clock;

/// One line: a thread that sends what the engine has put into the mailbox, while the caller's takes commands.
class Server {
 public:
  Server(int in, int out, const ServeOptions& options) : in_(in, wake_.read.get()), out_(out), options_(options) {}

  void run() {
    write_message(out_, Kind::hello, hello_bytes(options_.version));
    const std::optional<Message> first = in_.next();
    if (!first) return;
    check_versions(options_.version, read_hello(*first));
    Runner runner(mailbox_, [this] { wake_sender(); });
    const JoinedThread sender([this] { send_all(); });
    const struct AtEnd {
      Server& server;
      ~AtEnd() { server.end(); }
    } at_end{*this};
    while (const std::optional<Message> message = in_.next()) command(runner, *message);
    const std::lock_guard lock(mutex_);
    if (broken_) throw Error(*broken_);
  }

 private:
  void command(Runner& runner, const Message& message) {
    const auto now = Clock::now();
    if (message.kind == Kind::stop) return runner.stop();
    const std::lock_guard lock(mutex_);  // the answer may be there before submit() is back
    if (message.kind == Kind::run) {
      asked_[runner.submit(read_request_text(message.bytes))] = now;
    } else if (message.kind == Kind::load) {
      LoadCommand load = read_load(message.bytes);
      if (load.folder.empty()) load.folder = options_.own_model;
      asked_[runner.load_model(std::move(load.folder), load.options)] = now;
    } else {
      throw Error("expected a model to load, a request or a stop, got another message");
    }
  }

  void wake_sender() {
    {
      const std::lock_guard lock(mutex_);
      news_ = true;
    }
    wake_up_.notify_one();
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    wake_up_.notify_one();
  }

  void send_all() {
    try {
      SnapshotSender sender([this](Kind kind, const std::string& bytes) { write_message(out_, kind, bytes); });
      for (bool numbers = false;;) {
        {
          std::unique_lock lock(mutex_);
          wake_up_.wait(lock, [&] { return news_ || quit_ || numbers; });
          if (quit_) return;
          if (!std::exchange(news_, false)) {
            lock.unlock();
            numbers = sender.send_numbers();
            continue;
          }
        }
        const SnapshotPtr newest = mailbox_.latest();
        sender.show(newest, since_request(*newest));
        numbers = true;
      }
    } catch (const std::exception& e) {  // nobody reads any longer
      const std::lock_guard lock(mutex_);
      broken_ = e.what();
      wake_.write.close();
    }
  }

  std::int64_t since_request(const Snapshot& snapshot) {
    const std::lock_guard lock(mutex_);
    asked_.erase(asked_.begin(), asked_.lower_bound(snapshot.generation));
    const auto asked = asked_.find(snapshot.generation);
    if (asked == asked_.end()) return -1;
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked->second).count();
  }

  Pipe wake_;  // its end wakes the reader of commands
  MessageReader in_;
  int out_;
  const ServeOptions& options_;
  Mailbox mailbox_;
  std::mutex mutex_;
  std::condition_variable wake_up_;
  bool news_ = false, quit_ = false;
  std::optional<std::string> broken_;
  std::map<std::uint64_t, Clock::time_point> asked_;  // when, by generation
};

}  // namespace

void serve(int in, int out, const ServeOptions& options) { Server(in, out, options).run(); }

}  // namespace kvscope::remote
