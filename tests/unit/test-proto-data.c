/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "proto-text.h"

#include "net/proto/tree.h"
#include "net/proto/wire.h"

#include <glob.h>

/*
 * Real files: well-known nets, solvers, models that contain their definition, and Caffe's own logs.
 */

/*
 * Finds all files of the data folder that match; returns false, and the case is skipped, if no file
 * matches.
 */
static bool files_of(const char *pattern, glob_t *out)
{
    const char *folder = getenv("FERRY_TEST_DATA");
    char path[1024];

    if (!folder || !*folder) {
        ferry_test_skip("FERRY_TEST_DATA names no folder");
        return false;
    }
    snprintf(path, sizeof(path), "%s/nets/%s", folder, pattern);
    if (glob(path, 0, NULL, out) != 0) {
        ferry_test_skip("there is no %s", path);
        return false;
    }
    return true;
}

static ferry_proto *open_file(const char *path)
{
    const char *type = strstr(path, "solver") ? "SolverParameter" : "NetParameter";
    ferry_proto *p = NULL;

    if (ferry_proto_open(path, type, NULL, &p) || ferry_proto_upgrade(p)) {
        CU_FAIL("refused");
        printf("  %s\n", ferry_last_error());
        ferry_proto_close(p);
        return NULL;
    }
    return p;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static ferry_proto *again(const ferry_proto *p, const void *bytes, size_t size)
{
    ferry_proto_options options = { .struct_size = sizeof(options),
                                    .text = bytes,
                                    .text_size = size };
    ferry_proto *out = NULL;

    if (ferry_proto_open("again", ferry_proto_type(p), &options, &out)) {
        CU_FAIL("refused");
        printf("  %s\n", ferry_last_error());
    }
    return out;
}

/* Values that a binary file cannot represent. */
static void drop_numberless(ferry_proto *p)
{
    struct ferry__proto_slot *slot, *next;

    for (slot = p->slots; slot; slot = next) {
        next = slot->next;
        if (!slot->field || slot->field->number == 0)
            ferry__proto_clear(p, slot->name);
        else if (slot->field->kind == FERRY__PROTO_MESSAGE)
            for (uint32_t i = 0; i < slot->count; i++)
                drop_numberless(slot->values[i].as.message);
    }
}

/* Printing, reading and printing again gives the same text; so does the binary form in between. */
static void check_file(const char *path)
{
    ferry_proto *p = open_file(path), *other;
    char *text;
    unsigned char *bytes;
    size_t size = 0;

    if (!p)
        return;
    text = printed(p);
    other = again(p, text, strlen(text));
    check_printed(other, text);
    ferry_proto_close(other);
    CU_ASSERT_EQUAL(ferry_proto_serialize(p, NULL, 0, &size), FERRY_OK);
    bytes = malloc(size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    CU_ASSERT_EQUAL(ferry_proto_serialize(p, bytes, size, &size), FERRY_OK);
    CU_ASSERT_EQUAL(ferry__proto_wire_size(p), size);
    other = again(p, bytes, size);
    drop_numberless(p);
    free(text);
    text = printed(p);
    check_printed(other, text);
    ferry_proto_close(other);
    free(bytes);
    free(text);
    ferry_proto_close(p);
}

static void check_files(const char *pattern, size_t least)
{
    glob_t files;

    if (!files_of(pattern, &files))
        return;
    CU_ASSERT(files.gl_pathc >= least);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_file(files.gl_pathv[i]);
    globfree(&files);
}

static void nets_are_read(void)
{
    check_files("*/*.prototxt", 200);
}

static void solvers_are_read(void)
{
    check_files("train/*/solver.prototxt", 10);
}

static void check_cuts(const char *path)
{
    ferry_proto *p = open_file(path);
    char *text = p ? printed(p) : NULL;
    size_t size = text ? strlen(text) : 0, cuts = ferry_test_is_shortest() ? 500 : 2000;
    size_t step = 1 + size / cuts;

    for (size_t n = 0; n < size; n += step) {
        ferry_proto *cut = proto_of(ferry_proto_type(p), text, n);

        if (!cut && strncmp(ferry_last_error(), "t.prototxt:", 11) != 0) {
            CU_FAIL("an error without its place");
            printf("  %s cut at %zu: %s\n", path, n, ferry_last_error());
        }
        ferry_proto_close(cut);
    }
    free(text);
    ferry_proto_close(p);
}

static void truncated_nets_give_one_error_each(void)
{
    glob_t files;

    if (!files_of("prototxt/[b-m]*.prototxt", &files))
        return;
    for (size_t i = 0; i < files.gl_pathc; i += ferry_test_is_slow() ? 8 : 1)
        check_cuts(files.gl_pathv[i]);
    globfree(&files);
}

/* ---- models that hold their definition ------------------------------------------------------ */

static void models_are_read_without_their_weights(void)
{
    glob_t files;

    if (!files_of("*/*.caffemodel", &files))
        return;
    CU_ASSERT(files.gl_pathc >= 10);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        ferry_proto *p = open_file(files.gl_pathv[i]);

        CU_ASSERT(ferry_proto_value_count(p, "layer") > 0);
        for (int64_t k = 0; k < ferry_proto_value_count(p, "layer"); k++)
            CU_ASSERT(*ferry_proto_string(ferry_proto_message(p, "layer", k), "type", 0, NULL));
        ferry_proto_close(p);
    }
    globfree(&files);
}

struct splice {
    FILE *from;
    unsigned char *bytes;
    size_t size, capacity;
};

static int put(void *arg, const void *bytes, size_t size)
{
    struct splice *s = arg;

    CU_ASSERT_FATAL(s->size + size <= s->capacity);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return FERRY_OK;
}

static int put_left(void *arg, const ferry_proto *p)
{
    struct splice *s = arg;
    size_t size = (size_t)p->left_size;

    CU_ASSERT_FATAL(s->size + size <= s->capacity);
    CU_ASSERT_EQUAL(fseek(s->from, (long)p->left_at, SEEK_SET), 0);
    CU_ASSERT_EQUAL(fread(s->bytes + s->size, 1, size, s->from), size);
    s->size += size;
    return FERRY_OK;
}

/* A file that protobuf wrote is written again byte for byte. */
static void check_model(const char *path)
{
    struct splice s = { .from = fopen(path, "rb") };
    struct ferry__proto_sink sink = { put, put_left, NULL, &s };
    ferry_proto *p = NULL;
    unsigned char *want;
    size_t size;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s.from);
    fseek(s.from, 0, SEEK_END);
    size = (size_t)ftell(s.from);
    s.capacity = size + 4096;
    s.bytes = malloc(s.capacity);
    want = malloc(size);
    CU_ASSERT_FATAL(s.bytes != NULL && want != NULL);
    rewind(s.from);
    CU_ASSERT_EQUAL(fread(want, 1, size, s.from), size);
    CU_ASSERT_EQUAL(ferry_proto_open(path, "NetParameter", NULL, &p), FERRY_OK);
    if (p && ferry_proto_note_count(p) == 0) {
        CU_ASSERT_EQUAL(ferry__proto_to_wire(p, &sink), FERRY_OK);
        if (s.size != size || memcmp(s.bytes, want, size) != 0) {
            CU_FAIL("other bytes");
            printf("  %s: %zu bytes of %zu\n", path, s.size, size);
        }
    }
    ferry_proto_close(p);
    fclose(s.from);
    free(s.bytes);
    free(want);
}

