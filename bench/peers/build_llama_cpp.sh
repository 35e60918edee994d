#!/bin/sh
# Builds llama.cpp's llama-bench and llama-diffusion-cli for this machine, to be measured beside plm (compare.py,
# diffusion.py):
#
#     build_llama_cpp.sh FOLDER
#
# FOLDER lies outside this repository and ends with about 400 MB in it. The sources come through pip, out of the sdist
# of llama-cpp-python at a fixed version, so that everybody compares with the same peer; nothing of it is installed.
# JOBS (1) compilers run at a time. What exists already is kept: an interrupted build goes on where it stopped.
# The path of the program goes to stdout, everything else to stderr.
set -eu

version=0.3.36
if [ $# -ne 1 ]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
repository=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
case "$folder/" in
  "$repository"/*)
    echo "error: $folder: inside the repository; name a folder outside of it" >&2
    exit 2
    ;;
esac

sdist="$folder/llama_cpp_python-$version.tar.gz"
sources="$folder/llama_cpp_python-$version/vendor/llama.cpp"
build="$folder/build"
{
  # pip wants the build back end that the sdist names, even to download it; it fetches that by itself, and drops it.
  [ -f "$sdist" ] || python3 -m pip download --no-deps --no-binary llama-cpp-python --dest "$folder" \
    "llama-cpp-python==$version"
  [ -f "$sources/CMakeLists.txt" ] || tar -xzf "$sdist" -C "$folder"
  cmake -S "$sources" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=ON -DLLAMA_BUILD_SERVER=OFF \
    -DLLAMA_BUILD_TOOLS=ON
  cmake --build "$build" --target llama-bench llama-diffusion-cli --parallel "${JOBS:-1}"
} >&2
echo "$build/bin/llama-bench"
