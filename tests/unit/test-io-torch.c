/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "io-zip.h"
#include "little.h"
#include "oom.h"

#include <ferry/io.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/*
 * PyTorch's archives, from bytes in this program: the arrays that are read, and that no code is
 * executed.
 */

/* A string literal without its NUL, and its size. */
#define BYTES(text) (text), sizeof(text) - 1

static struct zip file;

static const float ramp[6] = { 0, 1, 2, 3, 4, 5 };

/* The pickle, and six floats as storage "0". */
static void make_archive(const void *pickle, size_t size)
{
    unsigned char stored[sizeof(ramp)];
    const struct member members[] = { { "x/data.pkl", pickle, size },
                                      { "x/data/0", stored, sizeof(stored) } };

    put_little(stored, ELEMENTS(ramp));
    make_zip(&file, members, 2);
}

/* The beginning of torch._utils._rebuild_tensor_v2(('storage', class, '0', 'cpu', 6), …) */
#define TENSOR(class)                                                                      \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" class "\nX\1\0\0\0000" \
                                                                          "X\3\0\0\0cpuK\6tQ"

static ferry_io *open_archive(const char *pickle, size_t size)
{
    ferry_io *io = NULL;
    int err;

    make_archive(pickle, size);
    err = ferry_io_open_bytes(file.at, file.size, "w.pt", &io);
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

    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
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

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
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

/*
 * Values that are not dictionaries may contain tensors, and values that are not float tensors are
 * reported.
 */
static void no_tensor_is_dropped_silently(void)
{
    /* defaultdict(list, {"a": t}), whose "s" is a sparse tensor, and "r" only a storage */
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

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 3);
    check_values(io, "a", 2, two);
    FX_OK_FATAL(ferry_io_entry_find(io, "s", &entry));
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    FX_OK_FATAL(ferry_io_entry_find(io, "r", &entry));
    CU_ASSERT_PTR_NOT_NULL(entry->unreadable);
    ferry_io_close(io);
    io = open_archive(BYTES(set));
    check_values(io, "0.0", 2, two);
    ferry_io_close(io);
}

static void check_marked(ferry_io *io, const char *name, const char *storage, const char *why)
{
    const ferry_io_entry *entry = NULL;
    float value;

    FX_OK_FATAL(ferry_io_entry_find(io, name, &entry));
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry->unreadable);
    CU_ASSERT_STRING_EQUAL(entry->storage, storage);
    CU_ASSERT_PTR_NOT_NULL(strstr(entry->unreadable, why));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_io_read_values(io, entry, 0, 0, &value));
}

/* An array of unsupported values does not prevent reading the others. */
static void an_unsupported_tensor_is_marked_and_the_others_are_read(void)
{
    static const char pickle[] = "\x80\2}(X\1\0\0\0q" TENSOR(
        "QUInt8Storage") "K\0K\6\x85K\1\x85\x89}tR"
                         "X\1\0\0\0mctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n"
                         "FloatStorage\nX\1\0\0\0009X\3\0\0\0cpuK\6tQK\0K\6\x85K\1\x85\x89}tR"
                         "X\1\0\0\0e" TENSOR(
                             "FloatStorage") "K\0\x8a\5\0\0\0\0\1\x85K\0\x85\x89}tR"
                                             "X\1\0\0\0n" TENSOR(
                                                 "FloatStorage") "K\0K\6\x85K\1\x85\x89}}"
                                                                 "X\3\0\0\0neg\x88stR"
                                                                 "X\1\0\0\0w" TENSOR(
                                                                     "FloatStorage") "K\0K\6\x85K\1"
                                                                                     "\x85\x89}}"
                                                                                     "X\3\0\0\0neg"
                                                                                     "\x89stRu.";
    ferry_io *io = open_archive(BYTES(pickle));
    const ferry_io_entry *entry = NULL;

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 5);
    check_marked(io, "n", "float32", "its elements are negated lazily");
    check_marked(io, "q", "QUInt8Storage", "ferry has no such dtype");
    check_marked(io, "m", "float32", "its storage is not in the archive");
    check_marked(io, "e", "float32", "more often than is plausible");
    check_values(io, "w", 6, ramp);
    FX_OK(ferry_io_entry_find(io, "q", &entry));
    CU_ASSERT_EQUAL(entry->count, 6);
    ferry_io_close(io);
}

/* {"a.b": t, "a": {"b": t}, 1: t, "1": t}, a dictionary in itself, a set of protocol 4. */
static void tensors_with_the_same_name_are_distinguished(void)
{
#define SOME TENSOR("FloatStorage") "K\0K\2\x85K\1\x85\x89}tR"
    static const char pickle[] = "\x80\4}q\0(X\3\0\0\0a.b" SOME "X\1\0\0\0a}X\1\0\0\0b" SOME
                                 "sK\1" SOME "X\1\0\0\0001" SOME "X\1\0\0\0sh\0"
                                 "X\1\0\0\0t\x8f(" SOME "\x90u.";
    static const float two[] = { 0, 1 };
    static const char *const names[] = { "a.b", "a.b#2", "1", "1#2", "t.0" };
    ferry_io *io = open_archive(BYTES(pickle));

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 5);
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++)
        check_values(io, names[i], 2, two);
    ferry_io_close(io);
}

