/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Output of the subcommands: tables for people, JSON for programs. */

/* ---- tables --------------------------------------------------------------------------------- */

#define MOST_COLUMNS 16

struct tool_table {
    char **cells; /* row by row, starting with the headings */
    size_t rows, room;
    int columns;
    bool flush_right[MOST_COLUMNS];
};

struct tool_table *tool_table_create(const char *const *headings, int columns)
{
    struct tool_table *t = calloc(1, sizeof(*t));
    const char *texts[MOST_COLUMNS];

    if (!t || columns > MOST_COLUMNS) {
        free(t);
        return NULL;
    }
    t->columns = columns;
    for (int i = 0; i < columns; i++) {
        t->flush_right[i] = headings[i][0] == '>';
        texts[i] = headings[i] + t->flush_right[i];
    }
    if (!tool_table_add(t, texts)) {
        tool_table_destroy(t);
        return NULL;
    }
    return t;
}

static char *printable_copy(const char *text)
{
    char *copy = strdup(text);

    return copy ? tool_printable(copy) : NULL;
}

static bool make_room(struct tool_table *t)
{
    size_t room = t->room ? t->room * 2 : 32;
    char **cells;

    if (t->rows < t->room)
        return true;
    cells = realloc(t->cells, room * (size_t)t->columns * sizeof(*cells));
    if (!cells)
        return false;
    t->cells = cells;
    t->room = room;
    return true;
}

bool tool_table_add(struct tool_table *t, const char *const *cells)
{
    char **row;

    if (!make_room(t))
        return false;
    row = t->cells + t->rows * (size_t)t->columns;
    for (int i = 0; i < t->columns; i++) {
        row[i] = printable_copy(cells[i]);
        if (!row[i]) {
            while (i-- > 0)
                free(row[i]);
            return false;
        }
    }
    t->rows++;
    return true;
}

/* The number of terminal columns of a text; UTF-8 continuation bytes do not count. */
static int text_width(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Prints at most `room` columns of text; if it is cut, the last three are dots. */
static void print_cut(const char *text, int room)
{
    int left = room - 3;

    if (room <= 3 || text_width(text) <= room) {
        fputs(text, stdout);
        return;
    }
    for (; *text; text++) {
        left -= ((unsigned char)*text & 0xc0) != 0x80;
        if (left < 0)
            break;
        putchar(*text);
    }
    fputs("...", stdout);
}

/* The last column with text, because a row does not end in blanks. */
static int last_filled(const struct tool_table *t, char *const *row)
{
    int last = t->columns - 1;

    while (last > 0 && !row[last][0])
        last--;
    return last;
}

static void print_row(const struct tool_table *t, char *const *row, const int *widths, int width)
{
    int last = last_filled(t, row), used = 0;

    for (int i = 0; i <= last; i++) {
        int own = text_width(row[i]), pad = own < widths[i] ? widths[i] - own : 0;

        if (t->flush_right[i])
            printf("%*s", pad, "");
        if (i == t->columns - 1 && width)
            print_cut(row[i], width - used);
        else
            fputs(row[i], stdout);
        if (i < last)
            printf("%*s", (t->flush_right[i] ? 0 : pad) + 2, "");
        used += own + pad + 2;
    }
    putchar('\n');
}

/* The width beyond which a cell does not widen its column, unless the column is wide anyway. */
#define WIDE 48

static int by_width(const void *left, const void *right)
{
    const int *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/*
 * The width of a column: that of its widest cell. Cells that are wider than WIDE and than twice the
 * usual width do not count, and overflow in their own rows. If out of memory, all cells count.
 */
static int column_width(const struct tool_table *t, int column)
{
    int *widths = calloc(t->rows, sizeof(*widths)), most = WIDE, width = 0;

    for (size_t i = 0; i < t->rows; i++) {
        int own = text_width(t->cells[i * (size_t)t->columns + (size_t)column]);

        if (widths)
            widths[i] = own;
        else
            width = own > width ? own : width;
    }
    if (!widths)
        return width;
    qsort(widths, t->rows, sizeof(*widths), by_width);
    most = widths[t->rows / 2] * 2 > most ? widths[t->rows / 2] * 2 : most;
    for (size_t i = 0; i < t->rows && widths[i] <= most; i++)
        width = widths[i];
    free(widths);
    return width;
}

void tool_table_print(const struct tool_table *t, int width)
{
    int widths[MOST_COLUMNS] = { 0 };

    for (int i = 0; i < t->columns; i++)
        widths[i] = column_width(t, i);
    for (size_t i = 0; i < t->rows; i++)
        print_row(t, t->cells + i * (size_t)t->columns, widths, width);
}

void tool_table_destroy(struct tool_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->rows * (size_t)t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t);
}

int tool_width(void)
{
    return isatty(STDOUT_FILENO) ? 100 : 0;
}

const char *tool_bytes(uint64_t bytes, char *buf, size_t size)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    if (bytes == 0)
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, "%.*f %s", unit ? 1 : 0, value, units[unit]);
    return buf;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

