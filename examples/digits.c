/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include <ferry/ferry.h>
#include <ferry/net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A net that recognizes digits, built here without training: pictures of digits are drawn, shifted
 * and made noisy; four filters find edges; and each digit's weights are the mean of the features of
 * its pictures. With a folder, writes the net, its weights and ten pictures there: digits FOLDER.
 */

#define SIDE   16
#define PIXELS (SIDE * SIDE)

static const char text[] =
    "name: 'digits'\n"
    "layer { name: 'data' type: 'Input' top: 'data'\n"
    "  input_param { shape { dim: 10 dim: 1 dim: 16 dim: 16 } } }\n"
    "layer { name: 'edges' type: 'Convolution' bottom: 'data' top: 'edges'\n"
    "  convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }\n"
    "layer { name: 'relu' type: 'ReLU' bottom: 'edges' top: 'edges' }\n"
    "layer { name: 'pool' type: 'Pooling' bottom: 'edges' top: 'pool'\n"
    "  pooling_param { pool: AVE kernel_size: 4 stride: 2 } }\n"
    "layer { name: 'score' type: 'InnerProduct' bottom: 'pool' top: 'score'\n"
    "  inner_product_param { num_output: 10 } }\n"
    "layer { name: 'prob' type: 'Softmax' bottom: 'score' top: 'prob' }\n";

/* Five columns of seven rows for each digit, the top row in bit 0. */
static const unsigned char glyphs[10][5] = {
    { 0x3e, 0x51, 0x49, 0x45, 0x3e }, { 0x00, 0x42, 0x7f, 0x40, 0x00 },
    { 0x42, 0x61, 0x51, 0x49, 0x46 }, { 0x21, 0x41, 0x45, 0x4b, 0x31 },
    { 0x18, 0x14, 0x12, 0x7f, 0x10 }, { 0x27, 0x45, 0x45, 0x45, 0x39 },
    { 0x3c, 0x4a, 0x49, 0x49, 0x30 }, { 0x01, 0x71, 0x09, 0x05, 0x03 },
    { 0x36, 0x49, 0x49, 0x49, 0x36 }, { 0x06, 0x49, 0x49, 0x29, 0x1e },
};

static uint32_t state = 7;

static unsigned draw_number(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

/*
 * A digit at twice its size, slightly off the centre, on a background that is not quite black; 0 to
 * 255.
 */
static void draw_digit(int digit, unsigned char out[PIXELS])
{
    int top = (int)draw_number(3), left = 2 + (int)draw_number(3);

    for (int i = 0; i < PIXELS; i++)
        out[i] = (unsigned char)draw_number(60);
    for (int x = 0; x < 10; x++)
        for (int y = 0; y < 14; y++)
            if (glyphs[digit][x / 2] >> (y / 2) & 1)
                out[(y + top) * SIDE + x + left] = (unsigned char)(190 + draw_number(66));
}

/* Fills the net's input with one picture of each digit, as classify would. */
static int fill_input(ferry_net *net)
{
    float *to = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    unsigned char pixels[PIXELS];

    for (int digit = 0; to && digit < 10; digit++) {
        draw_digit(digit, pixels);
        for (int i = 0; i < PIXELS; i++)
            *to++ = (float)pixels[i] / 256;
    }
    return to ? FERRY_OK : ferry_last_error_code();
}

/* Filters for edges that are brighter to the left, to the right, above, and below. */
static int set_filters(ferry_net *net)
{
    static const float filters[4][9] = {
        { 1, 0, -1, 2, 0, -2, 1, 0, -1 },
        { -1, 0, 1, -2, 0, 2, -1, 0, 1 },
        { 1, 2, 1, 0, 0, 0, -1, -2, -1 },
        { -1, -2, -1, 0, 0, 0, 1, 2, 1 },
    };
    float *to = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 1, 0));

    if (!to)
        return ferry_last_error_code();
    memcpy(to, filters, sizeof filters);
    return FERRY_OK;
}

/*
 * The class with the nearest mean has the largest mean·x − |mean|²/2: the mean is a row of weights,
 * and the other term its bias.
 */
static int set_scores(ferry_net *net, const float *means, int64_t width)
{
    float *weights = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 4, 0));
    float *bias = ferry_blob_overwrite_host_data(ferry_net_param_at(net, 4, 1));

    if (!weights || !bias)
        return ferry_last_error_code();
    memcpy(weights, means, 10 * (size_t)width * sizeof *weights);
    for (int digit = 0; digit < 10; digit++) {
        bias[digit] = 0;
        for (int64_t i = 0; i < width; i++)
            bias[digit] -= means[digit * width + i] * means[digit * width + i] / 2;
    }
    return FERRY_OK;
}

