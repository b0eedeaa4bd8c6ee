/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEIGHTS_NET_H
#define WEIGHTS_NET_H

#include "fixture.h"

#include <ferry/net.h>

/* For tests of the memory of weights: nets of an image of 64 channels with seven outputs. */

/* The device of the running case, which fx_device opens; it would record the live bytes anew. */
ferry_device *wn_device(void);
/* Ends the case: fx_end. */
void wn_end(void);

/* Opens a net of a text; the second one also loads a file. They end the case on failure. */
ferry_net *wn_open(const char *text, ferry_phase phase, bool reread);
ferry_net *wn_open_with(const char *text, const char *path, bool reread);

/* Gives a blob the values first, first + step …, which begin again after 13. */
void wn_set(ferry_blob *b, float first, float step);

/*
 * Runs an image of side × side, on other backends than cpu, whose packed forms do not depend on it,
 * of a third of that. The number of outputs written to `out`: 7, or 0 after a
 * failure.
 */
int64_t wn_run(ferry_net *net, int64_t side, float *out);

/* Asserts that seven outputs differ by at most `tolerance`. */
void wn_check_equal(const float *a, const float *b, float tolerance);

#endif
