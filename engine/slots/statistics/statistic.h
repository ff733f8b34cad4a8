// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

#include "core/host_device.h"
#include "core/not_available.h"

namespace kvscope {

/// What statistics are made with, of all of them together.
struct StatParams {
  double lambda = 1;
};

/// What is known of a slot that comes.
struct NewSlot {
  double key_norm = 0;            // L2 norm of the key before rotation; NaN: nobody asked for it
  double probed = kNotAvailable;  // of the prompt's tokens, where there was a probe
  double learned = kNotAvailable;
};

/// A sum over the queries r of a prompt of n tokens: sum_r decay^(n - 1 - r) abar_r^power. abar_r: attention of query r to the slot, its
/// group of query heads reduced to one; 0 where r does not see it. Backends make a plain sum, one of squares, and a plain one with any
/// decay.
struct PromptSum {
  int power = 1;
  double decay = 1;
  auto operator<=>(const PromptSum&) const = default;
};

/// How a statistic whose type has it as kText is offered as a ranking of its own.
struct StatText {
  const char* key;    // the value that chooses it
  const char* about;  // what it is, one line
  const char* title;  // in a few words
};

// A statistic is a type with
//   Cell                              what a slot keeps of it
//   Cell init(const NewSlot&)         of a slot that has just come
// and, as far as they apply,
//   void fold(Cell&, double abar, const StatParams&)   a step's attention to the slot goes in
//   PromptSum prompt_sum(const StatParams&)            what a whole prompt leaves in the cell; or
//   int kPromptRows                   the last so many queries of a prompt are folded one by one, those that see the slot
//   void unite(Cell&, const Cell& other)   of a slot into which another one is fused; without it the slot's own stays
//   double score(const Cell&)         the higher, the longer the slot stays
//   const char* kEquation             that score, in one line; with a score
//   StatText kText
// All functions are static and work on one cell, on the host as on a device.

}  // namespace kvscope
