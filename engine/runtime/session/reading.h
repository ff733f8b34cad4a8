// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "runtime/lane/record_options.h"
#include "runtime/prompt/prompt_run.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// "about 40 s": so much is left of something that took `ms` for a share of it.
std::string time_left(double ms, double share);

/// How far the compression of a prompt is, for those who wait for it. A layer counts for what its policy took the last time; of a policy
/// that is new, for as much as the others' do.
class CompressionProgress {
 public:
  /// policies: of the lanes that compress; took: ms by policy, as far as known.
  CompressionProgress(std::span<const std::string> policies, int n_layers, const std::map<std::string, double>& took);
  void layer_done(const std::string& policy);
  double share() const { return all_ > 0 ? done_ / all_ : 1; }  // in [0, 1]
  /// "prompt, compressing, layer 3 of 84, about 40 s left"
  std::string words() const;

 private:
  std::map<std::string, double> weights_;  // of a layer
  int n_layers_ = 0, n_done_ = 0;
  double all_ = 0, done_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Takes out of the picture of a prompt that was not read to its end the runs that have nothing but that: they are no results.
void drop_unread(Snapshot& snapshot);

/// A prompt that is being read, for those who wait for it: how far it is, and a picture that grows with it.
class Reading {
 public:
  /// With the lanes as they are, those that wait for the prompt without a step.
  using Picture = std::function<Snapshot()>;

  struct Pace {               // ms
    double tell = 500;        // when to say how long it takes: earlier guesses jump about
    double show = 400;        // when to show what is read so far
    double show_left = 1000;  // if so much is left
    double every = 500;       // time between two pictures, at least
  };

  Reading(const ModelConfig& config, PromptRun& prompt, int n_tokens, DType precision, const RecordOptions& record)
      : Reading(config, prompt, n_tokens, precision, record, Pace()) {}
  Reading(const ModelConfig& config, PromptRun& prompt, int n_tokens, DType precision, const RecordOptions& record, const Pace& pace);

  /// What is on screen: nothing of this model, so the text is shown at once; a text without results; results, which tell more than a
  /// picture of a text of which little is read anew.
  enum class Screen { nothing, text, results };

  /// publish: may be empty.
  void show_to(const std::function<void(Snapshot)>& publish, const Picture& picture, Screen screen);

  /// The tokens that prompt.update() has in work have left this layer.
  void layer_done(int layer);
  /// Since it began; 0: nothing had to be read.
  double read_ms() const { return layer_ < 0 ? 0 : ms(); }
  /// Of the reading, in [0, 1].
  double share() const;
  /// "prompt, 2048 of 8192 tokens, layer 3 of 28, about 40 s of reading left"
  std::string words() const;

 private:
  double cost(double n_tokens) const;
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }
  /// What every head of the full cache holds, and how the newest token that was read attends to it. No figures: nothing is predicted yet.
  StepPtr record() const;
  void show();

  const ModelConfig& config_;
  PromptRun& prompt_;
  const int n_tokens_;
  const DType precision_;
  const RecordOptions record_;
  const Pace pace_;
  std::function<void(Snapshot)> publish_;
  Picture picture_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int first_ = -1, layer_ = -1;
  Screen screen_ = Screen::text;
  bool shown_ = false;
  double show_after_ = 0;
};

}  // namespace kvscope
