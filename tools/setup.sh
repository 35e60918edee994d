#!/usr/bin/env bash
# Installs what is missing from Debian 12: setup.sh [GROUP...], groups build, test, format, clang, lint, bench, neon;
# without a group build, test and format. When all is there it only asks dpkg and costs nothing.
# Why each package is needed: docs/decisions/0002-dependencies.md.
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build pkg-config ccache mold libboost1.81-dev libfmt-dev libexpected-dev nlohmann-json3-dev
           libedit-dev libhwy-dev libpcre2-dev libssl-dev libutf8proc-dev zlib1g-dev python3 python3-pip"
  [test]="libgtest-dev libsimde-dev python3-numpy"
  [format]="clang-format-16"
  [clang]="clang-19 libclang-rt-19-dev"
  [lint]="clang-tidy-16"
  [bench]="libbenchmark-dev"
  [neon]="g++-aarch64-linux-gnu"
)

fail() {
  echo "setup: $1" >&2
  exit 1
}

wanted=()
for group in "${@:-build test format}"; do
  for name in $group; do
    [[ -n "${packages[$name]:-}" ]] || fail "no group $name; there are ${!packages[*]}"
    # shellcheck disable=SC2206 # names of packages hold no blanks
    wanted+=(${packages[$name]})
  done
done

command -v dpkg-query >/dev/null ||
  fail "this is not Debian; install the like of: ${wanted[*]}; then run 'make build', which installs nothing"

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail "missing: ${missing[*]}; to install them run this as root or install sudo"
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  fail "apt-get could not install ${missing[*]}; check the network and the package sources"
fi
