/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module while it is parsed: parse.c reads directives and declarations, operand.c gives
 * operands their slots, decode.c makes instructions of statements.
 */
#ifndef FERRY_TEST_PTX_PARSE_H
#define FERRY_TEST_PTX_PARSE_H

#include "tests/ptx/program.h"
#include "tests/ptx/text.h"

#define MOST_GIVEN 8 /* operands of a statement */

/* `.reg .f32 %f<641>;` or one register, `count` 0. */
struct registers {
    struct token name;
    uint32_t count;
    uint8_t width; /* bytes of a lane; 4 with is_predicate */
    bool is_predicate;
    uint32_t *slots; /* 0: not used yet */
};

struct symbol {
    struct token name;
    enum ptx_space space;
    uint64_t offset;
};

struct label {
    struct token name;
    uint32_t at;
    uint32_t first, count; /* of .branchtargets: in `references` */
};

/* A label that an instruction, or an entry of a list of targets, is about. */
struct reference {
    struct token name;
    uint32_t instruction; /* UINT32_MAX: a target */
};

struct parser {
    struct text text;
    struct ptx_module *module;
    struct ptx_kernel *kernel;
    char *error;
    size_t error_room;
    bool has_failed;
    struct registers *registers;
    struct symbol *symbols;
    struct label *labels;
    struct reference *references;
    size_t register_count, symbol_count, module_symbols, label_count, reference_count;
    size_t code_room;
    struct token guard;
    bool guard_negated, is_led;
    uint16_t file;
    uint32_t source_line;
};

/* The first error, with the line of the current token; later ones are not recorded. */
void parse_fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One more element of a table of `size` bytes each that the module owns; NULL after a failure. */
void *parse_grow(struct parser *p, void *table, size_t *count, size_t size);
/* Consumes a token that must be there. */
void parse_expect(struct parser *p, const char *word);
bool parse_accept(struct parser *p, const char *word);

/* ---- operand.c ---- */

enum form { REGISTER, NUMBER, NAME, VECTOR, ADDRESS, SINK };

/* An operand as it is written. */
struct operand {
    enum form form;
    struct token name; /* of a register or symbol; in an address the base */
    uint64_t value;    /* a number; of an address the offset */
    bool has_base;
    struct token parts[4];
    unsigned part_count;
};

/* Reads the next operand. */
void operand_read(struct parser *p, struct operand *out);
/* A new slot of so many bytes a lane. */
uint32_t slot_new(struct parser *p, unsigned width);
uint32_t slot_constant(struct parser *p, unsigned width, uint64_t value);
/* The slot of a register and its width; 0 after a failure. */
uint32_t slot_register(struct parser *p, const struct token *name, unsigned *out_width,
                       bool *out_predicate);
/* The slot of an operand of that width, which a register must have. */
uint32_t slot_operand(struct parser *p, const struct operand *o, unsigned width, bool predicate);
const struct symbol *symbol_find(const struct parser *p, const struct token *name);
/* The slot for results that are not needed. */
#define SINK_SLOT 0u

/* ---- decode.c ---- */

/* Appends an instruction with the statement's guard and lines; NULL after a failure. */
struct instruction *decode_emit(struct parser *p, ptx_handler *run);
/* A statement, from the opcode to the semicolon. */
void decode_statement(struct parser *p);

/* access.c: ld, st, atom, red; parts are the opcode's, without the dots. */
struct name {
    char whole[96], parts[12][24];
    unsigned count;
};
bool name_has(const struct name *name, const char *part);
/* The registers of an operand: one, or those of a vector. Room for four. */
unsigned operand_registers(const struct operand *o, struct operand *out);
void decode_load(struct parser *p, const struct name *name);
void decode_store(struct parser *p, const struct name *name);
void decode_atomic(struct parser *p, const struct name *name);
/* Bytes of a type: 4 for "f32"; 0: not a type. */
unsigned type_width(const char *type);
/* Converts a register to another width as ld, st and cvt allow. */
void decode_resize(struct parser *p, uint32_t to, unsigned to_width, uint32_t from,
                   unsigned from_width, bool is_signed);

#endif
