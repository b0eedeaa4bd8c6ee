/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ld, st, atom and red: `ld{.kind}.space{.cache}{.vN}.type`.
 */
#include "tests/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

unsigned type_width(const char *type)
{
    int bits = type[0] && strchr("busf", type[0]) ? atoi(type + 1) : 0;

    if (!strcmp(type, "bf16"))
        return 2;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (unsigned)bits / 8 : 0;
}

/* Modifiers that only direct caches, or order what runs in order here. */
static bool is_advice(const char *part)
{
    static const char *const known[] = { "ca",  "cg",  "cs",   "lu",      "cv",
                                         "wb",  "wt",  "nc",   "cta",     "cluster",
                                         "gpu", "sys", "weak", "relaxed", "volatile" };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(part, known[i]))
            return true;
    return !strncmp(part, "L1::", 4) || !strncmp(part, "L2::", 4);
}

static bool take_space(const char *part, uint8_t *out)
{
    static const char *const names[] = { "generic", "global", "shared", "local", "param", "const" };

    for (uint8_t i = GLOBAL; i <= CONSTANT; i++)
        if (!strcmp(part, names[i]) || (i == SHARED && !strcmp(part, "shared::cta")) ||
            (i == PARAM && !strcmp(part, "param::entry"))) {
            *out = i;
            return true;
        }
    return false;
}

struct form_of_access {
    uint8_t space, count, operation;
    unsigned width;
    char sign; /* 's', 'u', 'f' or 'b' */
};

static bool take_operation(const char *part, uint8_t *out)
{
    static const char *const names[ATOMICS] = {
        [ADD] = "add",       [EXCHANGE] = "exch", [COMPARE] = "cas", [LEAST] = "min",
        [MOST] = "max",      [AND] = "and",       [OR] = "or",       [XOR] = "xor",
        [INCREMENT] = "inc", [DECREMENT] = "dec"
    };

    for (uint8_t i = 0; i < ATOMICS; i++)
        if (!strcmp(part, names[i])) {
            *out = i;
            return true;
        }
    return false;
}

static struct form_of_access read_form(struct parser *p, const struct name *name, bool is_atomic)
{
    struct form_of_access f = { .space = GENERIC, .count = 1, .operation = ATOMICS };

    for (unsigned i = 1; i < name->count; i++) {
        const char *part = name->parts[i];

        if (take_space(part, &f.space) || is_advice(part) ||
            (is_atomic && take_operation(part, &f.operation)))
            continue;
        if (!strcmp(part, "v2") || !strcmp(part, "v4"))
            f.count = (uint8_t)(part[1] - '0');
        else if (type_width(part) && i == name->count - 1) {
            f.width = type_width(part);
            f.sign = part[0];
        } else
            break;
    }
    if (!f.width || (is_atomic && f.operation == ATOMICS))
        parse_fail(p, "opcode '%s' is not known", name->whole);
    return f;
}

/*
 * The narrowest access of each space decides how finely races are checked; a generic one may be
 * of either.
 */
static void note_grain(struct parser *p, const struct form_of_access *f)
{
    for (unsigned s = GLOBAL; s <= SHARED; s++) {
        unsigned *grain = &p->kernel->grain[s];

        if ((f->space == s || f->space == GENERIC) && (!*grain || f->width < *grain))
            *grain = f->width;
    }
}

/* The base of an address; symbols are numbers in their space. */
static uint32_t address_slot(struct parser *p, const struct operand *o, bool *out_narrow,
                             int64_t *out_offset)
{
    const struct symbol *s = o->has_base ? symbol_find(p, &o->name) : NULL;
    unsigned width = 8;
    bool predicate;
    uint32_t slot;

    *out_offset = (int64_t)o->value;
    *out_narrow = false;
    if (o->form != ADDRESS) {
        parse_fail(p, "an address is expected");
        return SINK_SLOT;
    }
    if (!o->has_base)
        return slot_constant(p, 8, 0);
    if (s)
        return slot_constant(p, 8, (s->space == CONSTANT ? BASE_OF(CONSTANT) : 0) + s->offset);
    slot = slot_register(p, &o->name, &width, &predicate);
    *out_narrow = width == 4;
    return slot;
}

static void set_form(struct instruction *i, const struct form_of_access *f)
{
    i->space = f->space;
    i->width = (uint8_t)f->width;
    i->count = f->count;
    i->operation = f->operation;
}

unsigned operand_registers(const struct operand *o, struct operand *out)
{
    if (o->form != VECTOR) {
        out[0] = *o;
        return 1;
    }
    for (unsigned k = 0; k < o->part_count; k++) {
        out[k] = (struct operand){ .form = REGISTER, .name = o->parts[k] };
        if (token_is(&o->parts[k], "_"))
            out[k].form = SINK;
        else if (token_number(&o->parts[k], &out[k].value))
            out[k].form = NUMBER;
    }
    return o->part_count;
}

