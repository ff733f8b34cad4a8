# SPDX-License-Identifier: Apache-2.0
# Sourced by ./run, ./check and nothing else: the packages the program needs and how they get onto the machine.
# The names are those of Debian 12. Ubuntu 24.04 has them too (libimgui-dev, libsentencepiece-dev, libcli11-dev and the fonts are in
# universe), one of them as a part of another package: qt6-base-dev provides libqt6opengl6-dev.

build_packages=(
  g++ cmake ninja-build pkg-config
  qt6-base-dev libqt6opengl6-dev libgl-dev libgl1-mesa-dri
  libimgui-dev libfreetype-dev libsentencepiece-dev libpcre2-dev libutf8proc-dev nlohmann-json3-dev libfmt-dev libcli11-dev zlib1g-dev
  fonts-noto-core fonts-noto-mono fonts-noto-cjk fonts-noto-color-emoji fonts-dejavu-core
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev
  xvfb xdotool openbox
  python3 python3-numpy
)
clang_packages=(clang-16 libc++-16-dev libc++abi-16-dev googletest)

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# missing_packages NAME...: those that are neither installed nor provided by an installed package, one per line.
missing_packages() {
  local installed provided='' name
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    case $'\n'$installed$'\n' in
      *$'\n'"installed $name"$'\n'*) continue ;;
    esac
    # "installed a (= 1), b" of every package: as ",a (= 1),b," only if one is missing, because it asks for all packages
    provided=${provided:-$(dpkg-query -W -f='${db:Status-Status} ${Provides}\n' | sed -n 's/^installed \(..*\)/,\1,/p' | sed 's/, */,/g; s/ *([^)]*)//g')}
    case $provided in
      *",$name,"*) ;;
      *) printf '%s\n' "$name" ;;
    esac
  done
}

# install_packages NAME...: installs what is missing and says what; does nothing, and needs no rights, when nothing is.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian or Ubuntu: nothing is installed. Needed are the libraries behind: $*"
    return
  fi
  local missing=() rights=()
  read -r -d '' -a missing <<<"$(missing_packages "$@")" || true
  ((${#missing[@]})) || return 0
  say "Installing ${#missing[@]} missing packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "Packages are missing and there is no sudo. As root: apt-get install ${missing[*]}"
    rights=(sudo)
  fi
  "${rights[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq || say "The package lists could not be renewed; trying with those that are here."
  "${rights[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
    fail "The packages could not be installed: ${missing[*]}"
}

# cuda_capabilities: what the devices of this machine can do, oldest first ("80;90"); nothing without a driver or a device that kernels can be
# built for (7.5 and up).
cuda_capabilities() {
  { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
    sed -n 's/^ *\([0-9][0-9]*\)\.\([0-9]\) *$/\1\2/p' | awk '$1 >= 75' | sort -nu | paste -sd ';'
}

# cuda_toolkit: the CUDA compiler that CMake would find.
cuda_toolkit() { PATH=${CUDA_HOME:+$CUDA_HOME/bin:}/usr/local/cuda/bin:$PATH command -v nvcc || true; }

# configure SOURCE BUILD OPTION...: runs CMake unless this folder has been configured with the same options; ninja reruns it when it must.
# A CUDA toolkit that came or went since then counts as another option.
configure() {
  local source=$1 build=$2
  shift 2
  local wanted="$source $* $(cuda_toolkit)"
  if [ -f "$build/build.ninja" ] && [ "$(cat "$build/.configured-with" 2>/dev/null)" = "$wanted" ]; then return 0; fi
  rm -f "$build/CMakeCache.txt"
  local launcher=()
  # Left to itself it takes no source that has a precompiled header, and nearly all have one.
  if command -v ccache >/dev/null; then
    launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache")
    [ -z "$(cuda_toolkit)" ] || launcher+=(-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  # Sources that are compiled once are compiled in groups: half the time. To change and build again and again, a preset of CMakePresets.json.
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_UNITY_BUILD=ON "${launcher[@]}" "$@"
  printf '%s\n' "$wanted" >"$build/.configured-with"
}
