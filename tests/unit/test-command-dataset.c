/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry dataset`, run like a user: a Data layer reads the data that were written. */
#if defined(FERRY_NET_HAVE_PNG) && defined(FERRY_NET_HAVE_LMDB)

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

/* Prefix of the shell commands. */
#define HERE "cd \"$FERRY_TEST_FOLDER\" && "
#define CMD  HERE "\"$FERRY_TEST_COMMAND\" "

/* Two pictures of one size and one of another, and lists of them. */
static void write_pictures(void)
{
    CU_ASSERT_EQUAL_FATAL(shell(HERE "cp -f \"$FERRY_TEST_SRCDIR\"/tests/data/images/*.png . && "
                                     "rm -rf db other"),
                          0);
    write_text("list", "rgb.png 3\npalette.png 7\nrgb.png -2\n");
    write_text("one", "gray.png 5\n");
}

/* Reads a database by Data and the same pictures by ImageData: the arrays are equal. */
static void check_alike(const char *list, int n, const char *image, const char *transform)
{
    char text[1024];

    snprintf(text, sizeof text,
             "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: 'db' "
             "batch_size: %d } %s }",
             n, transform);
    write_text("db.prototxt", text);
    snprintf(text, sizeof text,
             "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' image_data_param { "
             "source: '%s' batch_size: %d %s } }",
             list, n, image);
    write_text("list.prototxt", text);
    CU_ASSERT_EQUAL(shell(CMD "run db.prototxt -o db.npz && \"$FERRY_TEST_COMMAND\" run "
                              "list.prototxt -o list.npz && \"$FERRY_TEST_COMMAND\" diff db.npz "
                              "list.npz"),
                    0);
    if (err[0])
        printf("     %s\n", err);
}

static void pictures_of_a_list_are_read_back_from_the_database(void)
{
    static const struct {
        const char *arguments, *image;
    } ways[] = {
        { "", "" },
        { "--encoded", "" },
        { "--gray", "is_color: false" },
        { "--gray --encoded", "is_color: false" },
        { "--resize 7x5", "new_height: 7 new_width: 5" },
        { "--resize 7x5 --encoded --gray", "new_height: 7 new_width: 5 is_color: false" },
    };
    char line[256];

    for (size_t i = 0; i < FERRY_TEST_COUNT(ways); i++) {
        write_pictures();
        snprintf(line, sizeof line, CMD "dataset list db %s", ways[i].arguments);
        CU_ASSERT_EQUAL(shell(line), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "3 records"));
        check_alike("list", 3, ways[i].image, "");
    }
}

static double value_of(const char *blob, size_t i)
{
    json_t *document = parse_output(), *o;
    size_t k;
    double value = -1;

    json_array_foreach(json_object_get(document, "outputs"), k,
                       o) if (!strcmp(text_of(o, "name"), blob)) value =
        json_number_value(json_array_get(json_object_get(o, "values"), i));
    json_decref(document);
    return value;
}

/* Two databases of the same pictures, which Data reads identically, whatever its `backend` is. */
static void both_backends_have_the_same_records(void)
{
#ifdef FERRY_NET_HAVE_LEVELDB
    write_pictures();
    CU_ASSERT_EQUAL(shell(CMD "dataset list db --backend lmdb"), 0);
    check_alike("list", 3, "", "");
    CU_ASSERT_EQUAL(shell(HERE "rm -rf db && \"$FERRY_TEST_COMMAND\" dataset list db --backend "
                               "leveldb && test -f db/CURRENT"),
                    0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "3 records"));
    check_alike("list", 3, "", "");
#else
    ferry_test_skip("there is no libleveldb");
#endif
}

/* The mean of 3 pictures as a mean_file: the differences from it sum to zero over all of them. */
static void the_mean_file_has_the_mean_of_the_pictures(void)
{
    write_pictures();
    CU_ASSERT_EQUAL(shell(CMD "dataset list db --resize 2x2 --mean mean.binaryproto"), 0);
    CU_ASSERT_EQUAL(shell(CMD "inspect mean.binaryproto"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "1 3 2 2"));
    write_text("db.prototxt",
               "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: 'db' "
               "batch_size: 3 } transform_param { mean_file: 'mean.binaryproto' } }");
    CU_ASSERT_EQUAL(shell(CMD "run db.prototxt --json"), 0);
    for (size_t i = 0; i < 12; i++) {
        double sum = value_of("data", i) + value_of("data", i + 12) + value_of("data", i + 24);

        CU_ASSERT(sum < 1e-4 && sum > -1e-4);
    }
    CU_ASSERT_NOT_EQUAL(value_of("data", 0), value_of("data", 12));
}

/* A PNG of one gray pixel. */
static const unsigned char dot[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81, 0x77, 0xcd, 0x72, 0xb6, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

static const unsigned char images[] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,   0,   0,
                                        0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252 };
static const unsigned char labels[] = { 0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 4 };

static void idx_files_are_read_back_from_the_database(void)
{
    for (int encoded = 0; encoded < 2; encoded++) {
        write_pictures();
        write_file("images", images, sizeof images);
        write_file("labels", labels, sizeof labels);
        CU_ASSERT_EQUAL(shell(encoded ? CMD "dataset images labels db --encoded"
                                      : CMD "dataset images labels db"),
                        0);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "3 records of 1 x 2 x 2"));
        write_text("db.prototxt", "layer { name: 'd' type: 'Data' top: 'data' top: 'label' "
                                  "data_param { source: 'db' batch_size: 3 } }");
        CU_ASSERT_EQUAL(shell(CMD "run db.prototxt --json"), 0);
        CU_ASSERT_EQUAL(value_of("data", 0), 1);
        CU_ASSERT_EQUAL(value_of("data", 11), 252);
        CU_ASSERT_EQUAL(value_of("label", 0), 9);
        CU_ASSERT_EQUAL(value_of("label", 2), 4);
    }
}

/* Labels, as a Data layer reads the database, in `out`. */
static void read_order(char *order)
{
    write_text("db.prototxt", "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param "
                              "{ source: 'db' batch_size: 40 } }");
    CU_ASSERT_EQUAL(shell(CMD "run db.prototxt --json"), 0);
    for (size_t i = 0; i < 40; i++)
        order[i] = (char)value_of("label", i);
}

static void the_shuffled_order_depends_only_on_the_seed(void)
{
    static const char *const ways[] = { "", "--shuffle", "--shuffle --seed 1",
                                        "--shuffle --seed 2" };
    char list[1024] = "", line[160], orders[4][40];
    int seen[40] = { 0 };

    write_pictures();
    for (int i = 0; i < 40; i++)
        snprintf(list + strlen(list), 24, "rgb.png %d\n", i);
    write_text("list", list);
    for (size_t i = 0; i < 4; i++) {
        snprintf(line, sizeof line, HERE "rm -rf db && \"$FERRY_TEST_COMMAND\" dataset list db %s",
                 ways[i]);
        CU_ASSERT_EQUAL(shell(line), 0);
        read_order(orders[i]);
    }
    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(orders[0][i], i);
        seen[(int)orders[1][i] % 40]++;
    }
    for (int i = 0; i < 40; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
    CU_ASSERT_EQUAL(memcmp(orders[1], orders[2], 40), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(orders[1], orders[3], 40), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(orders[1], orders[0], 40), 0);
}

/* Its map initially holds 64 MiB: 25 pictures of 3 MB exceed it. */
static void a_database_grows_beyond_its_first_map(void)
{
    char list[1024] = "";

    write_pictures();
    for (int i = 0; i < 25; i++)
        snprintf(list + strlen(list), 24, "rgb.png %d\n", i);
    write_text("list", list);
    CU_ASSERT_EQUAL(shell(CMD "dataset list db --resize 1000x1000"), 0);
    CU_ASSERT_EQUAL(shell(HERE "test `stat -c %s db/data.mdb` -gt 75000000"), 0);
    CU_ASSERT_EQUAL(shell(HERE "rm -rf db"), 0);
}

static void an_invalid_request_prints_one_error_line_and_leaves_no_file(void)
{
    static const struct {
        const char *arguments;
        int status;
        const char *about;
    } wrong[] = {
        { "dataset list", 2, "usage" },
        { "dataset list db --resize 7", 2, "--resize" },
        { "dataset list db --resize 0x7", 2, "--resize" },
        { "dataset list db --seed 3", 2, "--seed" },
        { "dataset list db --shuffle --seed x", 2, "--seed" },
        { "dataset list db --backend sql", 2, "lmdb or leveldb" },
        { "dataset sizes db --mean mean", 1, "pictures of one size" },
        { "dataset list db --mean no/where/mean", 1, "no/where" },
        { "dataset list no/where/db --backend leveldb", 1, "no/where" },
        { "dataset gone db --backend leveldb", 1, "gone.png" },
        { "dataset list db --max-bytes 0", 2, "--max-bytes" },
        { "dataset list db --max-bytes 100", 1, "the limit is 100" },
        { "dataset nowhere db", 1, "nowhere" },
        { "dataset /dev/zero db", 1, "a device" },
        { "dataset zero db", 1, "byte 8 is 0" },
        { "dataset gone db", 1, "gone.png" },
        { "dataset words db", 1, "line 2" },
        { "dataset nothing db", 1, "does not list any picture" },
        { "dataset bad db", 1, "picture 1" },
        { "dataset images db", 1, "labels" },
        { "dataset list labels db", 1, "not an idx file" },
        { "dataset images short db", 1, "2 labels" },
        { "dataset cut labels db", 1, "do not match its axes" },
        { "dataset images labels db --root x", 1, "--root" },
        { "dataset packed labels db", 1, "gunzip" },
        { "dataset list list", 1, "list" },
        { "dataset list no/where/db", 1, "no/where" },
    };
    static const unsigned char two[] = { 0, 0, 8, 1, 0, 0, 0, 2, 9, 0 };
    char line[256];

    write_pictures();
    write_file("images", images, sizeof images);
    write_file("labels", labels, sizeof labels);
    write_file("short", two, sizeof two);
    write_file("cut", images, sizeof images - 1);
    write_file("packed", "\x1f\x8b\x08", 3);
    write_file("zero", "rgb.png\0 1\n", 11);
    write_text("gone", "rgb.png 1\ngone.png 2\n");
    write_text("words", "rgb.png 1\nrgb.png cat\n");
    write_text("sizes", "rgb.png 1\ndot.png 2\n");
    write_file("dot.png", dot, sizeof dot);
    write_text("nothing", "\n");
    write_text("bad", "rgb.png 1\nlist 2\n");
    for (size_t i = 0; i < FERRY_TEST_COUNT(wrong); i++) {
        snprintf(line, sizeof line, CMD "%s", wrong[i].arguments);
        CU_ASSERT_EQUAL(shell(line), wrong[i].status);
        if (!one_line_of_error(wrong[i].about)) {
            printf("     %s: %s\n", wrong[i].arguments, err);
            CU_FAIL("the message does not say so");
        }
        CU_ASSERT_NOT_EQUAL(shell(HERE "ls -d db*/ list.*/"), 0);
        CU_ASSERT_STRING_EQUAL(out, "");
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(pictures_of_a_list_are_read_back_from_the_database),
    FERRY_TEST(both_backends_have_the_same_records),
    FERRY_TEST(the_mean_file_has_the_mean_of_the_pictures),
    FERRY_TEST(idx_files_are_read_back_from_the_database),
    FERRY_TEST(the_shuffled_order_depends_only_on_the_seed),
    FERRY_TEST(a_database_grows_beyond_its_first_map),
    FERRY_TEST(an_invalid_request_prints_one_error_line_and_leaves_no_file),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1); /* only the host is involved */
    return command_main(argc, argv, "command-dataset", cases, FERRY_TEST_COUNT(cases));
}

#else

int main(void)
{
    puts("skipped: without libpng and liblmdb there is nothing to write");
    return 77;
}

#endif