void decode_load(struct parser *p, const struct name *name)
{
    static ptx_handler *const handlers[9] = {
        [1] = run_load_1, [2] = run_load_2, [4] = run_load_4, [8] = run_load_8
    };
    struct form_of_access f = read_form(p, name, false);
    struct operand vector, address, o[4];
    uint32_t slot[4], actual_slot[4];
    unsigned actual[4], n;
    struct instruction *i;
    bool predicate;

    operand_read(p, &vector);
    parse_expect(p, ",");
    operand_read(p, &address);
    n = operand_registers(&vector, o);
    if (n != f.count)
        parse_fail(p, "%u registers for %u elements", n, f.count);
    for (unsigned k = 0; k < n && !p->has_failed; k++) {
        actual[k] = f.width;
        slot[k] = actual_slot[k] = SINK_SLOT;
        if (o[k].form != SINK)
            slot[k] = actual_slot[k] = slot_register(p, &o[k].name, &actual[k], &predicate);
        if (actual[k] != f.width)
            slot[k] = slot_new(p, f.width);
    }
    i = decode_emit(p, handlers[f.width]);
    if (!i)
        return;
    set_form(i, &f);
    note_grain(p, &f);
    memcpy(i->slot, slot, n * sizeof(*slot));
    i->slot[n] = address_slot(p, &address, &i->narrow_address, &i->offset);
    for (unsigned k = 0; k < n; k++)
        if (slot[k] != actual_slot[k])
            decode_resize(p, actual_slot[k], actual[k], slot[k], f.width, f.sign == 's');
}

/* The slot of an operand to store: a wider register is narrowed first. */
static uint32_t stored_slot(struct parser *p, const struct operand *o, unsigned width)
{
    unsigned actual = width;
    bool predicate;
    uint32_t slot, narrow;

    if (o->form != REGISTER)
        return slot_operand(p, o, width, false);
    slot = slot_register(p, &o->name, &actual, &predicate);
    if (actual == width)
        return slot;
    narrow = slot_new(p, width);
    decode_resize(p, narrow, width, slot, actual, false);
    return narrow;
}

void decode_store(struct parser *p, const struct name *name)
{
    static ptx_handler *const handlers[9] = {
        [1] = run_store_1, [2] = run_store_2, [4] = run_store_4, [8] = run_store_8
    };
    struct form_of_access f = read_form(p, name, false);
    struct operand vector, address, o[4];
    uint32_t slot[4] = { 0 };
    struct instruction *i;
    unsigned n;

    operand_read(p, &address);
    parse_expect(p, ",");
    operand_read(p, &vector);
    n = operand_registers(&vector, o);
    if (n != f.count)
        parse_fail(p, "%u registers for %u elements", n, f.count);
    for (unsigned k = 0; k < n && !p->has_failed; k++)
        slot[k] = stored_slot(p, &o[k], f.width);
    i = decode_emit(p, handlers[f.width]);
    if (!i)
        return;
    set_form(i, &f);
    note_grain(p, &f);
    i->slot[0] = address_slot(p, &address, &i->narrow_address, &i->offset);
    memcpy(i->slot + 1, slot, n * sizeof(*slot));
}

static ptx_handler *atomic_handler(const struct form_of_access *f)
{
    if (f->sign == 'f')
        return f->operation > EXCHANGE ? NULL
               : f->width == 4         ? run_atomic_f32
               : f->width == 8         ? run_atomic_f64
                                       : NULL;
    if (f->width == 4)
        return f->sign == 's' ? run_atomic_s32 : run_atomic_u32;
    return f->width != 8 ? NULL : f->sign == 's' ? run_atomic_s64 : run_atomic_u64;
}

/* red is atom without a result. */
void decode_atomic(struct parser *p, const struct name *name)
{
    struct form_of_access f = read_form(p, name, true);
    struct operand result = { .form = SINK }, address, o = { .form = SINK };
    ptx_handler *handler = atomic_handler(&f);
    uint32_t slot[MOST_OPERANDS] = { 0 };
    struct instruction *i;

    if (!handler)
        parse_fail(p, "opcode '%s' is not known", name->whole);
    if (!strcmp(name->parts[0], "atom")) {
        operand_read(p, &result);
        parse_expect(p, ",");
    }
    operand_read(p, &address);
    slot[0] = slot_operand(p, &result, f.width, false);
    for (unsigned k = 0; k < (f.operation == COMPARE ? 2u : 1u); k++) {
        parse_expect(p, ",");
        operand_read(p, &o);
        slot[2 + k] = slot_operand(p, &o, f.width, false);
    }
    i = decode_emit(p, handler);
    if (!i)
        return;
    set_form(i, &f);
    note_grain(p, &f);
    memcpy(i->slot, slot, sizeof(slot));
    i->slot[1] = address_slot(p, &address, &i->narrow_address, &i->offset);
}
