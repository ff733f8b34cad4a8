// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Bytes of memory that this process may fill: the machine's, or what a control group (a container, a service) allows of it.
double machine_memory();

}  // namespace kvscope
