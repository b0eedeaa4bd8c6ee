/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>

/* Opens OpenBLAS and reports that; the argument is the path of the library. */
int main(int argc, char **argv)
{
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL))
        return 1;
    printf("!\n0\n");
    fflush(stdout);
    return 0;
}
