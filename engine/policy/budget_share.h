// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Slots of a budget that is a share of the prompt. down: the share removed is what kvpress is told, and it takes its difference from 1 to
/// the letter.
int slots_of_ratio(double ratio, int n_prompt, bool down);

}  // namespace kvscope
