# SPDX-License-Identifier: BSD-2-Clause
# What configure.ac needs to decide which backends are built, and with which compiler flags.

# FERRY_ARG_BACKEND(NAME, DESCRIPTION)
# The switch --enable-NAME=auto|yes|no; the answer is in $enable_NAME.
AC_DEFUN([FERRY_ARG_BACKEND],
[AC_ARG_ENABLE([$1],
    [AS_HELP_STRING([--enable-$1=@<:@auto|yes|no@:>@],
        [build $2; yes fails where it cannot be built @<:@auto@:>@])],
    [AS_CASE([$enable_$1],
        [auto|yes|no], [],
        [AC_MSG_ERROR([--enable-$1 takes auto, yes or no, not "$enable_$1"])])],
    [enable_$1=auto])
])

# FERRY_BACKEND(NAME, FIND)
# Decides whether backends/NAME is built. FIND looks for what it needs: it sets found to yes or no,
# and why to the reason for a no. Defines the automake conditional BUILD_NAME; appends to
# BUILT_BACKENDS; leaves the verdict in $build_NAME and $why_NAME for FERRY_BACKEND_ROW.
AC_DEFUN([FERRY_BACKEND],
[found=no
why=
AS_IF([test "x$enable_$1" = xno], [why='disabled (--disable-$1)'],
    [$2
    AS_IF([! ls "$srcdir/backends/$1/"*.c >/dev/null 2>&1],
        [AS_IF([test "x$found" = xyes], [why="its libraries were found"])
        why="not part of ferry $PACKAGE_VERSION${why:+; $why}"
        found=no])])
AS_IF([test "x$found$enable_$1" = xnoyes], [AC_MSG_ERROR([--enable-$1: $why])])
build_$1=$found
why_$1=$why
AS_IF([test "x$found" = xyes], [BUILT_BACKENDS="${BUILT_BACKENDS:+$BUILT_BACKENDS }$1"])
AM_CONDITIONAL([BUILD_]m4_toupper([$1]), [test "x$build_$1" = xyes])
])

# FERRY_BACKEND_ROW(NAME)
# One line of the closing table.
AC_DEFUN([FERRY_BACKEND_ROW],
[AS_IF([test "x$build_$1" = xyes],
    [printf '    %-10s  yes%s\n' '$1' "${why_$1:+   ($why_$1)}"],
    [printf '    %-10s  no    %s\n' '$1' "$why_$1"])
])

# FERRY_FIND_OPENBLAS
# Sets OPENBLAS_SONAME, under which the plugin opens the library while it runs: the name that a
# program linked with it asks for. A relocatable build opens libferryblas.so.0 beside the plugin,
# which the packager puts there.
AC_DEFUN([FERRY_FIND_OPENBLAS],
[PKG_CHECK_MODULES([OPENBLAS], [openblas], [found=yes],
    [why='OpenBLAS not found by pkg-config (Debian: libopenblas-dev)'])
AC_SUBST([OPENBLAS_SONAME])
OPENBLAS_SONAME=
AS_IF([test "x$found" = xyes],
    [ferry_save_LIBS=$LIBS
    LIBS="$OPENBLAS_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[float cblas_sasum(int, const float *, int);]],
                                    [[return cblas_sasum(0, 0, 1) > 0;]])],
        [OPENBLAS_SONAME=`readelf -d conftest$EXEEXT 2>/dev/null |
            sed -n 's/.*(NEEDED).*\@<:@\(.*blas.*\)\@:>@$/\1/p' | head -n 1`])
    LIBS=$ferry_save_LIBS
    AS_IF([test "x$enable_relocatable" = xyes], [OPENBLAS_SONAME='$$ORIGIN/libferryblas.so.0'])
    test "x$OPENBLAS_SONAME" != x || OPENBLAS_SONAME=libopenblas.so.0])
])

