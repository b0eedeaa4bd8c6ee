#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the Pythons that the suites of bench/suites-peers.c compare with, and prints their
# variables: peers.sh FOLDER, a folder outside the tree. An existing environment is updated.
set -eu
folder=${1:?usage: peers.sh FOLDER}
: "${PYTHON:=python3}"

# add NAME PACKAGES…: a virtual environment with packages of PyPI.
add() {
    at=$folder/$1
    shift
    [ -x "$at/bin/python" ] || "$PYTHON" -m venv "$at"
    "$at/bin/python" -m pip install -q "$@" >&2
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
add torch numpy torch
add runtimes numpy onnx onnxruntime openvino nncf sympy
echo "export BENCH_TORCH=$folder/torch/bin/python BENCH_RUNTIMES=$folder/runtimes/bin/python"
