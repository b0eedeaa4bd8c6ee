/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_H
#define FERRY_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The conformance suite: whether a plugin's binary keeps to the contract of <ferry/plugin.h>.
 *
 * Each group runs in a child process of its own, which loads the plugin, so that one that crashes or
 * hangs is a failed group and nothing else. Most groups talk to the plugin's table directly, with
 * nothing of ferry in between; `descriptor` and `coherence` go through libferry as well.
 */

#define CONFORM_PASS        0
#define CONFORM_FAIL        1
#define CONFORM_NOT_OFFERED 2

/* What host->option answers. */
struct conform_option {
    const char *key, *value;
};

struct conform_target {
    const char *path; /* of the shared object, absolute */
    const char *name; /* as its note has it */
    uint32_t device;  /* which of its devices */
    const struct conform_option *options;
    size_t option_count;
    unsigned timeout; /* seconds that a group may take */
};

struct conform_report {
    int result;
    char
        detail[1024]; /* one line: the first case that failed, why it is not offered, or what ran */
    char skipped[1024]; /* a line for each case that could not be tried: which, and why */
    double seconds;
    int devices;  /* how many the plugin counted; −1 if it did not come to that */
    bool refused; /* ferry's loader will not have the file: nothing else of it should be run */
};

/* The groups, in the order in which they are run; NULL past the last. */
const char *conform_name(size_t group);
const char *conform_about(size_t group); /* one line */

/* Runs one group. 0, or −1 with errno if no process could be made. */
int conform_run(const struct conform_target *target, size_t group, struct conform_report *out);

/*
 * The name in the note of a plugin's file, "" if it has none; and what ferry would answer it for
 * options, given its configuration: opened in a child process, and written to `out`. The strings live
 * in *out_text (may come out NULL), which the caller frees. Returns how many.
 */
void conform_plugin_name(const char *path, char *out, size_t size);
size_t conform_options(const char *plugin, struct conform_option *out, size_t most,
                       char **out_text);

#endif
