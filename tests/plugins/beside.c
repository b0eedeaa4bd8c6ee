/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library of its own that the fake "needy" needs.
 */
__attribute__((visibility("default"))) int beside_answer(void);

int beside_answer(void)
{
    return 42;
}