# FERRY_FIND_DNNL
# oneDNN with its C interface of version 2, on OpenMP as Debian builds it: DNNL_CPPFLAGS, DNNL_LIBS,
# and the verdict in $have_dnnl.
AC_DEFUN([FERRY_FIND_DNNL],
[have_dnnl='no: make bench measures no convolution beside it (Debian: libdnnl-dev)'
save_LIBS=$LIBS
LIBS="-ldnnl -lgomp $LIBS"
AC_MSG_CHECKING([for oneDNN])
AC_LINK_IFELSE([AC_LANG_PROGRAM([#include <dnnl.h>
void omp_set_num_threads(int);],
        [dnnl_convolution_desc_t convolution;
        omp_set_num_threads(1);
        return dnnl_convolution_forward_desc_init(&convolution, 0, 0, 0, 0, 0, 0, 0, 0, 0);])],
    [have_dnnl=yes
    DNNL_CPPFLAGS=-DHAVE_DNNL=1
    DNNL_LIBS='-ldnnl -lgomp'])
AC_MSG_RESULT([$have_dnnl])
LIBS=$save_LIBS
AC_SUBST([DNNL_CPPFLAGS])
AC_SUBST([DNNL_LIBS])
])

# FERRY_FIND_HIP
# hipcc, which compiles a kernel, and the headers and library of its release: HIP_CPPFLAGS, HIP_LDFLAGS,
# HIP_LIBRARY (the library's path), and HIP_ARCH, the architectures to compile for.
AC_DEFUN([FERRY_FIND_HIP],
[AS_CASE([$with_hip_arch], [auto|first|gfx*], [], [AC_MSG_ERROR([--with-hip-arch needs architectures, as gfx90a])])
hip_dir=`readlink -f "$HIPCC"`
hip_dir=`AS_DIRNAME(["$hip_dir"])`
hip_dir=`AS_DIRNAME(["$hip_dir"])`
HIP_CPPFLAGS= HIP_LDFLAGS= HIP_LIBRARY=
AS_IF([test "x$HIPCC" != xno && test "x$hip_dir" != x/usr],
    [HIP_CPPFLAGS="-isystem $hip_dir/include"
    HIP_LDFLAGS="-L$hip_dir/lib -Wl,-rpath,$hip_dir/lib -Wl,--enable-new-dtags"])
save_CPPFLAGS=$CPPFLAGS save_LDFLAGS=$LDFLAGS save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $HIP_CPPFLAGS -D__HIP_PLATFORM_AMD__=1"
LDFLAGS="$LDFLAGS $HIP_LDFLAGS"
LIBS="-lamdhip64 $LIBS"
AC_MSG_CHECKING([for HIP])
AS_IF([test "x$HIPCC" = xno],
    [why='no hipcc on PATH (Debian: hipcc)'],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hip/hip_runtime_api.h>]],
            [[return (int)hipMemPoolTrimTo(0, 0);]])],
        [found=yes],
        [why='libamdhip64 5.2 or later and its headers are missing (Debian: libamdhip64-dev)'])])
CPPFLAGS=$save_CPPFLAGS LDFLAGS=$save_LDFLAGS LIBS=$save_LIBS
AS_IF([test "x$found" = xyes],
    [echo '#include <hip/hip_runtime.h>
extern "C" __global__ void set(float *p) { *p = expf(*p); }' >conftest.cu
    hip_known=
    for arch in gfx90a gfx1030 gfx1100; do
        AS_IF(["$HIPCC" -x hip --genco --offload-arch=$arch -o conftest.bundle conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
            [hip_known="${hip_known:+$hip_known,}$arch"])
        test "$with_hip_arch,$hip_known" = "first,$arch" && break
    done
    AS_CASE([$with_hip_arch], [auto|first], [with_hip_arch=$hip_known])
    AS_IF([test "x$with_hip_arch" = x],
        [found=no
        why='hipcc compiles no kernel: config.log has its messages'])
    rm -f conftest.cu conftest.bundle])
AC_MSG_RESULT([$found])
AS_IF([test "x$found" = xyes],
    [HIP_LIBRARY=$hip_dir/lib/libamdhip64.so
    test -e "$HIP_LIBRARY" || HIP_LIBRARY=`$CC -print-file-name=libamdhip64.so`
    hip_number=`"$HIPCC" --version 2>/dev/null | sed -n 's/^HIP version: *\(@<:@0-9@:>@*\.@<:@0-9@:>@*\).*/\1/p'`
    HIP_ARCH=`echo "$with_hip_arch" | tr ',' ' '`
    AS_CASE([$hip_number], [5.*], [HIP_ROCBLAS=0], [6.*], [HIP_ROCBLAS=4], [HIP_ROCBLAS=5])
    why="HIP $hip_number, kernels for $HIP_ARCH"])
AC_SUBST([HIP_CPPFLAGS])
AC_SUBST([HIP_LDFLAGS])
AC_SUBST([HIP_LIBRARY])
AC_SUBST([HIP_ARCH])
AC_SUBST([HIP_ROCBLAS])
])

