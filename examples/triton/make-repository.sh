#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make-repository.sh NET WEIGHTS FOLDER: a model repository with SqueezeNet on ferry and the models of this folder
# around it. FERRY names the command, "ferry" by default.
set -eu
[ $# -eq 3 ] || {
    echo "usage: $0 NET WEIGHTS FOLDER" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3"
"${FERRY:-ferry}" triton-model "$1" "$2" "$3/squeezenet"
for model in decode best photo photo_bls; do
    mkdir -p "$3/$model/1"
    cp "$here/$model/config.pbtxt" "$3/$model/"
    [ ! -f "$here/$model/model.py" ] || cp "$here/$model/model.py" "$3/$model/1/"
done
