// SPDX-License-Identifier: Apache-2.0
// The module kvscope_mpi.so: all that the program uses of MPI.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "app/cli/sweep/ranks.h"

namespace {

void start(int* rank, int* size) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
}

void send(int to, const char* bytes, int n) { MPI_Send(bytes, n, MPI_BYTE, to, 0, MPI_COMM_WORLD); }

bool waits(int* from, int* n) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return false;
  *from = status.MPI_SOURCE;
  MPI_Get_count(&status, MPI_BYTE, n);
  return true;
}

void receive(int from, char* bytes, int n) { MPI_Recv(bytes, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

void finish() { MPI_Finalize(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const kvscope::cli::RankFunctions* kvscope_rank_functions() {
  static const kvscope::cli::RankFunctions functions{KVSCOPE_VERSION, start, send, waits, receive, finish};
  return &functions;
}