# FERRY_FIND_OPENCL
AC_DEFUN([FERRY_FIND_OPENCL],
[PKG_CHECK_MODULES([OPENCL], [OpenCL],
    [PKG_CHECK_MODULES([CLBLAST], [clblast], [found=yes],
        [why='CLBlast not found by pkg-config (Debian: libclblast-dev)'])],
    [why='OpenCL not found by pkg-config (Debian: ocl-icd-opencl-dev opencl-headers)'])
])

# FERRY_FIND_OPENVINO
# The library that the plugin opens while it runs, in OPENVINO_CPPFLAGS: --with-openvino, that of the
# package of python3, or of the system's folders. Its headers are not needed.
AC_DEFUN([FERRY_FIND_OPENVINO],
[AS_CASE([$with_openvino], [yes|no|''], [AC_MSG_ERROR([--with-openvino needs libopenvino_c.so's path])])
AC_MSG_CHECKING([for OpenVINO])
openvino_library=$with_openvino
AS_IF([test "x$with_openvino" = xauto],
    [openvino_package=`python3 -c 'import importlib.util as u; s = u.find_spec("openvino")
print(s.submodule_search_locations@<:@0@:>@ if s else "")' 2>/dev/null`
    for openvino_library in "$openvino_package/libs"/libopenvino_c.so* \
        "/usr/lib/$host_cpu-linux-gnu"/libopenvino_c.so* /usr/lib64/libopenvino_c.so*; do
        AS_IF([test -f "$openvino_library"], [break])
    done])
AS_IF([test -f "$openvino_library"],
    [found=yes
    AC_MSG_RESULT([$openvino_library])
    AC_SUBST([OPENVINO_CPPFLAGS], ["'-DOV_LIBRARY=\"$openvino_library\"'"])],
    [AC_MSG_RESULT([no])
    why='no libopenvino_c.so (pip: openvino; Debian: libopenvino-dev)'])
])

# FERRY_FIND_CUDA
# The toolkit is a folder, not a package: --with-cuda, or the one that nvcc on PATH belongs to. nvcc
# itself is not needed. Sets CUDA_CPPFLAGS; CUDA_LDFLAGS, with which the plugin finds the runtime
# where it was built, LD_LIBRARY_PATH going first; and the numbers in the libraries' sonames.
AC_DEFUN([FERRY_FIND_CUDA],
[AS_CASE([$with_cuda], [yes|no|''], [AC_MSG_ERROR([--with-cuda needs the toolkit's folder])])
cuda_dir=$with_cuda
AS_IF([test "x$with_cuda" = xauto && test "x$NVCC" != xno],
    [cuda_dir=`readlink -f "$NVCC"`
    cuda_dir=`AS_DIRNAME(["$cuda_dir"])`
    cuda_dir=`AS_DIRNAME(["$cuda_dir"])`])
AC_MSG_CHECKING([for the CUDA toolkit])
cuda_incdir=
for dir in "$cuda_dir/include" "$cuda_dir/targets/$host_cpu-linux/include"; do
    AS_IF([test -f "$dir/cuda_runtime_api.h" && test -f "$dir/cublas_v2.h"],
        [cuda_incdir=$dir
        break])
done
cuda_libdir=
for dir in "$cuda_dir/lib64" "$cuda_dir/lib" "$cuda_dir/targets/$host_cpu-linux/lib" \
    "$cuda_dir/lib/$host_cpu-linux-gnu"; do
    AS_IF([test -e "$dir/libcudart.so"],
        [cuda_libdir=$dir
        break])
done
AS_IF([test "x$cuda_dir" = xauto],
        [why='no nvcc on PATH and no --with-cuda'],
    [test -z "$cuda_incdir"],
        [why="no cuda_runtime_api.h with cublas_v2.h below $cuda_dir"],
    [test -z "$cuda_libdir"],
        [why="no libcudart.so below $cuda_dir"],
    [found=yes])
AS_IF([test "x$found" = xyes], [AC_MSG_RESULT([$cuda_dir])], [AC_MSG_RESULT([no])])
AS_IF([test "x$found" = xyes], [FERRY_CUDA_VERSION])
AS_IF([test "x$found" = xyes], [why="CUDA $cuda_version in $cuda_dir"])
])

# FERRY_CUDA_VERSION
# With cuda_incdir and cuda_libdir: which CUDA that is, and whether it is new enough.
AC_DEFUN([FERRY_CUDA_VERSION],
[save_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS -isystem $cuda_incdir"
AC_COMPUTE_INT([cuda_number], [CUDART_VERSION], [#include <cuda_runtime_api.h>], [cuda_number=0])
AC_COMPUTE_INT([CUDA_CUBLAS_MAJOR], [CUBLAS_VER_MAJOR], [#include <cublas_v2.h>],
    [CUDA_CUBLAS_MAJOR=0])
CPPFLAGS=$save_CPPFLAGS
cuda_version=`expr $cuda_number / 1000`.`expr $cuda_number % 1000 / 10`
AS_IF([test "$cuda_number" -lt 11030],
    [found=no
    why="CUDA 11.3 or later is needed, $cuda_dir has $cuda_version"])
# CUDA 11 calls its runtime libcudart.so.11.0, later ones by their major alone.
CUDA_CUDART_MAJOR=`expr $cuda_number / 1000`
AS_IF([test "x$CUDA_CUDART_MAJOR" = x11], [CUDA_CUDART_MAJOR=11.0])
AC_SUBST([CUDA_CUDART_MAJOR])
AC_SUBST([CUDA_CUBLAS_MAJOR])
AC_SUBST([CUDA_CPPFLAGS], ["-isystem $cuda_incdir"])
AC_SUBST([CUDA_LIBDIR], [$cuda_libdir])
CUDA_LDFLAGS="-L$cuda_libdir"
AS_CASE([$cuda_libdir],
    [/usr/lib*|/lib*], [],
    [CUDA_LDFLAGS="$CUDA_LDFLAGS -Wl,-rpath,$cuda_libdir -Wl,--enable-new-dtags"])
AC_SUBST([CUDA_LDFLAGS])
])

# FERRY_CUDA_KERNELS
# Whether nvcc compiles the CUDA plugin's kernels, and what for: code for each architecture that this
# nvcc knows, and text that the driver compiles for all others. Sets BUILD_CUDA_KERNELS, CUDA_CODE.
AC_DEFUN([FERRY_CUDA_KERNELS],
[AS_CASE([$enable_cuda_kernels], [auto|yes|no], [],
    [AC_MSG_ERROR([--enable-cuda-kernels is auto, yes or no])])
AS_CASE([$with_cuda_arch], [auto|first], [], [AC_MSG_ERROR([--with-cuda-arch is first or auto])])
cuda_code=
AS_IF([test "x$build_cuda" = xyes && test "x$enable_cuda_kernels" != xno && test "x$NVCC" != xno],
    [known=`"$NVCC" --list-gpu-arch 2>/dev/null || echo compute_75 compute_80 compute_86`
    for arch in 75 80 86 89 90 100; do
        AS_CASE([" "`echo $known`" "],
            [*" compute_$arch "*], [cuda_code="${cuda_code}sm_$arch,"])
        test "$with_cuda_arch,$cuda_code" = "first,sm_$arch," && break
    done])
AC_MSG_CHECKING([what nvcc is to compile kernels for])
AS_IF([test -n "$cuda_code"],
    [AC_SUBST([CUDA_CODE], ["-gencode arch=compute_75,code=@<:@${cuda_code}compute_75@:>@"])
    AC_MSG_RESULT([$cuda_code])],
    [AC_MSG_RESULT([nothing])
    AS_IF([test "x$enable_cuda_kernels" = xyes],
        [AC_MSG_ERROR([--enable-cuda-kernels=yes, and there is no nvcc, or no CUDA plugin])])])
AM_CONDITIONAL([BUILD_CUDA_KERNELS], [test -n "$cuda_code"])
])

# FERRY_TRY_FLAG(VARIABLE, FLAG)
# Appends FLAG to VARIABLE if the compiler takes it without a murmur.
AC_DEFUN([FERRY_TRY_FLAG],
[AC_MSG_CHECKING([whether $CC accepts $2])
save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM()],
    [AC_MSG_RESULT([yes])
    $1="${$1:+$$1 }$2"],
    [AC_MSG_RESULT([no])])
CFLAGS=$save_CFLAGS
])

# FERRY_FLOAT_FLAGS
# FLOAT_CFLAGS, with which an expression of floats is computed in floats and one of doubles in doubles. C11 on i386
# (x87) and s390x computes them in wider types by default, so that results would be rounded twice.
AC_DEFUN([FERRY_FLOAT_FLAGS],
[FLOAT_CFLAGS=
AC_SUBST([FLOAT_CFLAGS])
AC_MSG_CHECKING([for flags to compute floats in their own type])
ferry_save_CFLAGS=$CFLAGS
found=no
for ferry_flags in '' '-msse2 -mfpmath=sse' '-fexcess-precision=fast'; do
    CFLAGS="$ferry_save_CFLAGS -std=c11 -Werror $ferry_flags"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <float.h>
        _Static_assert(FLT_EVAL_METHOD == 0, "");]])],
        [FLOAT_CFLAGS=$ferry_flags
        found=yes
        break])
done
CFLAGS=$ferry_save_CFLAGS
AS_IF([test "x$found" = xyes],
    [AC_MSG_RESULT([${FLOAT_CFLAGS:-none needed}])],
    [AC_MSG_RESULT([not found])
    AC_MSG_ERROR([$CC computes floats in a wider type (FLT_EVAL_METHOD)])])
])

# FERRY_AVXVNNI
# AVXVNNI_CPPFLAGS, which tell the CPU plugin that the compiler selects AVX-VNNI for a function, and that its assembler has
# the VEX form of vpdpbusd: binutils has it from 2.36 on.
AC_DEFUN([FERRY_AVXVNNI],
[AVXVNNI_CPPFLAGS=
AC_SUBST([AVXVNNI_CPPFLAGS])
AC_MSG_CHECKING([for AVX-VNNI])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[__attribute__((target("avx2,avxvnni"))) void f(void)
        {
            __asm__ volatile("%{vex%} vpdpbusd %%ymm2, %%ymm1, %%ymm0" : : "m"(*(char *)f));
        }]])],
    [AVXVNNI_CPPFLAGS=-DCPU_INTEGER_HAS_AVXVNNI=1
    AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])])
])

