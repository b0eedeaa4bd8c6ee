/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_H
#define FERRY_TOOL_H

#include <ferry/ferry.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * What the subcommands of `ferry` share. Each is one function in one file; it gets its arguments
 * without the program's and its own name and returns the exit status.
 */

#define TOOL_OK      0
#define TOOL_FAILURE 1 /* what was asked for could not be done; one line on standard error */
#define TOOL_USAGE   2 /* what was asked for makes no sense; likewise */

struct tool_command {
    const char *name;
    const char *arguments; /* as in the usage line */
    const char *summary;
    const char *details; /* printed by --help of the command, one or more lines */
    int (*run)(const struct tool_command *self, int argc, char **argv);
};

/* All of them, in the order of --help. */
extern const struct tool_command tool_commands[];
extern const size_t tool_command_count;

int cmd_bench(const struct tool_command *self, int argc, char **argv);
int cmd_check(const struct tool_command *self, int argc, char **argv);
int cmd_export(const struct tool_command *self, int argc, char **argv);
int cmd_devices(const struct tool_command *self, int argc, char **argv);
int cmd_plugins(const struct tool_command *self, int argc, char **argv);
int cmd_inspect(const struct tool_command *self, int argc, char **argv);
int cmd_complete(const struct tool_command *self, int argc, char **argv);
int cmd_convert(const struct tool_command *self, int argc, char **argv);
int cmd_dataset(const struct tool_command *self, int argc, char **argv);
int cmd_diff(const struct tool_command *self, int argc, char **argv);
int cmd_trace(const struct tool_command *self, int argc, char **argv);
int cmd_rename(const struct tool_command *self, int argc, char **argv);
int cmd_split(const struct tool_command *self, int argc, char **argv);
int cmd_run(const struct tool_command *self, int argc, char **argv);
int cmd_draw(const struct tool_command *self, int argc, char **argv);
int cmd_layers(const struct tool_command *self, int argc, char **argv);
int cmd_time(const struct tool_command *self, int argc, char **argv);
int cmd_train(const struct tool_command *self, int argc, char **argv);
int cmd_test(const struct tool_command *self, int argc, char **argv);
int cmd_new_plugin(const struct tool_command *self, int argc, char **argv);
int cmd_plot(const struct tool_command *self, int argc, char **argv);
int cmd_upgrade(const struct tool_command *self, int argc, char **argv);
int cmd_merge(const struct tool_command *self, int argc, char **argv);
int cmd_triton_model(const struct tool_command *self, int argc, char **argv);

/* "ferry: " and the message on standard error, one line; returns `status`. */
int tool_error(int status, const char *fmt, ...) FERRY_PRINTF(2, 3);

/* The same with ferry_last_error() for a message; returns TOOL_FAILURE. */
int tool_ferry_error(void);

/* ---- arguments ------------------------------------------------------------------------------ */

struct tool_option {
    const char *name;   /* "--json" */
    const char *brief;  /* "-v"; NULL if there is none */
    bool *flag;         /* set where the option is there; NULL for one with a value */
    const char **value; /* of "--option value" or "--option=value"; NULL for a flag */
};

/*
 * Sets the flags and values of `options` (ended by a NULL name) and moves what is no option to the front of
 * argv. Returns how many of those there are; −1 if --help was asked for and printed, −2 if an
 * option is unknown or lacks its value, or there are more than `most` arguments, which has been
 * said.
 */
int tool_parse(const struct tool_command *self, int argc, char **argv,
               const struct tool_option *options, int most);

/* The exit status that belongs to a negative result of tool_parse. */
int tool_parse_status(int result);

/*
 * The whole number from `least` to `most` that an option was given; TOOL_USAGE, which has been said, for
 * what is none. *out keeps what it holds where `text` is NULL.
 */
int tool_parse_number(const struct tool_command *self, const char *option, const char *text,
                      int64_t least, int64_t most, int64_t *out);

/* The seconds that --timeout was given, 1 to a day; 0 if they make no sense, which has been said. */
unsigned tool_parse_timeout(const struct tool_command *self, const char *text);

/* The candidate least edits away from `word`, or NULL where none is near. */
const char *tool_nearest(const char *word, const char *const *candidates, size_t n);

/* ---- output --------------------------------------------------------------------------------- */

/*
 * What names may have in them that a terminal would obey or not show: controls, what turns the direction
 * of text or has no width, bytes that are no UTF-8. Nothing is printed but through what follows, which
 * makes '?' of them: no subcommand calls printf, nor writes to standard error by itself.
 */

/* Bytes of the character at `text`, which is not its end; 1 for what is none. */
size_t tool_character(const char *text, bool *out_plain);
/* The code point of the character at `text`; U+FFFD for bytes that are not UTF-8. */
unsigned tool_code_point(const char *text);
/* The text with '?' for what is not plain; the same pointer. */
char *tool_printable(char *text);
/* Prints the text so, to standard output. */
void tool_print(const char *text);
/* printf, but for that; the lines' ends are kept. */
void tool_printf(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* The same to any stream; of the controls those in `kept` stay. */
void tool_vprint(FILE *to, const char *kept, const char *fmt, va_list args);
/* What the library logs goes to standard error so, too. */
void tool_log(void);

/* A table of text: rows are kept, so that columns can be as wide as what is in them. */
struct tool_table;

/* `headings` of `columns` columns; those whose heading starts with '>' are set flush right. */
struct tool_table *tool_table_create(const char *const *headings, int columns);

/* One more row of `columns` texts, copied; what a terminal could misunderstand becomes '?'. */
bool tool_table_add(struct tool_table *t, const char *const *cells);

/* Prints to standard output, the last column cut where the line would pass `width` (0: never). */
void tool_table_print(const struct tool_table *t, int width);
void tool_table_destroy(struct tool_table *t);

/* 100 where standard output is a terminal, else 0: pipes get whole lines. */
int tool_width(void);

/* "1.5 GiB" into `buf`; "-" for 0. */
const char *tool_bytes(uint64_t bytes, char *buf, size_t size);

/* A JSON string of any bytes: what is no UTF-8 is written as \xNN. NULL if out of memory. */
json_t *tool_json_string(const char *text);

/*
 * Puts a value, which is taken over, into an object under a name of any bytes, as tool_json_string has it;
 * several of one name are a list. Whether there was memory.
 */
bool tool_json_add(json_t *object, const char *name, json_t *value);

/* A JSON number, or null for what JSON has none for (NaN, infinities). */
json_t *tool_json_real(double value);

/*
 * From here on standard output is for JSON alone: what drivers print there goes to standard error.
 * tool_output is where the tool itself writes. tool_output_return gives it back, to who prints by printf.
 */
void tool_output_keep(void);
void tool_output_return(void);
FILE *tool_output(void);

/* Prints a document to standard output and lets go of it; NULL is "out of memory". */
int tool_json_print(json_t *document);

#endif
