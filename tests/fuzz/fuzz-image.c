/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include "net/data/image.h"

#include <stdlib.h>

const char fuzz_name[] = "image";

/*
 * Reads any bytes as a picture: the result is an error, or an image whose pixels are all written.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int channels = 0; channels <= 3; channels += channels ? 2 : 1) {
        struct ferry__image image = { .name = "input", .channels = channels, .each = 2 };

        image.bytes = bytes;
        image.size = size;
        if (ferry__image_decode(&image) == FERRY_OK) {
            size_t count = (size_t)(image.height * image.width) * (size_t)image.channels;

            if (image.height < 1 || image.width < 1 || (channels && image.channels != channels))
                abort();
            for (size_t i = 0; i < count; i++)
                fuzz_use(image.pixels[i] != 0);
        }
        free(image.pixels);
    }
    return 0;
}
