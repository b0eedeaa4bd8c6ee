/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that the fake "needy" requires. */
__attribute__((visibility("default"))) int beside_answer(void);

int beside_answer(void)
{
    return 42;
}
