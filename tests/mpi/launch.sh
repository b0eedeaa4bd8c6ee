# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# Starts ranks on this machine, with the options that Open MPI and MPICH require.

# Prints the reason why no ranks can be started here; nothing if they can.
cannot_launch() {
    case "${CC-} ${CFLAGS-} ${LDFLAGS-}" in
    *-fsanitize=*) echo "MPI's own leaks and races are not ours to report" ;;
    esac
    if [ ! -e "$FERRY_TEST_BUILDDIR/.libs/libferrympi.so" ]; then
        echo 'ferry was built without an MPI (--with-mpi)'
    elif ! command -v "${FERRY_TEST_MPIEXEC:-no}" >/dev/null; then
        echo 'there is no mpirun of its MPI'
    fi
}

# launch RANKS COMMAND…: starts its ranks, more than there are processors if necessary, for at most
# 60 s.
launch() {
    launch_ranks=$1
    shift
    case $("$FERRY_TEST_MPIEXEC" --version 2>&1) in
    *'Open MPI'* | *OpenRTE*) set -- --oversubscribe --quiet "$@" ;;
    esac
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm=isolated OMPI_MCA_hwloc_base_binding_policy=none \
        OPENBLAS_NUM_THREADS=1 timeout -k 5 60 "$FERRY_TEST_MPIEXEC" -n "$launch_ranks" "$@" </dev/null
}
