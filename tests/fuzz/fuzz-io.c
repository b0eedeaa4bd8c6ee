/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include <ferry/io.h>
#include <stdlib.h>

const char fuzz_name[] = "io";

/* Elements per piece: small, so that every array is read in many pieces. */
#define PIECE 1021

/* The limit for an array that claims to be larger than any input. */
#define MOST (1 << 20)

static void read_array(ferry_io *io, const ferry_io_entry *entry)
{
    static unsigned char out[PIECE * 8];
    int64_t most = entry->count < MOST ? entry->count : MOST;

    for (int64_t start = 0; start < most; start += PIECE) {
        int64_t n = entry->count - start < PIECE ? entry->count - start : PIECE;

        if (ferry_io_read_values(io, entry, start, n, out))
            return;
        if (entry->has_diff && ferry_io_read_diff_values(io, entry, start, n, out))
            return;
    }
}

/* Opens any bytes as a file of any format and reads all of it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const ferry_io_entry *entry, *found;
    ferry_io *io = NULL;

    if (ferry_io_open_bytes(bytes, size, "input", &io))
        return 0;
    while (!ferry_io_next(io, &entry) && entry) {
        if (ferry_io_entry_find(io, entry->name, &found) || !found)
            abort();
        read_array(io, entry);
    }
    ferry_io_close(io);
    return 0;
}
