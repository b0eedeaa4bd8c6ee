/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor of PTX: parses the text that nvcc or libnvrtc makes of kernels, and runs launches
 * of its entries on the host, warp by warp. The double of the CUDA driver and the tests of the
 * executor include this file alone.
 */
#ifndef FERRY_TEST_PTX_H
#define FERRY_TEST_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_MOST_THREADS 1024u /* of a block */
#define PTX_MOST_WINDOWS 16u
#define PTX_MOST_PARAMS  16u

struct ptx_module;
struct ptx_kernel;

/**
 * Parses a module. The text may be freed afterwards.
 *
 * Returns NULL on a syntax that is not known, an opcode that is not known, or without memory;
 * `error` is then one line that names the line of the text and, for an opcode, the opcode.
 */
struct ptx_module *ptx_module_new(const char *text, char *error, size_t room);
void ptx_module_delete(struct ptx_module *module);

/** The architecture of `.target`: 80 for sm_80. */
int ptx_module_target(const struct ptx_module *module);
/** The entry of that name, or NULL. It lives as long as the module. */
const struct ptx_kernel *ptx_kernel_find(const struct ptx_module *module, const char *name);

const char *ptx_kernel_name(const struct ptx_kernel *kernel);
/** Parameters of an entry in their order, and where each is in the buffer `ptx_launch.params`. */
unsigned ptx_kernel_params(const struct ptx_kernel *kernel);
size_t ptx_param_offset(const struct ptx_kernel *kernel, unsigned i);
size_t ptx_param_size(const struct ptx_kernel *kernel, unsigned i);
size_t ptx_params_size(const struct ptx_kernel *kernel);
/** The most threads a block may have: of `.maxntid`, PTX_MOST_THREADS without it. */
uint32_t ptx_kernel_threads(const struct ptx_kernel *kernel);

/** The order in which the threads of a block run between two barriers. */
enum ptx_order {
    PTX_ASCENDING,   /* warps one after the other, the lanes of a warp together */
    PTX_DESCENDING,  /* the same from the last warp, and lanes store from the last */
    PTX_SHUFFLED,    /* warps, and lanes as they store, in an order drawn from the seed */
    PTX_INTERLEAVED, /* another warp after each branch */
    PTX_SINGLE       /* each thread alone; with a seed in a drawn order, else descending */
};

/** Approximations: correctly rounded, or as far below or above as the PTX manual allows. */
enum ptx_approximation { PTX_EXACT, PTX_LOW, PTX_HIGH };

#define PTX_CHECK_RACES   1u
#define PTX_CHECK_UNKNOWN 2u /* reads of bytes that were never written */

struct ptx_options {
    enum ptx_order order;
    uint64_t seed; /* 0: none */
    bool blocks_descending;
    unsigned blocks_at_once; /* 1 or 2 */
    enum ptx_approximation approximation;
    unsigned checks;
};

/**
 * Sets the options from a text of words separated by commas, as CUDA_DOUBLE_PTX_RUN has them:
 * ascending, descending, shuffled=SEED, interleaved, single[=SEED], blocks-descending, two-
 * blocks, low, high, race, unknown. Returns false at a word that is not known; the options are
 * then undefined.
 */
bool ptx_options_parse(const char *text, struct ptx_options *out);

/** A range of device addresses that a launch may access. */
struct ptx_window {
    uint64_t address;
    size_t size;
    unsigned char *bytes;   /* where the contents are */
    unsigned char *written; /* 1 for each byte that has a defined value; NULL: all have */
};

struct ptx_launch {
    const struct ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    const unsigned char *params;
    struct ptx_window windows[PTX_MOST_WINDOWS]; /* that do not overlap */
    unsigned window_count;
    struct ptx_options options;
    char report[768]; /* of the first fault */
    bool is_address;  /* that fault is an access to global memory outside all windows */
};

/**
 * Runs all blocks of a launch on the calling thread. Launches on several threads at once are
 * independent, unless they share windows.
 *
 * Returns false after a fault (an access out of bounds or misaligned, a race, a read of bytes
 * never written, a divergent barrier, no memory): `report` then names kernel, line and threads,
 * and memory has whatever was stored before.
 */
bool ptx_run(struct ptx_launch *launch);

#endif
