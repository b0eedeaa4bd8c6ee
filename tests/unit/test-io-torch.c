/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "oom.h"

#include <ferry/io.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* PyTorch's archives, from bytes of this program: what is read, and that nothing is run. */

/* A string literal without its NUL, and its size. */
#define BYTES(text) (text), sizeof(text) - 1

static unsigned char file[8192];
static size_t used;

static void put(const void *bytes, size_t size)
{
    CU_ASSERT_FATAL(used + size <= sizeof(file));
    memcpy(file + used, bytes, size);
    used += size;
}

static void put_number(uint32_t value, int size)
{
    for (int i = 0; i < size; i++)
        put(&(unsigned char){ (unsigned char)(value >> 8 * i) }, 1);
}

struct member {
    const char *name;
    const void *bytes;
    size_t size;
};

/* A zip of stored members. */
static void make(const struct member *members, int n)
{
    size_t places[8], directory;

    used = 0;
    for (int i = 0; i < n; i++) {
        places[i] = used;
        put(BYTES("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
        put_number((uint32_t)members[i].size, 4);
        put_number((uint32_t)members[i].size, 4);
        put_number((uint32_t)strlen(members[i].name), 4);
        put(members[i].name, strlen(members[i].name));
        put(members[i].bytes, members[i].size);
    }
    directory = used;
    for (int i = 0; i < n; i++) {
        put(BYTES("PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
        put_number((uint32_t)members[i].size, 4);
        put_number((uint32_t)members[i].size, 4);
        put_number((uint32_t)strlen(members[i].name), 4);
        put(BYTES("\0\0\0\0\0\0\0\0\0\0"));
        put_number((uint32_t)places[i], 4);
        put(members[i].name, strlen(members[i].name));
    }
    put_number(0x06054b50, 4);
    put_number(0, 4);
    put_number((uint32_t)n, 2);
    put_number((uint32_t)n, 2);
    put_number((uint32_t)(used - 12 - directory), 4);
    put_number((uint32_t)directory, 4);
    put_number(0, 2);
}

static const float ramp[6] = { 0, 1, 2, 3, 4, 5 };

/* The pickle, and six floats as storage "0". */
static void make_archive(const void *pickle, size_t size)
{
    const struct member members[] = { { "x/data.pkl", pickle, size },
                                      { "x/data/0", ramp, sizeof(ramp) } };

    make(members, 2);
}

/* torch._utils._rebuild_tensor_v2(('storage', class, '0', 'cpu', 6), then what the caller has) */
#define TENSOR(class)                                                                      \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" class "\nX\1\0\0\0000" \
                                                                          "X\3\0\0\0cpuK\6tQ"

static ferry_io *open_archive(const char *pickle, size_t size)
{
    ferry_io *io = NULL;
    int err;

    make_archive(pickle, size);
    err = ferry_io_open_bytes(file, used, "w.pt", &io);
    if (err)
        printf("  %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
    CU_ASSERT_EQUAL(ferry_io_get_format(io), FERRY_IO_PYTORCH);
    return io;
}

static void check_values(ferry_io *io, const char *name, int n, const float *want)
{
    const ferry_io_entry *entry = NULL;
    float values[64];

    FX_OK_FATAL(ferry_io_find(io, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL_FATAL(entry->count, n);
    for (int piece = 1; piece <= n; piece++) {
        memset(values, 0xa5, sizeof(values));
        for (int at = 0; at < n; at += piece)
            FX_OK(
                ferry_io_read_values(io, entry, at, n - at < piece ? n - at : piece, values + at));
        CU_ASSERT_EQUAL(memcmp(values, want, (size_t)n * sizeof(float)), 0);
    }
}

static void tensors_have_the_names_of_their_dictionaries(void)
{
    /* {"w": 2 x 3, "m": {"t": its transpose, "n": 7}, "e": row 1 three times} */
    static const char pickle[] = "\x80\2}(X\1\0\0\0w" TENSOR(
        "FloatStorage") "K\0K\2K\3\x86K\3K\1\x86\x89}tR"
                        "X\1\0\0\0m}(X\1\0\0\0t" TENSOR(
                            "FloatStorage") "K\0K\3K\2\x86K\1K\3\x86\x89}tRX\1\0\0\0nK\7u"
                                            "X\1\0\0\0e" TENSOR(
                                                "FloatStorage") "K\3K\3K\3\x86K\0K\1\x86\x89}tRu.";
    static const float turned[] = { 0, 3, 1, 4, 2, 5 }, thrice[] = { 3, 4, 5, 3, 4, 5, 3, 4, 5 };
    ferry_io *io = open_archive(BYTES(pickle));
    const char *key, *value;

    CU_ASSERT_EQUAL(ferry_io_count(io), 3);
    check_values(io, "w", 6, ramp);
    check_values(io, "m.t", 6, turned);
    check_values(io, "e", 9, thrice);
    FX_OK(ferry_io_metadata_at(io, 0, &key, &value));
    CU_ASSERT_STRING_EQUAL(key, "m.n");
    CU_ASSERT_STRING_EQUAL(value, "7");
    ferry_io_close(io);
}

static void a_number_has_a_point_in_every_locale(void)
{
    static const char pickle[] =
        "\x80\2}(X\1\0\0\0w" TENSOR("FloatStorage") "K\0K\2K\3\x86K\3K\1\x86\x89}tR"
                                                    "X\1\0\0\0fG\x3f\xe0\0\0\0\0\0\0u.";
    const char *key, *value;
    ferry_io *io;

    if (!ferry_test_comma())
        return;
    io = open_archive(BYTES(pickle));
    setlocale(LC_NUMERIC, "C");
    FX_OK(ferry_io_metadata_at(io, 0, &key, &value));
    CU_ASSERT_STRING_EQUAL(key, "f");
    CU_ASSERT_STRING_EQUAL(value, "0.5");
    ferry_io_close(io);
}

/* What is no dictionary may hold tensors, and what is no tensor of floats is told. */
static void no_tensor_is_dropped_silently(void)
{
    /* defaultdict(list, {"a": t}), whose "s" is a sparse tensor, and "r" a storage alone */
    static const char dict[] =
        "\x80\2ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(X\1\0\0\0a" TENSOR(
            "FloatStorage") "K\0K\2\x85K\1\x85\x89}tR"
                            "X\1\0\0\0sctorch._utils\n_rebuild_sparse_tensor\n)R"
                            "X\1\0\0\0r(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                            "0X\3\0\0\0cpuK\6tQu.";
    /* set([t]) */
    static const char set[] =
        "\x80\2c__builtin__\nset\n]" TENSOR("FloatStorage") "K\0K\2\x85K\1\x85\x89}tRa\x85R.";
    static const float two[] = { 0, 1 };
    const ferry_io_entry *entry = NULL;
    ferry_io *io = open_archive(BYTES(dict));

    CU_ASSERT_EQUAL(ferry_io_count(io), 3);
    check_values(io, "a", 2, two);
    FX_OK_FATAL(ferry_io_find(io, "s", &entry));
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    FX_OK_FATAL(ferry_io_find(io, "r", &entry));
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    ferry_io_close(io);
    io = open_archive(BYTES(set));
    check_values(io, "0.0", 2, two);
    ferry_io_close(io);
}

static void a_tensor_alone_has_the_files_name(void)
{
    static const char pickle[] = "\x80\2" TENSOR("FloatStorage") "K\1K\2\x85K\2\x85\x89}tR.";
    static const float some[] = { 1, 3 };
    ferry_io *io = open_archive(BYTES(pickle));

    check_values(io, "w", 2, some);
    ferry_io_close(io);
}

/* os.system("…") is two names and a string. */
static void nothing_is_run(void)
{
    static const char pickle[] =
        "\x80\2}(X\1\0\0\0acposix\nsystem\nX\7\0\0\0touch x\x85RX\1\0\0\0w" TENSOR(
            "FloatStorage") "K\0K\6\x85K\1\x85\x89}tRu.";
    ferry_io *io = open_archive(BYTES(pickle));

    CU_ASSERT_EQUAL(ferry_io_count(io), 1);
    check_values(io, "w", 6, ramp);
    ferry_io_close(io);
}

static void check_wrong(const char *pickle, size_t size, int code, const char *says)
{
    ferry_io *io = NULL;
    int err;

    make_archive(pickle, size);
    err = ferry_io_open_bytes(file, used, "w.pt", &io);
    CU_ASSERT_EQUAL(err, code);
    if (err != code || !strstr(ferry_last_error(), says)) {
        CU_FAIL("another code or message");
        printf("  wanted %d \"%s\", got %d \"%s\"\n", code, says, err, ferry_last_error());
    }
    ferry_io_close(io);
}

static void malformed_archives_are_named(void)
{
    static const char
        deep[] = "\x80\2}q\0X\1\0\0\0ah\0s.", /* it holds itself */
        wide[] = "\x80\2}" TENSOR("FloatStorage") "K\0K\7\x85K\1\x85\x89}tR.",
        far[] = "\x80\2}" TENSOR("FloatStorage") "K\6K\1\x85K\1\x85\x89}tR.",
        step[] = "\x80\2}" TENSOR(
            "FloatStorage") "K\0K\3\x85\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f\x85\x89}tR.",
        many[] = "\x80\2}" TENSOR("FloatStorage") "K\0\x8a\x5\0\0\0\0\1\x85K\0\x85\x89}tR.",
        minus[] = "\x80\2}" TENSOR("FloatStorage") "K\0J\xff\xff\xff\xff\x85K\1\x85\x89}tR.",
        odd[] = "\x80\2}" TENSOR("QUInt8Storage") "K\0K\6\x85K\1\x85\x89}tR.";
    struct member none = { "x/data.pkl/", "", 0 };
    ferry_io *io = NULL;

    check_wrong(BYTES("\x80\2"), FERRY_EFORMAT, "ends without an end");
    check_wrong(BYTES("\x80\2."), FERRY_EFORMAT, "the stack has nothing");
    check_wrong(BYTES("\x80\2}u."), FERRY_EFORMAT, "there is no mark");
    check_wrong(BYTES("\x80\2}(K\1u."), FERRY_EFORMAT, "a key without a value");
    check_wrong(BYTES("\x80\2h\0."), FERRY_EFORMAT, "the memo has nothing there");
    check_wrong(BYTES("\x80\2}r\0\0\0\x40."), FERRY_EFORMAT, "far behind the others");
    check_wrong(BYTES("\x80\2X\xff\0\0\0ab."), FERRY_EFORMAT, "cut off");
    check_wrong(BYTES("\x80\2cos\nsystem"), FERRY_EFORMAT, "no line of text");
    check_wrong(BYTES("\x80\2i."), FERRY_EUNSUPPORTED, "none that weights need");
    check_wrong(BYTES(deep), FERRY_EFORMAT, "lies too deep");
    check_wrong(BYTES(wide), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(far), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(step), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(many), FERRY_EFORMAT, "more often than a file of its size may");
    check_wrong(BYTES(minus), FERRY_EFORMAT, "is no tensor");
    check_wrong(BYTES(odd), FERRY_EUNSUPPORTED, "a storage of torch QUInt8Storage");
    make(&none, 1);
    CU_ASSERT_NOT_EQUAL(ferry_io_open_bytes(file, used, "w.pt", &io), FERRY_OK);
}

static const char good[] = "\x80\2}(X\1\0\0\0w" TENSOR(
    "FloatStorage") "K\0K\2K\3\x86K\1K\2\x86\x89}tRX\1\0\0\0nK\7X\1\0\0\0s]K\1au.";

/* Each piece is an error, and each byte may be wrong; what then opens can be read. */
static void any_bytes_are_read_or_refused(void)
{
    unsigned char whole[sizeof(file)];
    size_t size;
    float values[64];

    make_archive(BYTES(good));
    size = used;
    memcpy(whole, file, size);
    for (size_t n = 1; n < size; n++) {
        unsigned char *piece = malloc(n); /* of its own, so that a sanitizer sees each overrun */
        ferry_io *io = NULL;

        memcpy(piece, whole, n);
        CU_ASSERT_NOT_EQUAL(ferry_io_open_bytes(piece, n, "piece", &io), FERRY_OK);
        free(piece);
    }
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            unsigned char *copy = malloc(size);
            const ferry_io_entry *entry = NULL;
            ferry_io *io = NULL;

            memcpy(copy, whole, size);
            copy[i] ^= (unsigned char)(1u << bit);
            if (ferry_io_open_bytes(copy, size, "copy", &io) == FERRY_OK)
                while (ferry_io_next(io, &entry) == FERRY_OK && entry)
                    if (entry->count <= 16)
                        (void)ferry_io_read_values(io, entry, 0, entry->count, values);
            ferry_io_close(io);
            free(copy);
        }
}

static void every_allocation_may_fail(void)
{
    bool failed = true;

    make_archive(BYTES(good));
    for (unsigned n = 1; failed; n++) {
        ferry_io *io = NULL;
        int err;

        oom_arm(n);
        err = ferry_io_open_bytes(file, used, "w.pt", &io);
        failed = oom_disarm();
        CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : FERRY_OK);
        CU_ASSERT_EQUAL(io == NULL, err != FERRY_OK);
        ferry_io_close(io);
        CU_ASSERT_FATAL(n < 1000);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(tensors_have_the_names_of_their_dictionaries),
    FERRY_TEST(a_number_has_a_point_in_every_locale),
    FERRY_TEST(no_tensor_is_dropped_silently),
    FERRY_TEST(a_tensor_alone_has_the_files_name),
    FERRY_TEST(nothing_is_run),
    FERRY_TEST(malformed_archives_are_named),
    FERRY_TEST(any_bytes_are_read_or_refused),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "io-torch", cases, FERRY_TEST_COUNT(cases));
}
