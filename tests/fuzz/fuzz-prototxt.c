/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include <ferry/proto.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_name[] = "prototxt";

/* Claims the fields of a LayerParameter that begin with "acme". */
static int claims(void *arg, const char *name)
{
    (void)arg;
    return strncmp(name, "acme", 4) == 0;
}

static ferry_proto *open_text(const char *type, const char *text, size_t size)
{
    ferry_proto_options options = { .struct_size = sizeof(options),
                                    .text = text,
                                    .text_size = size,
                                    .claims = claims,
                                    .comments = true };
    ferry_proto *p = NULL;

    return ferry_proto_open("input", type, &options, &p) ? NULL : p;
}

static char *print(const ferry_proto *p, size_t *size)
{
    char *text;

    if (ferry_proto_print(p, NULL, 0, size))
        abort();
    text = malloc(*size + 1);
    if (!text || ferry_proto_print(p, text, *size + 1, size))
        abort();
    return text;
}

/* The printed form of a message can be read, and is printed identically. */
static void check_print(const ferry_proto *p, const char *type)
{
    size_t size, size_again;
    char *text = print(p, &size), *text_again;
    ferry_proto *again = open_text(type, text, size);

    if (!again)
        abort();
    text_again = print(again, &size_again);
    if (size != size_again || memcmp(text, text_again, size) != 0)
        abort();
    ferry_proto_close(again);
    free(text_again);
    free(text);
}

/* Reads any text as a net and as a solver: parses, prints, upgrades and writes it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *type = size > 0 && bytes[0] == ';' ? "SolverParameter" : "NetParameter";
    size_t skip = size > 0 && bytes[0] == ';';
    ferry_proto *p = open_text(type, (const char *)bytes + skip, size - skip);
    bool strange = ferry_proto_note_count(p) > 0; /* an unknown field of V1 may have the name of a
                                                   * field of V2 */

    if (!p)
        return 0;
    check_print(p, type);
    fuzz_use(ferry_proto_serialize(p, NULL, 0, &size) == FERRY_OK);
    if (ferry_proto_upgrade(p) == FERRY_OK && !strange)
        check_print(p, type);
    ferry_proto_close(p);
    return 0;
}