json_t *tool_json_string(const char *text)
{
    json_t *string = json_string(text);
    size_t length = strlen(text);
    char *escaped, *to;

    if (string)
        return string;
    escaped = to = malloc(length * 4 + 1);
    if (!escaped)
        return NULL;
    for (; *text; text++) {
        if ((unsigned char)*text < 0x80)
            *to++ = *text;
        else
            to += sprintf(to, "\\x%02x", (unsigned)(unsigned char)*text);
    }
    *to = '\0';
    string = json_string(escaped);
    free(escaped);
    return string;
}

bool tool_json_add(json_t *object, const char *name, json_t *value)
{
    json_t *key = tool_json_string(name), *old;
    bool good;

    if (!key) {
        json_decref(value);
        return false;
    }
    old = json_object_get(object, json_string_value(key));
    if (json_is_array(old))
        good = !json_array_append_new(old, value);
    else
        good = !json_object_set_new(object, json_string_value(key),
                                    old ? json_pack("[O, o]", old, value) : value);
    json_decref(key);
    return good;
}

json_t *tool_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static FILE *saved_stdout; /* the saved standard output; NULL if it was not saved */

void tool_output_keep(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

    saved_stdout = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (saved_stdout)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    else if (fd >= 0)
        close(fd);
}

void tool_output_return(void)
{
    fflush(stdout);
    if (!saved_stdout)
        return;
    dup2(fileno(saved_stdout), STDOUT_FILENO);
    fclose(saved_stdout);
    saved_stdout = NULL;
}

FILE *tool_output(void)
{
    return saved_stdout ? saved_stdout : stdout;
}

/*
 * Writes a character that is not printable as \u and its code: JSON readers see the same text, and
 * terminals do not interpret it.
 */
static void put_code(const char *text, FILE *to)
{
    unsigned code = tool_code_point(text);

    if (code > 0xffff) {
        fprintf(to, "\\u%04X", 0xd7c0 + (code >> 10));
        code = 0xdc00 + (code & 0x3ff);
    }
    fprintf(to, "\\u%04X", code);
}

/* Writes a piece of JSON, which consists of complete characters. */
static int put_json(const char *text, size_t size, void *to)
{
    const char *end = text + size, *from = text;
    bool plain;

    for (size_t n; text < end; text += n) {
        n = tool_character(text, &plain);
        if (plain || *text == '\n')
            continue;
        fwrite(from, 1, (size_t)(text - from), to);
        put_code(text, to);
        from = text + n;
    }
    fwrite(from, 1, (size_t)(end - from), to);
    return ferror(to) ? -1 : 0;
}

int tool_json_print(json_t *document)
{
    FILE *to = tool_output();
    int status = TOOL_OK;

    errno = 0;
    if (document &&
        json_dump_callback(document, put_json, to, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0)
        putc('\n', to);
    else if (ferror(to))
        status = tool_error(TOOL_FAILURE, "standard output: %s", strerror(errno));
    else
        status = tool_error(TOOL_FAILURE, "out of memory");
    json_decref(document);
    return status;
}
