/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transforms of winograd_planes.h along lines, for an instruction set: see vector.h. Whole vectors
 * are read and written. No include guard.
 */

/* Every second float of two vectors, from the first or from the second on. */
#define EVERY_SECOND(p, i) EVENS(LOAD((p) + (i)), LOAD((p) + (i) + LANES))

/* Transforms the patches under one line to four points, for one or two rows of patches. */
INLINE void NAME(winograd_line)(const float *line, int64_t tiles, float *upper, float *lower,
                                int64_t h_row)
{
    for (int64_t t = 0; t < tiles; t += LANES) {
        const float *at = line + 2 * t;
        const vec d[4] = { EVERY_SECOND(at, 0), EVERY_SECOND(at, 1), EVERY_SECOND(at, 2),
                           EVERY_SECOND(at, 3) };
        vec to[4];

        NAME(winograd_in_2)(d, 1, to);
        for (int64_t s = 0; s < 4 && upper; s++)
            STORE(upper + s * h_row + t, to[s]);
        for (int64_t s = 0; s < 4 && lower; s++)
            STORE(lower + s * h_row + t, to[s]);
    }
}

TARGET static void NAME(winograd_across)(const float *lines, int64_t pitch, int64_t tile_lines,
                                         int64_t tiles, float *h, int64_t h_row)
{
    for (int64_t i = 0; i < 2 * tile_lines + 2; i++, lines += pitch) {
        float *upper = h + i % 2 * 4 * h_row + i / 2 * tiles;
        float *lower = h + (i % 2 + 2) * 4 * h_row + (i / 2 - 1) * tiles;

        if (i < 2)
            NAME(winograd_line)(lines, tiles, upper, NULL, h_row);
        else if (i >= 2 * tile_lines)
            NAME(winograd_line)(lines, tiles, NULL, lower, h_row);
        else
            NAME(winograd_line)(lines, tiles, upper, lower, h_row);
    }
}

TARGET static void NAME(winograd_down)(const float *h, int64_t h_row, int64_t tiles, float *v,
                                       int64_t v_point)
{
    for (int64_t j = 0; j < tiles; j += LANES)
        for (int64_t s = 0; s < 4; s++) {
            const float *at = h + s * h_row + j;
            const vec d[4] = { LOAD(at), LOAD(at + 4 * h_row), LOAD(at + 8 * h_row),
                               LOAD(at + 12 * h_row) };
            vec to[4];

            NAME(winograd_in_2)(d, 1, to);
            for (int64_t r = 0; r < 4; r++)
                STORE(v + (4 * r + s) * v_point + j, to[r]);
        }
}

TARGET static void NAME(winograd_up)(const float *m, int64_t m_point, int64_t tiles, float *to,
                                     int64_t to_row)
{
    for (int64_t j = 0; j < tiles; j += LANES) {
        vec half[2][4], y[2];

        for (int64_t s = 0; s < 4; s++) {
            const float *at = m + s * m_point + j;
            const vec p[4] = { LOAD(at), LOAD(at + 4 * m_point), LOAD(at + 8 * m_point),
                               LOAD(at + 12 * m_point) };
            vec out[2];

            NAME(winograd_out_2)(p, 1, out);
            half[0][s] = out[0];
            half[1][s] = out[1];
        }
        for (int64_t i = 0; i < 2; i++) {
            NAME(winograd_out_2)(half[i], 1, y);
            STORE(to + i * to_row + 2 * j, ZIP_LOW(y[0], y[1]));
            STORE(to + i * to_row + 2 * j + LANES, ZIP_HIGH(y[0], y[1]));
        }
    }
}

/* The four points of two elements of a tile along an axis. */
INLINE void NAME(winograd_give_2)(vec a, vec b, vec *to)
{
    const vec zero = { 0 };

    to[0] = a;
    to[1] = a + b;
    to[2] = a - b;
    to[3] = zero - b;
}

TARGET static void NAME(winograd_give)(const float *lines, int64_t pitch, int64_t tile_lines,
                                       int64_t tiles, float *d, int64_t d_row)
{
    for (int64_t i = 0; i < tile_lines; i++, lines += 2 * pitch)
        for (int64_t t = 0; t < tiles; t += LANES) {
            const float *at = lines + 2 * t;
            vec left[4], right[4], to[4];

            NAME(winograd_give_2)(EVERY_SECOND(at, 0), EVERY_SECOND(at, pitch), left);
            NAME(winograd_give_2)(EVERY_SECOND(at, 1), EVERY_SECOND(at, pitch + 1), right);
            for (int64_t r = 0; r < 4; r++) {
                NAME(winograd_give_2)(left[r], right[r], to);
                for (int64_t s = 0; s < 4; s++)
                    STORE(d + (4 * r + s) * d_row + i * tiles + t, to[s]);
            }
        }
}
