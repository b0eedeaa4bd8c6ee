/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_COMMAND_H
#define FERRY_TEST_COMMAND_H

#include "ferry-test.h"

#include <jansson.h>
#include <stdbool.h>

/* What the tests of the ferry command share: it is run as a user runs it. */

/* What the last command has said. */
extern char out[1 << 18], err[65536];

/* A path in the program's own folder; one of four that take turns. */
const char *in_folder(const char *name);
void slurp(const char *path, char *into, size_t size);

/* Runs a shell command, or ferry with these arguments. Returns its exit status. */
int shell(const char *command);
int ferry(const char *arguments);

/* Whether it said one line on standard error, with that in it. */
bool one_line_of_error(const char *about);

/* What it printed, as JSON; the case ends if it is none. */
json_t *parse_output(void);
const char *text_of(const json_t *object, const char *key);

/* Runs the cases on each backend, in a folder of their own. */
int command_main(int argc, char **argv, const char *name, const ferry_test_case *cases,
                 size_t count);

#endif
