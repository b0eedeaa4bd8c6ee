/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exchanges two files, again and again, as fast as it can, until it is killed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    while (argc == 3 && renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) == 0)
        ;
    perror("exchange");
    return 1;
}
