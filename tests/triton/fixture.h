/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_FIXTURE_H
#define FERRY_TRITON_FIXTURE_H

#include "double.h"
#include "ferry-test.h"

#include <ferry/ferry.h>
#include <ferry/net.h>

/* Model folders, requests, and answers of a net that the test runs itself. */

/*
 * Pictures of 3 x 12 x 12, ten scores; pictures of any size; the first layer in place; an output
 * that is the input's memory; rows of 432 numbers, several of a large picture; the entries that
 * the second input selects; sequences, time x 1 x 3, with `cont`.
 */
#define NET_SCORES   0
#define NET_ANY      1
#define NET_INPLACE  2
#define NET_FLAT     3
#define NET_ROWS     4
#define NET_SELECTED 5
#define NET_SEQUENCE 6
#define NETS         7

#define SIDE   12
#define PIXELS (3 * SIDE * SIDE)

extern TRITONBACKEND_Backend backend;
extern TRITONBACKEND_Model model;
extern TRITONBACKEND_ModelInstance instances[4];

/* A configuration of that batch, on the default device; `rest` has more members: ", \"a\": 1". */
const char *config_of(int max_batch, const char *rest);
/* The folder of a net, written at the first call. */
const char *folder_of(int net);
/* A path in the program's own folder; one of four that take turns. */
const char *in_folder(const char *name);
void write_text(const char *path, const char *text);

/* Opens the backend and loads a net; on failure the case fails. close_model closes both. */
void open_model(int net, const char *config, int count);
void close_model(int count);

/* Pixels of picture `seed`, n floats, aligned for adoption. */
float *pixels_of(unsigned seed, size_t n);
/* A request of `batch` pictures of h × w. */
void ask(TRITONBACKEND_Request *r, const float *pixels, int64_t batch, int64_t h, int64_t w);
/* Output `name` of a response; NULL if the response lacks it. */
const TRITONBACKEND_Output *output_of(const TRITONBACKEND_Request *r, const char *name);
/* Whether the answer is what the net computes from the same pictures in one batch, bit for bit. */
bool answered(const TRITONBACKEND_Request *r, int net);
/* As answered, within rounding. */
bool nearly_answered(const TRITONBACKEND_Request *r, int net);

int fixture_main(int argc, char **argv, const char *suite, const ferry_test_set *sets, size_t n);

#endif
