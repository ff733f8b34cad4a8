#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# missing_packages, with the packages of this machine: what is installed, what another package provides, and what there is not.
set -euo pipefail
. "$1"
command -v dpkg-query >/dev/null || { echo "Skipped: no dpkg-query here"; exit 77; }
got=$(missing_packages no-such-package-a dpkg c++-compiler no-such-package-b | tr '\n' ' ')
provider=$(dpkg-query -W -f='${db:Status-Status} ${Package} ${Provides}\n' | grep -m1 '^installed .*c++-compiler' || true)
[ -n "$provider" ] || { echo "Skipped: no installed package provides c++-compiler"; exit 77; }
[ "$got" = "no-such-package-a no-such-package-b " ] || { echo "missing_packages says '$got'"; exit 1; }
[ -z "$(missing_packages dpkg bash)" ] || { echo "missing_packages misses what is installed"; exit 1; }
