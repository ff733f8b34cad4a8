#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda_capabilities, with answers that nvidia-smi gives; missing_packages, with the packages of this machine: what is installed, what another
# package provides, and what there is not.
set -euo pipefail
. "$1"

devices() {  # ANSWER WANTED
  nvidia-smi() { printf '%b' "$answer"; }
  local answer=$1 got
  got=$(cuda_capabilities)
  [ "$got" = "$2" ] || { echo "cuda_capabilities says '$got' for '$1', expected '$2'"; exit 1; }
}
devices '9.0\n' 90
devices '9.0\n8.6\n9.0\n' '86;90'
devices '12.0\n7.5\n' '75;120'
devices '6.1\n' ''
devices 'No devices were found\n' ''
nvidia-smi() { return 9; }
[ -z "$(cuda_capabilities)" ] || { echo "cuda_capabilities names devices where nvidia-smi fails"; exit 1; }

command -v dpkg-query >/dev/null || { echo "Skipped: no dpkg-query here"; exit 77; }
got=$(missing_packages no-such-package-a dpkg c++-compiler no-such-package-b | tr '\n' ' ')
provider=$(dpkg-query -W -f='${db:Status-Status} ${Package} ${Provides}\n' | grep -m1 '^installed .*c++-compiler' || true)
[ -n "$provider" ] || { echo "Skipped: no installed package provides c++-compiler"; exit 77; }
[ "$got" = "no-such-package-a no-such-package-b " ] || { echo "missing_packages says '$got'"; exit 1; }
[ -z "$(missing_packages dpkg bash)" ] || { echo "missing_packages misses what is installed"; exit 1; }
