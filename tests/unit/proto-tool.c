/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema.h"

#include <ferry/proto.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Prints the input of tests/scripts/check-proto.py, which compares it with protobuf:
 *
 *     proto-tool schema the tables of caffe.proto, as the text of a FileDescriptorProto
 *     proto-tool read TYPE FILE… each FILE as text in FILE.out and binary in FILE.bin; or FILE.err
 */

/* ---- tables --------------------------------------------------------------------------------- */

static void print_enum(const struct ferry__proto_enum *choices, const char *indent)
{
    printf("%senum_type {\n%s  name: \"%s\"\n", indent, indent, choices->name);
    for (size_t i = 0; i < choices->count; i++)
        printf("%s  value { name: \"%s\" number: %d }\n", indent, choices->values[i].name,
               (int)choices->values[i].number);
    printf("%s}\n", indent);
}

/* A field without a number, or with the number of an earlier field, gets an unused one. */
static unsigned number_of(const struct ferry__proto_message *m, size_t index)
{
    unsigned number = m->fields[index].number;

    for (size_t i = 0; i < index; i++)
        if (m->fields[i].number == number)
            number = 0;
    return number ? number : 900000 + (unsigned)index;
}

static void print_default(const struct ferry__proto_field *field)
{
    const struct ferry__proto_name *name;

    if (field->kind == FERRY__PROTO_MESSAGE || ferry__proto_repeats(field))
        return;
    if (field->text_default)
        printf(" default_value: \"%s\"", field->text_default);
    else if (field->kind == FERRY__PROTO_BOOL)
        printf(" default_value: \"%s\"", field->number_default != 0 ? "true" : "false");
    else if (field->kind == FERRY__PROTO_ENUM &&
             (name = ferry__proto_enum_numbered(field->choices, (int64_t)field->number_default)))
        printf(" default_value: \"%s\"", name->name);
    else if (field->number_default != 0)
        printf(" default_value: \"%.9g\"", field->number_default);
}

static void print_field(const struct ferry__proto_message *m, size_t index)
{
    static const char *const types[] = { "INT32",  "INT64",  "UINT32", "BOOL", "FLOAT",
                                         "DOUBLE", "STRING", "BYTES",  "ENUM", "MESSAGE" };
    static const char *const labels[] = { "OPTIONAL", "REQUIRED", "REPEATED", "REPEATED" };
    const struct ferry__proto_field *field = &m->fields[index];

    printf("  field { name: \"%s\" number: %u type: TYPE_%s label: LABEL_%s", field->name,
           number_of(m, index), types[field->kind], labels[field->label]);
    if (field->message)
        printf(" type_name: \".ferry.%s\"", field->message->name);
    if (field->choices)
        printf(" type_name: \".ferry.%s.%s\"", m->name, field->choices->name);
    if (field->label == FERRY__PROTO_PACKED)
        printf(" options { packed: true }");
    print_default(field);
    printf(" }\n");
}

static int first_of_its_enum(const struct ferry__proto_message *m, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (m->fields[i].choices == m->fields[index].choices)
            return 0;
    return m->fields[index].choices != NULL;
}

static void print_schema(void)
{
    const struct ferry__proto_message *m;

    printf("name: \"ferry.proto\"\npackage: \"ferry\"\n");
    for (size_t i = 0; (m = ferry__proto_message_at(i)); i++) {
        printf("message_type {\n  name: \"%s\"\n", m->name);
        for (size_t k = 0; k < m->count; k++)
            print_field(m, k);
        for (size_t k = 0; k < m->count; k++)
            if (first_of_its_enum(m, k))
                print_enum(m->fields[k].choices, "  ");
        printf("}\n");
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

static int put(const char *path, const char *suffix, const void *bytes, size_t size)
{
    char name[1024];
    FILE *file;
    size_t written;

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    file = fopen(name, "wb");
    written = file ? fwrite(bytes, 1, size, file) : 0;
    return !file || fclose(file) != 0 || written != size;
}

static int put_both(const char *path, const ferry_proto *p)
{
    size_t size = 0, wire_size = 0;
    int err = ferry_proto_print(p, NULL, 0, &size);
    char *text, *wire;

    err = err ? err : ferry_proto_serialize(p, NULL, 0, &wire_size);
    text = malloc(size + 1);
    wire = malloc(wire_size + 1);
    if (!err && text && wire)
        err = ferry_proto_print(p, text, size + 1, &size) ||
              ferry_proto_serialize(p, wire, wire_size, &wire_size) ||
              put(path, ".out", text, size) || put(path, ".bin", wire, wire_size);
    free(text);
    free(wire);
    return err;
}

static int read_file(const char *type, const char *path)
{
    ferry_proto *p = NULL;
    int err;

    if (ferry_proto_open(path, type, NULL, &p))
        return put(path, ".err", ferry_last_error(), strlen(ferry_last_error()));
    err = put_both(path, p);
    ferry_proto_close(p);
    return err;
}

int main(int argc, char **argv)
{
    int err = 0;

    if (argc == 2 && strcmp(argv[1], "schema") == 0) {
        print_schema();
        return 0;
    }
    if (argc < 3 || strcmp(argv[1], "read") != 0)
        return 2;
    for (int i = 3; i < argc && !err; i++)
        err = read_file(argv[2], argv[i]);
    return err != 0;
}
