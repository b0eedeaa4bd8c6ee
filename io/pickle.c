/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine of Python's pickletools, protocols 2 to 5: a stack of values with marks, and a memo.
 * An instruction's operands on the stack are checked; imports and calls are recorded, never
 * executed.
 */
#include "pickle.h"

#include <stdio.h>
#include <string.h>

struct machine {
    struct ferry_io *io;
    const unsigned char *start, *at, *end;
    const unsigned char *op; /* the current instruction, for messages */
    struct ferry__pickle **stack, **memo;
    uint64_t depth, stack_room, memo_room, memo_used;
    int err;
};

/* ---- errors --------------------------------------------------------------------------------- */

static struct ferry__pickle *fail(struct machine *m, int code, const char *what)
{
    if (!m->err)
        m->err =
            ferry_error_set(code, "%s: data.pkl at byte %llu: opcode 0x%02x: %s", m->io->file.path,
                            (unsigned long long)(m->op - m->io->file.bytes), *m->op, what);
    return NULL;
}

static void *arena(struct machine *m, size_t size)
{
    void *out = m->err ? NULL : ferry__io_alloc(m->io, size);

    if (!out && !m->err)
        m->err = ferry_last_error_code();
    return out;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Takes the next `size` bytes; NULL if there are fewer. */
static const unsigned char *take(struct machine *m, uint64_t size)
{
    const unsigned char *bytes = m->at;

    if (m->err || size > (uint64_t)(m->end - m->at)) {
        fail(m, FERRY_EFORMAT, "its argument is truncated");
        return NULL;
    }
    m->at += size;
    return bytes;
}

/* Takes a number of `size` bytes, little-endian. */
static uint64_t take_number(struct machine *m, unsigned size)
{
    const unsigned char *bytes = take(m, size);
    uint64_t value = 0;

    for (unsigned i = size; bytes && i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Takes text up to a newline. */
static const char *take_line(struct machine *m)
{
    const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    char *text;

    if (!end || memchr(m->at, '\0', (size_t)(end - m->at))) {
        fail(m, FERRY_EFORMAT, "its argument has no newline");
        return NULL;
    }
    text = ferry__io_string(m->io, m->at, (size_t)(end - m->at));
    if (!text && !m->err)
        m->err = ferry_last_error_code();
    m->at = end + 1;
    return text;
}

/* ---- values --------------------------------------------------------------------------------- */

static struct ferry__pickle *make(struct machine *m, enum ferry__pickle_kind kind)
{
    struct ferry__pickle *p = arena(m, sizeof(*p));

    if (p)
        p->kind = kind;
    return p;
}

static void grow(struct machine *m, struct ferry__pickle ***table, uint64_t *room, uint64_t least)
{
    uint64_t wanted = *room ? *room : 64;
    struct ferry__pickle **larger;

    while (wanted < least)
        wanted *= 2;
    larger = arena(m, (size_t)wanted * sizeof(*larger));
    if (!larger)
        return;
    if (*room)
        memcpy(larger, *table, (size_t)*room * sizeof(*larger));
    *table = larger;
    *room = wanted;
}

static void push(struct machine *m, struct ferry__pickle *p)
{
    if (!p || m->err)
        return;
    if (m->depth == m->stack_room)
        grow(m, &m->stack, &m->stack_room, m->depth + 1);
    if (!m->err)
        m->stack[m->depth++] = p;
}

/* Pops the top value, which must not be a mark. */
static struct ferry__pickle *pop(struct machine *m)
{
    if (m->err || m->depth == 0 || m->stack[m->depth - 1]->kind == FERRY__PICKLE_MARK)
        return fail(m, FERRY_EFORMAT, "the stack is too short");
    return m->stack[--m->depth];
}

static void add(struct machine *m, struct ferry__pickle *to, struct ferry__pickle *value)
{
    struct ferry__pickle_link *link = arena(m, sizeof(*link));

    if (!link || !value)
        return;
    link->value = value;
    if (to->last)
        to->last->next = link;
    else
        to->first = link;
    to->last = link;
    to->number++;
}

/* Pops the values above the last mark into `to`, and the mark. */
static void take_marked(struct machine *m, struct ferry__pickle *to)
{
    uint64_t mark = m->depth;

    while (mark > 0 && m->stack[mark - 1]->kind != FERRY__PICKLE_MARK)
        mark--;
    if (mark == 0)
        fail(m, FERRY_EFORMAT, "there is no mark");
    for (uint64_t i = mark; i < m->depth && !m->err && to; i++)
        add(m, to, m->stack[i]);
    if (!m->err)
        m->depth = mark - 1;
}

static void push_integer(struct machine *m, int64_t value)
{
    struct ferry__pickle *p = make(m, FERRY__PICKLE_INT);

    if (p)
        p->number = value;
    push(m, p);
}

/*
 * Pushes an integer of up to eight bytes, two's complement; files of weights do not use longer
 * integers.
 */
static void push_long(struct machine *m, uint64_t size)
{
    const unsigned char *bytes = take(m, size);
    uint64_t value = bytes && size > 0 && bytes[size - 1] & 0x80 ? UINT64_MAX : 0;

    if (size > 8) {
        push(m, make(m, FERRY__PICKLE_NONE));
        return;
    }
    for (uint64_t i = size; bytes && i-- > 0;)
        value = value << 8 | bytes[i];
    push_integer(m, (int64_t)value);
}

static void push_float(struct machine *m)
{
    const unsigned char *bytes = take(m, 8);
    struct ferry__pickle *p = make(m, FERRY__PICKLE_FLOAT);
    uint64_t bits = 0;

    for (int i = 0; bytes && i < 8; i++)
        bits = bits << 8 | bytes[i];
    if (p)
        memcpy(&p->real, &bits, sizeof(bits));
    push(m, p);
}

/* Pushes a string. A NUL ends the string for ferry, since no valid name contains one. */
static void push_string(struct machine *m, uint64_t size)
{
    const unsigned char *bytes = take(m, size);
    struct ferry__pickle *p = make(m, FERRY__PICKLE_STRING);

    if (!bytes || !p)
        return;
    p->text = ferry__io_string(m->io, bytes, (size_t)size);
    if (!p->text)
        m->err = ferry_last_error_code();
    push(m, p);
}

static void push_global(struct machine *m, const char *module, const char *name)
{
    struct ferry__pickle *p = make(m, FERRY__PICKLE_GLOBAL);
    size_t size;
    char *text;

    if (!p || !module || !name)
        return;
    size = strlen(module) + strlen(name) + 2;
    text = arena(m, size);
    if (!text)
        return;
    snprintf(text, size, "%s %s", module, name);
    p->text = text;
    push(m, p);
}

/* ---- instructions --------------------------------------------------------------------------- */

static void put_memo(struct machine *m, uint64_t at)
{
    if (m->depth == 0) {
        fail(m, FERRY_EFORMAT, "the stack is too short");
        return;
    }
    if (at > 2 * m->memo_used + 1024) { /* Python numbers its memo from 0 */
        fail(m, FERRY_EFORMAT, "an index of the memo far beyond the others");
        return;
    }
    if (at >= m->memo_room)
        grow(m, &m->memo, &m->memo_room, at + 1);
    if (m->err)
        return;
    m->memo[at] = m->stack[m->depth - 1];
    m->memo_used++;
}

static void get_memo(struct machine *m, uint64_t at)
{
    if (at >= m->memo_room || !m->memo[at])
        fail(m, FERRY_EFORMAT, "the memo has no such entry");
    else
        push(m, m->memo[at]);
}

static void push_tuple(struct machine *m, int n)
{
    struct ferry__pickle *p = make(m, FERRY__PICKLE_LIST), *members[3] = { NULL };

    for (int i = n; i-- > 0;)
        members[i] = pop(m);
    for (int i = 0; i < n && p && !m->err; i++)
        add(m, p, members[i]);
    push(m, p);
}

static void push_marked(struct machine *m, enum ferry__pickle_kind kind)
{
    struct ferry__pickle *p = make(m, kind);

    take_marked(m, p);
    push(m, p);
}

/* Adds members to the list or dictionary on top of the stack, or to the result of a call. */
static void extend(struct machine *m, bool marked, int n)
{
    struct ferry__pickle *members = make(m, FERRY__PICKLE_LIST), *of, *to, *value[2] = { NULL };
    enum ferry__pickle_kind kind = n == 2 ? FERRY__PICKLE_DICT : FERRY__PICKLE_LIST;

    if (marked)
        take_marked(m, members);
    for (int i = n; i-- > 0 && !marked;)
        value[i] = pop(m);
    for (int i = 0; i < n && !marked && !m->err; i++)
        add(m, members, value[i]);
    of = pop(m);
    if (m->err)
        return;
    if (n == 2 && members->number % 2) {
        fail(m, FERRY_EFORMAT, "a key without a value");
        return;
    }
    if (of->kind == FERRY__PICKLE_CALL && !of->items)
        of->items = make(m, kind);
    to = of->kind == FERRY__PICKLE_CALL ? of->items : of;
    if (to && to->kind == kind)
        for (const struct ferry__pickle_link *l = members->first; l; l = l->next)
            add(m, to, l->value);
    push(m, of);
}

/* Calls the top value. A call of OrderedDict becomes a dictionary; all other calls are recorded. */
static void call(struct machine *m)
{
    struct ferry__pickle *arguments = pop(m), *callee = pop(m), *p;

    if (m->err)
        return;
    if (callee->kind == FERRY__PICKLE_GLOBAL && arguments->number == 0 &&
        strcmp(callee->text, "collections OrderedDict") == 0) {
        push(m, make(m, FERRY__PICKLE_DICT));
        return;
    }
    p = make(m, FERRY__PICKLE_CALL);
    if (p) {
        p->callee = callee;
        if (arguments->kind == FERRY__PICKLE_LIST) {
            p->first = arguments->first;
            p->last = arguments->last;
            p->number = arguments->number;
        }
    }
    push(m, p);
}

static void build(struct machine *m)
{
    struct ferry__pickle *state = pop(m), *of = pop(m);

    if (m->err)
        return;
    if (of->kind == FERRY__PICKLE_CALL && of != state)
        of->state = state;
    push(m, of);
}

static void persistent(struct machine *m)
{
    struct ferry__pickle *id = pop(m), *p = make(m, FERRY__PICKLE_STORAGE);

    if (m->err)
        return;
    if (id->kind != FERRY__PICKLE_LIST) {
        fail(m, FERRY_EUNSUPPORTED, "a persistent id that is not a tuple");
        return;
    }
    p->first = id->first;
    p->last = id->last;
    p->number = id->number;
    push(m, p);
}

static void push_bool(struct machine *m, bool value)
{
    struct ferry__pickle *p = make(m, FERRY__PICKLE_BOOL);

    if (p)
        p->number = value;
    push(m, p);
}

static void stack_global(struct machine *m)
{
    struct ferry__pickle *name = pop(m), *module = pop(m);

    if (m->err)
        return;
    if (name->kind != FERRY__PICKLE_STRING || module->kind != FERRY__PICKLE_STRING)
        fail(m, FERRY_EFORMAT, "a name that is not a string");
    else
        push_global(m, module->text, name->text);
}

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * Executes an instruction. Its argument comes from the pickle if it has one, from the table
 * otherwise.
 */
typedef void (*run_fn)(struct machine *m, uint64_t argument);

static void run_value(struct machine *m, uint64_t kind)
{
    push(m, make(m, (enum ferry__pickle_kind)kind));
}

static void run_bool(struct machine *m, uint64_t value)
{
    push_bool(m, value != 0);
}

static void run_integer(struct machine *m, uint64_t value)
{
    push_integer(m, (int64_t)value);
}

static void run_integer32(struct machine *m, uint64_t value)
{
    push_integer(m, (int32_t)(uint32_t)value);
}

static void run_float(struct machine *m, uint64_t unused)
{
    (void)unused;
    push_float(m);
}

static void run_global(struct machine *m, uint64_t unused)
{
    const char *module = take_line(m);

    (void)unused;
    push_global(m, module, m->err ? NULL : take_line(m));
}

static void run_memoize(struct machine *m, uint64_t unused)
{
    (void)unused;
    put_memo(m, m->memo_used);
}

static void run_tuple(struct machine *m, uint64_t n)
{
    push_tuple(m, (int)n);
}

static void run_marked(struct machine *m, uint64_t kind)
{
    push_marked(m, (enum ferry__pickle_kind)kind);
}

static void run_extend(struct machine *m, uint64_t n)
{
    extend(m, false, (int)n);
}

static void run_extend_marked(struct machine *m, uint64_t n)
{
    extend(m, true, (int)n);
}

static void run_call(struct machine *m, uint64_t unused)
{
    (void)unused;
    call(m);
}

/* Records a call with keyword arguments; the call's state holds their dictionary. */
static void run_call_named(struct machine *m, uint64_t unused)
{
    struct ferry__pickle *named = pop(m);

    (void)unused;
    call(m);
    if (!m->err && named->number > 0)
        m->stack[m->depth - 1]->items = named;
}

static void run_build(struct machine *m, uint64_t unused)
{
    (void)unused;
    build(m);
}

static void run_persistent(struct machine *m, uint64_t unused)
{
    (void)unused;
    persistent(m);
}

static void run_stack_global(struct machine *m, uint64_t unused)
{
    (void)unused;
    stack_global(m);
}

static void run_pop(struct machine *m, uint64_t unused)
{
    (void)unused;
    (void)pop(m);
}

/* Ignores the protocol number, or a frame, whose bytes follow inline. */
static void run_nothing(struct machine *m, uint64_t unused)
{
    (void)m;
    (void)unused;
}

/*
 * `bytes`: the size of the number after the opcode that is the argument; 0: the argument is
 * `fixed`.
 */
static const struct {
    run_fn run;
    unsigned bytes;
    uint64_t fixed;
} instructions[256] = {
    ['N'] = { run_value, 0, FERRY__PICKLE_NONE },
    [')'] = { run_value, 0, FERRY__PICKLE_LIST },
    [']'] = { run_value, 0, FERRY__PICKLE_LIST },
    ['}'] = { run_value, 0, FERRY__PICKLE_DICT },
    ['('] = { run_value, 0, FERRY__PICKLE_MARK },
    [0x88] = { run_bool, 0, 1 },
    [0x89] = { run_bool, 0, 0 },
    ['K'] = { run_integer, 1, 0 },
    ['M'] = { run_integer, 2, 0 },
    ['J'] = { run_integer32, 4, 0 },
    [0x8a] = { push_long, 1, 0 },
    [0x8b] = { push_long, 4, 0 },
    ['G'] = { run_float, 0, 0 },
    ['U'] = { push_string, 1, 0 },
    ['C'] = { push_string, 1, 0 },
    [0x8c] = { push_string, 1, 0 },
    ['T'] = { push_string, 4, 0 },
    ['B'] = { push_string, 4, 0 },
    ['X'] = { push_string, 4, 0 },
    [0x8d] = { push_string, 8, 0 },
    [0x8e] = { push_string, 8, 0 },
    [0x96] = { push_string, 8, 0 },
    ['c'] = { run_global, 0, 0 },
    ['h'] = { get_memo, 1, 0 },
    ['j'] = { get_memo, 4, 0 },
    ['q'] = { put_memo, 1, 0 },
    ['r'] = { put_memo, 4, 0 },
    [0x94] = { run_memoize, 0, 0 },
    [0x85] = { run_tuple, 0, 1 },
    [0x86] = { run_tuple, 0, 2 },
    [0x87] = { run_tuple, 0, 3 },
    ['t'] = { run_marked, 0, FERRY__PICKLE_LIST },
    ['l'] = { run_marked, 0, FERRY__PICKLE_LIST },
    ['d'] = { run_marked, 0, FERRY__PICKLE_DICT },
    ['a'] = { run_extend, 0, 1 },
    ['e'] = { run_extend_marked, 0, 1 },
    [0x8f] = { run_value, 0, FERRY__PICKLE_LIST }, /* a set becomes a list */
    [0x90] = { run_extend_marked, 0, 1 },
    [0x91] = { run_marked, 0, FERRY__PICKLE_LIST },
    ['s'] = { run_extend, 0, 2 },
    ['u'] = { run_extend_marked, 0, 2 },
    ['R'] = { run_call, 0, 0 },
    [0x81] = { run_call, 0, 0 },
    [0x92] = { run_call_named, 0, 0 },
    ['b'] = { run_build, 0, 0 },
    ['Q'] = { run_persistent, 0, 0 },
    [0x93] = { run_stack_global, 0, 0 },
    ['0'] = { run_pop, 0, 0 },
    [0x80] = { run_nothing, 1, 0 },
    [0x95] = { run_nothing, 8, 0 },
};

static void run(struct machine *m, unsigned op)
{
    uint64_t argument = instructions[op].fixed;

    if (!instructions[op].run) {
        fail(m, FERRY_EUNSUPPORTED, "is not used by files of weights");
        return;
    }
    if (instructions[op].bytes)
        argument = take_number(m, instructions[op].bytes);
    if (!m->err)
        instructions[op].run(m, argument);
}

int ferry__pickle_read(struct ferry_io *io, const unsigned char *bytes, uint64_t size,
                       struct ferry__pickle **out)
{
    struct machine m = { .io = io, .start = bytes, .at = bytes, .end = bytes + size };

    while (!m.err) {
        m.op = m.at;
        if (m.at == m.end)
            return ferry_error_set(FERRY_EFORMAT, "%s: data.pkl at byte %llu: has no STOP",
                                   io->file.path, (unsigned long long)(m.at - io->file.bytes));
        m.at++;
        if (*m.op == '.')
            break;
        run(&m, *m.op);
    }
    *out = pop(&m);
    return m.err;
}

const struct ferry__pickle *ferry__pickle_member(const struct ferry__pickle *p, int64_t i)
{
    const struct ferry__pickle_link *link = p->first;

    while (link && i-- > 0)
        link = link->next;
    return link ? link->value : NULL;
}
