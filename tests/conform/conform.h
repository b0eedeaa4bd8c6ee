/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_H
#define FERRY_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The conformance suite, which checks a plugin's binary against the contract of <ferry/plugin.h>.
 *
 * Each group runs in a child process of its own, which loads the plugin, so that a crash or a hang
 * only fails its group. Most groups call the plugin's table directly, without ferry; `descriptor`
 * and `coherence` also use libferry.
 */

#define CONFORM_PASS        0
#define CONFORM_FAIL        1
#define CONFORM_NOT_OFFERED 2

/* An answer of host->option. */
struct conform_option {
    const char *key, *value;
};

struct conform_target {
    const char *path; /* of the shared object, absolute */
    const char *name; /* as in its note */
    uint32_t device;  /* index of the device to check */
    const struct conform_option *options;
    size_t option_count;
    unsigned timeout; /* seconds that a group may take */
    unsigned minutes; /* that ops-random takes, in addition; 0: a fixed number of operations */
    uint64_t seed;    /* of ops-random; 0: the first */
};

struct conform_report {
    int result;
    char detail[1024];  /* one line: the first failed case, the reason why it is not offered, or a
                       * summary */
    char skipped[1024]; /* a line for each skipped case: its name and the reason */
    double seconds;
    int devices;  /* number of devices that the plugin counted; −1 if it did not get that far */
    bool refused; /* ferry's loader refuses the file: no other group should be run */
};

/* The groups, in the order in which they run; NULL after the last. */
const char *conform_name(size_t group);
const char *conform_about(size_t group); /* one line */
bool conform_is_long(size_t group);      /* left out by --quick */

/* Runs one group. Returns 0, or −1 with errno if no process could be started. */
int conform_run(const struct conform_target *target, size_t group, struct conform_report *out);

/* Writes the name in the note of a plugin's file to `out`; "" if it has no valid note. */
void conform_plugin_name(const char *path, char *out, size_t size);
/*
 * Writes the options that ferry would pass to the plugin with the current configuration, and
 * returns their number; a child process opens the plugin. *out_text (may be NULL) contains the
 * strings, which the caller frees.
 */
size_t conform_options(const char *plugin, struct conform_option *out, size_t most,
                       char **out_text);

#endif