# FERRY_AMX
# AMX_CPPFLAGS, which tell the CPU plugin that the assembler has AMX: binutils has it from 2.35 on. The compiler need not
# know the registers.
AC_DEFUN([FERRY_AMX],
[AMX_CPPFLAGS=
AC_SUBST([AMX_CPPFLAGS])
AC_MSG_CHECKING([for AMX])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[void f(void)
        {
            __asm__ volatile("ldtilecfg (%0)\n\ttileloadd (%0,%1,1), %%tmm1\n\ttdpbusd %%tmm2, %%tmm1, %%tmm0\n\t"
                             "tdpbssd %%tmm2, %%tmm1, %%tmm0\n\ttdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\ttilerelease"
                             : : "r"((char *)f), "r"(64LL));
        }]])],
    [AMX_CPPFLAGS=-DCPU_INTEGER_HAS_AMX=1
    AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])])
])

# FERRY_FILE_FLAGS
# FILE_CFLAGS, with which sizes and numbers of files have 64 bits: on i386 they have 32 by default, and a folder of a large
# file system cannot be listed.
AC_DEFUN([FERRY_FILE_FLAGS],
[FILE_CFLAGS=
AC_SUBST([FILE_CFLAGS])
AC_MSG_CHECKING([for flags for large files])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <sys/types.h>
    _Static_assert(sizeof(off_t) >= 8, "");]])],
    [], [FILE_CFLAGS=-D_FILE_OFFSET_BITS=64])
