#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every format is written to a disk with too little room for the values, or for the first header:
# each fails with a one-line message, without a crash, keeps the old file and leaves no other file.
# The disk is a small tmpfs in a mount namespace of its own.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ "${1-}" != inside ]; then
    folder=$(mktemp -d) || exit 1
    status=77
    if unshare -rm mount -t tmpfs -o size=1m none "$folder" 2>/dev/null; then
        unshare -rm "$0" inside "$folder"
        status=$?
    else
        skip full_disk 'this user can make no mount namespace'
        echo "ferry-test: full-disk: 0 passed, 0 failed, $skipped skipped"
    fi
    rmdir "$folder"
    exit $status
fi

mount -t tmpfs -o size=1m none "$2" || exit 1
cd "$2" || exit 1
# One array of 512 KiB, and one of 4 bytes.
python=$(command -v python3 || echo /usr/bin/python3)
"$python" - <<'END' || exit 1
def save(name, count):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        file.write(bytes(4 * count))


save("large.npy", 1 << 17)
save("small.npy", 1)
END

# room KIB: fills the disk except for that much.
room() {
    rm -f fill
    free=$(df -k --output=avail . | tail -1)
    head -c $(((free - $1) * 1024)) /dev/zero >fill
}

# refused NAME IN OUT: checks the failure described above.
refused() {
    echo old >"$3"
    before=$(ls -A)
    said=$("$FERRY_TEST_COMMAND" convert "$2" "$3" 2>&1)
    status=$?
    case $status/$said/$4 in
    0/*/may) pass "$1" ;;
    1/*'No space left on device'*)
        if [ "$(cat "$3")" = old ] && [ "$(ls -A)" = "$before" ] &&
            [ "$(echo "$said" | wc -l)" -eq 1 ]; then
            pass "$1"
        else
            fail "$1" "$said" "$(ls -A)"
        fi
        ;;
    *) fail "$1" "status $status" "$said" ;;
    esac
    rm -f "$3"
}

formats='npy npz safetensors binaryproto'
"$FERRY_TEST_COMMAND" convert small.npy probe.h5 2>/dev/null && formats="$formats h5"
rm -f probe.h5
for format in $formats; do
    room 256
    refused "${format}_without_room_for_its_values" large.npy "out.$format" must
    room 4 # the old file's
    refused "${format}_without_room_for_anything" small.npy "out.$format" may
done
finish full-disk
