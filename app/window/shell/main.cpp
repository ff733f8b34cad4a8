// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/options.h"

int main(int argc, char** argv) { return kvscope::runProgram(argc, argv); }