AC_MSG_RESULT([${FILE_CFLAGS:-none needed}])
])

# FERRY_COMPILER_FLAGS
# WARN_CFLAGS for everything that is compiled, Z_DEFS for what must not leave a symbol open, and
# Z_NODELETE for what plugins keep pointers into.
# A sanitizer's run-time library belongs to the program, so what is linked against it stays open.
AC_DEFUN([FERRY_COMPILER_FLAGS],
[WARN_CFLAGS=
m4_foreach_w([flag], [-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wwrite-strings -Wvla],
    [FERRY_TRY_FLAG([WARN_CFLAGS], flag)])
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
Z_DEFS=
AS_CASE(["$CC $CFLAGS $LDFLAGS"],
    [*-fsanitize=*], [],
    [FERRY_TRY_FLAG([Z_DEFS], [-Wl,-z,defs])])
AC_SUBST([Z_DEFS])
Z_NODELETE=
FERRY_TRY_FLAG([Z_NODELETE], [-Wl,-z,nodelete])
AC_SUBST([Z_NODELETE])
VERSION_SCRIPT=
FERRY_TRY_FLAG([VERSION_SCRIPT], [-shared -fPIC -Wl,--version-script=$srcdir/core/ferry.map])
AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "x$VERSION_SCRIPT" != x])
AC_SUBST([VERSION_SCRIPT])
])

