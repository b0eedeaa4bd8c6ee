/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_H
#define FERRY_TOOL_H

#include <ferry/ferry.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Declarations that all subcommands of `ferry` share. Each subcommand is one function in one file;
 * it gets its arguments without the names of the program and the subcommand, and returns the exit
 * status.
 */

#define TOOL_OK      0
#define TOOL_FAILURE 1 /* the request could not be carried out; one line on standard error */
#define TOOL_USAGE   2 /* the arguments are not valid; one line on standard error */

/* The formats of --format as a string; `between` separates them. */
#define TOOL_FORMATS(between)                                                                      \
    "caffemodel" between "binaryproto" between "solverstate" between "npy" between "npz" between   \
    "safetensors" between "hdf5"

struct tool_command {
    const char *name;
    const char *arguments; /* the arguments as in the usage line */
    const char *summary;
    const char *details; /* printed by --help of the command, one or more lines */
    int (*run)(const struct tool_command *self, int argc, char **argv);
};

/* All commands, in the order of --help. */
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
int cmd_quantize(const struct tool_command *self, int argc, char **argv);
int cmd_plot(const struct tool_command *self, int argc, char **argv);
int cmd_upgrade(const struct tool_command *self, int argc, char **argv);
int cmd_merge(const struct tool_command *self, int argc, char **argv);
int cmd_triton_model(const struct tool_command *self, int argc, char **argv);

/* Prints "ferry: " and the message to standard error, as one line; returns `status`. */
int tool_error(int status, const char *fmt, ...) FERRY_PRINTF(2, 3);

/* Prints ferry_last_error() in the same way; returns TOOL_FAILURE. */
int tool_ferry_error(void);

/* ---- arguments ------------------------------------------------------------------------------ */

struct tool_option {
    const char *name;   /* for example "--json" */
    const char *brief;  /* for example "-v"; or NULL */
    bool *flag;         /* set if the option is given; NULL for an option with a value */
    const char **value; /* set to the value of "--option value" or "--option=value"; NULL for a
                         * flag */
};

/*
 * Sets the flags and values of `options` (ended by a NULL name) and moves the other arguments to
 * the front of argv. Returns their number; −1 if --help was given and printed; −2, after reporting
 * it, if an option is unknown or lacks its value, or there are more than `most` arguments.
 */
int tool_parse(const struct tool_command *self, int argc, char **argv,
               const struct tool_option *options, int most);

/* The exit status for a negative result of tool_parse. */
int tool_parse_status(int result);

/*
 * Parses an option's value, a whole number from `least` to `most`; TOOL_USAGE, after reporting it,
 * if it is not valid. If `text` is NULL, *out is unchanged.
 */
int tool_parse_number(const struct tool_command *self, const char *option, const char *text,
                      int64_t least, int64_t most, int64_t *out);

/* Parses the seconds of --timeout, 1 to a day; 0, after reporting it, if they are not valid. */
unsigned tool_parse_timeout(const struct tool_command *self, const char *text);

/* The candidate with the fewest edits from `word`, or NULL if none is close. */
const char *tool_nearest(const char *word, const char *const *candidates, size_t n);

/* ---- output --------------------------------------------------------------------------------- */

/*
 * Names may contain characters that a terminal would obey or not show: control characters,
 * characters that change the text direction or have no width, and bytes that are not UTF-8. All
 * output uses the functions below, which replace such characters by '?': no subcommand calls printf
 * or writes to standard error itself.
 */

/*
 * The number of bytes of the character at `text`, which must not be its end; 1 if it is not valid.
 */
size_t tool_character(const char *text, bool *out_plain);
/* The code point of the character at `text`; U+FFFD for bytes that are not UTF-8. */
unsigned tool_code_point(const char *text);
/* Replaces unprintable characters in the text by '?'; returns the same pointer. */
char *tool_printable(char *text);
/* Prints the text to standard output with those replacements. */
void tool_print(const char *text);
/* printf with those replacements; newlines are kept. */
void tool_printf(const char *fmt, ...) FERRY_PRINTF(1, 2);
/* Prints to any stream; the control characters in `kept` are kept. */
void tool_vprint(FILE *to, const char *kept, const char *fmt, va_list args);
/* Sends the library's log to standard error from here on, with the same replacements. */
void tool_log(void);

/* A table of text: rows are stored, so that columns fit their widest cell. */
struct tool_table;

/* `headings` of `columns` columns; a column whose heading starts with '>' is aligned right. */
struct tool_table *tool_table_create(const char *const *headings, int columns);

/* Adds a row of `columns` texts, which are copied with unprintable characters replaced by '?'. */
bool tool_table_add(struct tool_table *t, const char *const *cells);

/*
 * Prints to standard output; the last column is cut if the line would exceed `width` (0:
 * unlimited).
 */
void tool_table_print(const struct tool_table *t, int width);
void tool_table_destroy(struct tool_table *t);

/*
 * The width for tables: 100 if standard output is a terminal, else 0, because pipes get complete
 * lines.
 */
int tool_width(void);

/* Formats a size, such as "1.5 GiB", into `buf`; "-" for 0. */
const char *tool_bytes(uint64_t bytes, char *buf, size_t size);

/*
 * A JSON string of any bytes: bytes that are not UTF-8 are written as \xNN. NULL if out of memory.
 */
json_t *tool_json_string(const char *text);

/*
 * Adds a value, whose ownership it takes, to an object under a name of any bytes, encoded as in
 * tool_json_string; several values of one name become a list. Returns false if out of memory.
 */
bool tool_json_add(json_t *object, const char *name, json_t *value);

/* A JSON number, or null for NaN and infinities, which JSON cannot represent. */
json_t *tool_json_real(double value);

/*
 * Reserves standard output for JSON: from here on, output that drivers print there goes to standard
 * error. tool_output is the stream for the tool itself. tool_output_return restores standard output
 * for functions that use printf.
 */
void tool_output_keep(void);
void tool_output_return(void);
FILE *tool_output(void);

/* Prints a document to standard output and releases it; NULL means "out of memory". */
int tool_json_print(json_t *document);

#endif
