// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Bytes of memory that this process may fill: the machine's, or what a control group (a container, a service) allows of it.
double machine_memory();

/// What this process takes, in bytes; zeros where the system does not say.
struct ProcessMemory {
  double addresses = 0;  // mapped, whether filled or not
  double resident = 0;
};
ProcessMemory process_memory();

/// From now on the allocator asks the machine for much memory at a time and keeps what is freed until give_back_memory(). Where many
/// threads write records together each question to the machine holds up all of them.
void take_memory_in_large_pieces();

/// Lets the machine have what was freed: an allocator keeps it, by the gigabyte where a long text was compressed by several threads. Takes
/// tens of milliseconds then.
void give_back_memory();

/// Lets the machine have what was freed where that is much: for moments in which nothing is waited for. An allocator alone gives back the
/// end of its memory only, and what was freed lies between what is in use.
class FreedMemory {
 public:
  void give_back_if_much();

 private:
  double rest_ = -1;  // bytes of the process that are no block in use, after the time before; -1: not known
};

}  // namespace kvscope
