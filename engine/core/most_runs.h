// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Runs that stand beside the full cache, in a request and in every file that keeps one: what is written can be read again.
inline constexpr int kMostRuns = 256;

}  // namespace kvscope