# FERRY_FIND_MPI
# --------------
# MPI_CFLAGS, MPI_LIBS, and MPIEXEC, what starts ranks in tests; have_mpi says what was found, or why not.
# The headers are the system's: what their macros do is no warning of ours.
AC_DEFUN([FERRY_FIND_MPI], [
    AC_ARG_VAR([MPIEXEC], [starts the ranks of a program, for tests: mpirun])
    have_mpi='no: libferrympi is not built (Debian: libopenmpi-dev openmpi-bin)'
    AS_CASE([$with_mpi],
        [no], [have_mpi='no, as asked'; ferry_mpi_modules=],
        [auto | yes], [ferry_mpi_modules='ompi-c mpich'],
        [ferry_mpi_modules=$with_mpi])
    for ferry_module in $ferry_mpi_modules; do
        AS_IF([$PKG_CONFIG --exists "$ferry_module" 2>/dev/null], [
            MPI_CFLAGS=`$PKG_CONFIG --cflags "$ferry_module" | $SED -e 's/-I */-isystem /g'`
            MPI_LIBS=`$PKG_CONFIG --libs "$ferry_module"`
            have_mpi="$ferry_module `$PKG_CONFIG --modversion "$ferry_module"`"
            break
        ])
    done
    AS_CASE([$have_mpi],
        [no*], [AS_CASE([$with_mpi], [auto | no], [],
            [AC_MSG_ERROR([--with-mpi=$with_mpi: pkg-config finds no such MPI (Debian: libopenmpi-dev openmpi-bin)])])],
        [mpich*], [AC_CHECK_PROGS([MPIEXEC], [mpirun.mpich mpiexec.hydra mpiexec], [no])],
        [AC_CHECK_PROGS([MPIEXEC], [mpirun.openmpi mpirun mpiexec], [no])])
    AC_SUBST([MPI_CFLAGS])
    AC_SUBST([MPI_LIBS])
    AM_CONDITIONAL([HAVE_MPI], [AS_CASE([$have_mpi], [no*], [false], [:])])
])