static int learn(ferry_net *net, int rounds)
{
    const ferry_blob *pool = ferry_net_blob_find(net, "pool");
    int64_t count = ferry_blob_element_count(pool);
    float *means = calloc((size_t)count, sizeof *means);
    int err = means ? FERRY_OK : ferry_error_set(FERRY_ENOMEM, "no memory");

    for (int r = 0; !err && r < rounds; r++) {
        const float *features;

        err = fill_input(net) || ferry_net_forward(net, NULL);
        features = err ? NULL : ferry_blob_host_data(pool);
        for (int64_t i = 0; features && i < count; i++)
            means[i] += features[i] / (float)rounds;
    }
    if (!err)
        err = set_scores(net, means, count / 10);
    free(means);
    return err;
}

static int test(ferry_net *net, int rounds)
{
    int right = 0, err = FERRY_OK;

    for (int r = 0; !err && r < rounds; r++) {
        const float *prob;

        err = fill_input(net) || ferry_net_forward(net, NULL);
        prob = err ? NULL : ferry_blob_host_data(ferry_net_blob_find(net, "prob"));
        for (int digit = 0; prob && digit < 10; digit++, prob += 10) {
            int best = 0;

            for (int i = 1; i < 10; i++)
                best = prob[i] > prob[best] ? i : best;
            right += best == digit;
        }
    }
    if (!err)
        printf("%d of %d digits right\n", right, 10 * rounds);
    return err;
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint32_t crc_of(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;

    while (size--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void put_chunk(FILE *file, const char *kind, const unsigned char *data, size_t size)
{
    unsigned char all[4 + PIXELS + SIDE + 16], word[4];
    uint32_t crc;

    memcpy(all, kind, 4);
    memcpy(all + 4, data, size);
    crc = crc_of(all, size + 4);
    for (int i = 0; i < 4; i++)
        word[i] = (unsigned char)(size >> (24 - 8 * i));
    fwrite(word, 1, 4, file);
    fwrite(all, 1, size + 4, file);
    for (int i = 0; i < 4; i++)
        word[i] = (unsigned char)(crc >> (24 - 8 * i));
    fwrite(word, 1, 4, file);
}

/* Writes a gray PNG: one uncompressed block, each row after a 0. */
static int write_png(const char *path, const unsigned char pixels[PIXELS])
{
    static const unsigned char header[13] = { 0, 0, 0, SIDE, 0, 0, 0, SIDE, 8, 0, 0, 0, 0 };
    enum { SIZE = PIXELS + SIDE };
    unsigned char data[7 + SIZE + 4] = {
        0x78, 0x01, 1, SIZE & 255, SIZE >> 8, ~SIZE & 255, (~SIZE >> 8) & 255
    };
    unsigned a = 1, b = 0;
    FILE *file = fopen(path, "wb");

    if (!file)
        return 1;
    for (int i = 0; i < SIZE; i++) {
        data[7 + i] = i % (SIDE + 1) ? pixels[i / (SIDE + 1) * SIDE + i % (SIDE + 1) - 1] : 0;
        a = (a + data[7 + i]) % 65521;
        b = (b + a) % 65521;
    }
    for (int i = 0; i < 4; i++)
        data[7 + SIZE + i] = (unsigned char)((b << 16 | a) >> (24 - 8 * i));
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    put_chunk(file, "IHDR", header, sizeof header);
    put_chunk(file, "IDAT", data, sizeof data);
    put_chunk(file, "IEND", data, 0);
    return fclose(file) != 0;
}

static int write_files(const ferry_net *net, const char *folder)
{
    unsigned char pixels[PIXELS];
    char path[1024];
    FILE *file;
    int err;

    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/digits.caffemodel", folder);
    err = ferry_net_save(net, path, FERRY_IO_CAFFEMODEL);
    if (err)
        return err;
    snprintf(path, sizeof path, "%s/digits.prototxt", folder);
    file = fopen(path, "w");
    err = !file || fputs(text, file) < 0;
    if (file && fclose(file) != 0)
        err = 1;
    for (int digit = 0; !err && digit < 10; digit++) {
        snprintf(path, sizeof path, "%s/digit-%d.png", folder, digit);
        draw_digit(digit, pixels);
        err = write_png(path, pixels);
    }
    return err ? ferry_error_set(FERRY_EIO, "%s: it cannot be written", path) : FERRY_OK;
}

int main(int argc, char **argv)
{
    const char *const keep[] = { "pool" };
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = sizeof text - 1 };
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_net *net = NULL;
    int err;

    o.keep = keep;
    o.keep_count = 1;
    err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
          ferry_net_open(dev, "digits.prototxt", &o, &net) || set_filters(net) || learn(net, 20) ||
          test(net, 10) || (argc > 1 && write_files(net, argv[1]));
    if (err)
        fprintf(stderr, "digits: %s\n", ferry_last_error());
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return err;
}
