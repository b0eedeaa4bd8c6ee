/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_COMMAND_H
#define FERRY_TEST_COMMAND_H

#include "ferry-test.h"

#include <jansson.h>
#include <stdbool.h>

/* Functions that the tests of the ferry command share, which run it like a user. */

/* The output of the last command. */
extern char out[1 << 18], err[65536];

/* A path in the program's own folder, in one of four rotating buffers. */
const char *in_folder(const char *name);
void slurp(const char *path, char *into, size_t size);

/* Writes a file in that folder: a text, or floats as a .npy of the shape "(2, 3)". */
void write_text(const char *name, const char *text);
void write_array(const char *name, const char *shape, const float *values, size_t count);

/* Runs a shell command, or ferry with these arguments. Returns its exit status. */
int shell(const char *command);
int ferry(const char *arguments);

/* Whether the command printed one line on standard error that contains the text. */
bool one_line_of_error(const char *about);

/* Its output parsed as JSON; ends the case if it is not valid. */
json_t *parse_output(void);
const char *text_of(const json_t *object, const char *key);

/* Runs the cases on each backend, in a folder of their own. */
int command_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                 size_t count);

#endif