static void models_are_written_with_the_bytes_of_caffe(void)
{
    glob_t files;

    if (!files_of("train/*/snap_iter_*.caffemodel", &files))
        return;
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_model(files.gl_pathv[i]);
    globfree(&files);
}

/* ---- Caffe's logs --------------------------------------------------------------------------- */

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 22);
    size_t size;

    CU_ASSERT_FATAL(file != NULL && text != NULL);
    size = fread(text, 1, (1 << 22) - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* "I net.cpp:53] " and such. */
static const char *behind_prefix(const char *line)
{
    const char *at = line;

    if (!strchr("IWEF", *at) || at[1] != ' ')
        return NULL;
    at = strchr(at, ']');
    return at && at < line + 40 && at[1] == ' ' ? at + 2 : NULL;
}

/* The text in a log after "Initializing net from parameters:", and the lines before it. */
static char *split_log(char *log)
{
    char *start = strstr(log, "Initializing net from parameters: \n"), *end;

    CU_ASSERT_PTR_NOT_NULL_FATAL(start);
    for (end = strchr(start, '\n') + 1; *end && !behind_prefix(end); end = strchr(end, '\n') + 1)
        ;
    *end = '\0';
    end = strchr(start, '\n') + 1;
    while (start > log && start[-1] != '\n')
        start--;
    *start = '\0';
    return end;
}

/*
 * The notes that equal Caffe's are compared with the log's lines before the net. Folders are
 * removed from paths.
 */
static void check_notes(const ferry_proto *p, const char *path, const char *log)
{
    size_t folder = (size_t)(strrchr(path, '/') + 1 - path);

    for (int i = 0; i < ferry_proto_note_count(p); i++) {
        const char *line = "", *want = behind_prefix(log), *end = strchr(log, '\n'), *at;
        char cut[2048];

        CU_ASSERT_EQUAL(ferry_proto_note_at(p, i, NULL, &line), FERRY_OK);
        if (strncmp(line, "ferry: ", 7) == 0)
            continue;
        CU_ASSERT_FATAL(want != NULL && end != NULL);
        at = strstr(line, path);
        snprintf(cut, sizeof(cut), "%.*s%s", at ? (int)(at - line) : 0, line,
                 at ? at + folder : line);
        if (strlen(cut) != (size_t)(end - want) || strncmp(cut, want, strlen(cut)) != 0) {
            CU_FAIL("another note");
            printf("  wanted %.*s\n  got    %s\n", (int)(end - want), want, cut);
        }
        log = end + 1;
    }
    CU_ASSERT_EQUAL(*log, '\0');
}

/* Caffe prints the net with its state and an empty line at the end. */
static void check_log(const char *log_path, const char *net_path)
{
    char *log = read_whole(log_path), *want = split_log(log), *got;
    ferry_proto *p = open_file(net_path), *state = NULL;

    if (p) {
        CU_ASSERT_EQUAL(ferry__proto_put_message(p, "state", &state), FERRY_OK);
        CU_ASSERT_EQUAL(ferry__proto_put_integer(state, "phase", 1), FERRY_OK);
        got = printed(p);
        if (strncmp(want, got, strlen(got)) != 0 ||
            strspn(want + strlen(got), "\n") != strlen(want + strlen(got))) {
            CU_FAIL("another net");
            printf("  %s\n", log_path);
        }
        free(got);
        check_notes(p, net_path, log);
    }
    ferry_proto_close(p);
    free(log);
}

static void the_printed_lines_match_caffe(void)
{
    static const char *const nets[][2] = {
        { "cifar10_quick/cv.init.log", "cifar10_quick/cifar10_quick.prototxt" },
        { "lenet/mnist16.init.log", "lenet/lenet.prototxt" },
        { "lenet_everpeace/cv.init.log", "lenet_everpeace/lenet.prototxt" },
        { "mtcnn/det1.init.log", "mtcnn/det1.prototxt" },
        { "mtcnn/det2.init.log", "mtcnn/det2.prototxt" },
        { "mtcnn/det3.init.log", "mtcnn/det3.prototxt" },
        { "mtcnn/det4.init.log", "mtcnn/det4.prototxt" },
        { "squeezenet_dc/cv.init.log", "squeezenet_dc/SqueezeNet_deploy.prototxt" },
        { "ultraface/cv.init.log", "ultraface/RFB-320.stock.prototxt" },
        { "wechat_sr/cv.init.log", "wechat_sr/sr.prototxt" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(nets); i++) {
        glob_t log, net;

        if (!files_of(nets[i][0], &log))
            return;
        if (files_of(nets[i][1], &net)) {
            check_log(log.gl_pathv[0], net.gl_pathv[0]);
            globfree(&net);
        }
        globfree(&log);
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* The index of a field; −1 for an unknown field. */
static int64_t field_of(const char *type, const char *name, ferry_proto_field *out)
{
    for (int64_t i = 0; i < ferry_proto_schema_field_count(type); i++) {
        out->struct_size = sizeof(*out);
        if (ferry_proto_schema_field_at(type, i, out) == FERRY_OK && strcmp(out->name, name) == 0)
            return i;
    }
    return -1;
}

static void fields_have_a_binary_form_and_enums_their_values(void)
{
    ferry_proto_field field;
    const char *name = NULL;
    int number = -1;
    int64_t at = field_of("BlobProto", "data", &field);

    CU_ASSERT(at >= 0 && field.packed && !field.required && field.choice_count == 0);
    CU_ASSERT(ferry_proto_schema_choice_at("BlobProto", at, 0, &name, &number) == FERRY_EINVAL);
    at = field_of("PoolingParameter", "pool", &field);
    CU_ASSERT(field.choice_count >= 3);
    CU_ASSERT(ferry_proto_schema_choice_at("PoolingParameter", at, 1, &name, &number) == FERRY_OK);
    CU_ASSERT(number == 1 && name && strcmp(name, "AVE") == 0);
    CU_ASSERT(ferry_proto_schema_choice_at("PoolingParameter", at, field.choice_count, &name,
                                           &number) == FERRY_EINVAL);
    CU_ASSERT(ferry_proto_schema_choice_at("PoolingParameter", -1, 0, &name, &number) ==
              FERRY_EINVAL);
    CU_ASSERT(ferry_proto_schema_choice_at(NULL, at, 0, &name, &number) == FERRY_EINVAL);
    CU_ASSERT(number == 1);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(fields_have_a_binary_form_and_enums_their_values),
    FERRY_TEST(nets_are_read),
    FERRY_TEST(solvers_are_read),
    FERRY_TEST(truncated_nets_give_one_error_each),
    FERRY_TEST(models_are_read_without_their_weights),
    FERRY_TEST(models_are_written_with_the_bytes_of_caffe),
    FERRY_TEST(the_printed_lines_match_caffe),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-data", cases, FERRY_TEST_COUNT(cases));
}