static void a_single_tensor_has_the_name_of_its_file(void)
{
    static const char pickle[] = "\x80\2" TENSOR("FloatStorage") "K\1K\2\x85K\2\x85\x89}tR.";
    static const float some[] = { 1, 3 };
    ferry_io *io = open_archive(BYTES(pickle));

    check_values(io, "w", 2, some);
    ferry_io_close(io);
}

/* os.system("…") is two names and a string. */
static void reading_a_pickle_executes_no_code(void)
{
    static const char pickle[] =
        "\x80\2}(X\1\0\0\0acposix\nsystem\nX\7\0\0\0touch x\x85RX\1\0\0\0w" TENSOR(
            "FloatStorage") "K\0K\6\x85K\1\x85\x89}tRu.";
    ferry_io *io = open_archive(BYTES(pickle));

    CU_ASSERT_EQUAL(ferry_io_entry_count(io), 1);
    check_values(io, "w", 6, ramp);
    ferry_io_close(io);
}

static void check_wrong(const char *pickle, size_t size, int code, const char *says)
{
    ferry_io *io = NULL;
    int err;

    make_archive(pickle, size);
    err = ferry_io_open_bytes(file.at, file.size, "w.pt", &io);
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
        wide[] = "\x80\2}" TENSOR("FloatStorage") "K\0K\7\x85K\1\x85\x89}tR.",
        far[] = "\x80\2}" TENSOR("FloatStorage") "K\6K\1\x85K\1\x85\x89}tR.",
        step[] = "\x80\2}" TENSOR(
            "FloatStorage") "K\0K\3\x85\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f\x85\x89}tR.",
        minus[] = "\x80\2}" TENSOR("FloatStorage") "K\0J\xff\xff\xff\xff\x85K\1\x85\x89}tR.";
    struct member none = { "x/data.pkl/", "", 0 };
    ferry_io *io = NULL;

    check_wrong(BYTES("\x80\2"), FERRY_EFORMAT, "has no STOP");
    check_wrong(BYTES("\x80\2."), FERRY_EFORMAT, "the stack is too short");
    check_wrong(BYTES("\x80\2}u."), FERRY_EFORMAT, "there is no mark");
    check_wrong(BYTES("\x80\2}(K\1u."), FERRY_EFORMAT, "a key without a value");
    check_wrong(BYTES("\x80\2h\0."), FERRY_EFORMAT, "the memo has no such entry");
    check_wrong(BYTES("\x80\2}r\0\0\0\x40."), FERRY_EFORMAT, "far beyond the others");
    check_wrong(BYTES("\x80\2X\xff\0\0\0ab."), FERRY_EFORMAT, "truncated");
    check_wrong(BYTES("\x80\2cos\nsystem"), FERRY_EFORMAT, "has no newline");
    check_wrong(BYTES("\x80\2i."), FERRY_EUNSUPPORTED, "is not used by files of weights");
    check_wrong(BYTES(wide), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(far), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(step), FERRY_EFORMAT, "strides lead out");
    check_wrong(BYTES(minus), FERRY_EFORMAT, "is not a tensor");
    make_zip(&file, &none, 1);
    CU_ASSERT_NOT_EQUAL(ferry_io_open_bytes(file.at, file.size, "w.pt", &io), FERRY_OK);
}

static const char good[] = "\x80\2}(X\1\0\0\0w" TENSOR(
    "FloatStorage") "K\0K\2K\3\x86K\1K\2\x86\x89}tRX\1\0\0\0nK\7X\1\0\0\0s]K\1au.";

/* Each truncation is an error, and each byte may be wrong; files that then open can be read. */
static void arbitrary_bytes_are_read_or_refused(void)
{
    unsigned char whole[sizeof(file.at)];
    size_t size;
    float values[64];

    make_archive(BYTES(good));
    size = file.size;
    memcpy(whole, file.at, size);
    for (size_t n = 1; n < size; n++) {
        unsigned char *piece = malloc(n); /* a separate block, so that a sanitizer detects each
                                           * overrun */
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
        err = ferry_io_open_bytes(file.at, file.size, "w.pt", &io);
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
    FERRY_TEST(an_unsupported_tensor_is_marked_and_the_others_are_read),
    FERRY_TEST(tensors_with_the_same_name_are_distinguished),
    FERRY_TEST(a_single_tensor_has_the_name_of_its_file),
    FERRY_TEST(reading_a_pickle_executes_no_code),
    FERRY_TEST(malformed_archives_are_named),
    FERRY_TEST(arbitrary_bytes_are_read_or_refused),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "io-torch", cases, FERRY_TEST_COUNT(cases));
}
