#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Sets of OpenCL drivers: one driver, one beside broken ones, only broken ones, none.
set -u
: "${FERRY_TEST_COMMAND:?}" "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

case " ${FERRY_TEST_PLUGINS:-} " in
*' opencl '*) ;;
*)
    skip opencl_drivers 'the OpenCL plugin was not built'
    finish opencl-drivers
    ;;
esac

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/none" "$folder/broken" "$folder/among"
echo libferry-no-such-driver.so.1 >"$folder/broken/absent.icd"
: >"$folder/broken/empty.icd"
cp "$folder/broken/"*.icd "$folder/among"
echo libc.so.6 >"$folder/among/wrong.icd"

# with FOLDER BACKEND: the output of `ferry devices` there; the log and the errors are in
# $folder/err.
with() {
    OCL_ICD_VENDORS="$folder/$1" FERRY_BACKEND="$2" "$FERRY_TEST_COMMAND" devices 2>"$folder/err"
}

# says NAME TEXT PART
says() {
    case $2 in
    *"$3"*) pass "$1" ;;
    *) fail "$1" "wanted: $3" "$2" ;;
    esac
}

out=$(with none 'opencl, cpu')
says a_missing_driver_is_reported_beside_other_devices "$out" \
    'opencl has no device: clGetPlatformIDs: CL_PLATFORM_NOT_FOUND_KHR: no OpenCL driver'
says another_device_is_selected "$out" '*  cpu:0'
if with none opencl >/dev/null; then
    fail selecting_only_opencl_fails_without_a_driver
else
    says selecting_only_opencl_fails_without_a_driver "$(cat "$folder/err")" \
        'CL_PLATFORM_NOT_FOUND_KHR'
fi

out=$(with broken 'opencl, cpu')
says a_driver_that_cannot_be_loaded_is_the_reason_for_no_device "$out" \
    "no OpenCL driver works: $folder/broken/absent.icd: libferry-no-such-driver.so.1"

pocl=/etc/OpenCL/vendors/pocl.icd
if [ ! -f "$pocl" ]; then
    skip broken_drivers_among_others 'PoCL, the driver that is to work beside them, is not installed'
else
    cp "$pocl" "$folder/among"
    out=$(with among opencl)
    says a_driver_that_works_is_used_beside_broken_ones "$out" '*  opencl:0'
    err=$(cat "$folder/err")
    says a_driver_that_cannot_be_loaded_is_named "$err" \
        "$folder/among/absent.icd: the driver is skipped: libferry-no-such-driver.so.1"
    says an_empty_driver_file_is_named "$err" "$folder/among/empty.icd: the driver is skipped: does not name"
    says a_library_that_is_not_a_driver_is_named "$err" \
        "$folder/among/wrong.icd: the driver is skipped: the library is not an OpenCL driver"
fi

# devices VENDORS OPTIONS: the devices that `ferry devices` lists, one per line.
devices() {
    printf '[plugin opencl]\n' >"$folder/conf"
    for option in $2; do
        printf 'option.%s\n' "$option" >>"$folder/conf"
    done
    OCL_ICD_VENDORS="$folder/$1" FERRY_CONF="$folder/conf" FERRY_BACKEND=opencl \
        "$FERRY_TEST_COMMAND" devices 2>"$folder/err" | sed -n 's/^\*\{0,1\} *opencl:/opencl:/p'
}

# is NAME WANTED GOT
is() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "wanted: $2" "got: $3"
    fi
}

if [ -f "$pocl" ]; then
    printf '[plugin opencl]\noption.profiling = yes\n' >"$folder/conf"
    times=$(FERRY_LOG=debug FERRY_CONF="$folder/conf" FERRY_BACKEND=opencl \
        "$FERRY_TEST_COMMAND" devices 2>&1)
    says profiling_logs_how_long_a_copy_took "$times" 'clEnqueueWriteBuffer: '
    says profiling_logs_how_long_a_copy_waited "$times" ' us, after waiting '
fi

# Runs ferry check on the other installed drivers. test-check runs all of it on PoCL; on rusticl's
# llvmpipe only the groups that take seconds run, and with FERRY_TEST_LONG all, without a cache,
# because the warnings of Mesa's compiler are only printed by a compilation.
# check-opencl-accesses.sh covers Oclgrind. on_rusticl COMMAND…: with empty caches; leaks of Mesa
# itself are ignored
on_rusticl() {
    rm -rf "$folder/cache"
    mkdir "$folder/cache"
    OCL_ICD_VENDORS=/etc/OpenCL/vendors/rusticl.icd RUSTICL_ENABLE=llvmpipe XDG_CACHE_HOME="$folder/cache" \
        MESA_SHADER_CACHE_DIR="$folder/cache" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$@"
}
if [ -f /etc/OpenCL/vendors/rusticl.icd ]; then
    if [ -n "${FERRY_TEST_LONG:-}" ]; then
        says ferry_check_passes_on_rusticl "$(on_rusticl "$FERRY_TEST_COMMAND" check opencl --timeout 600 2>&1)" \
            ': 24 passed, 0 failed, 1 not offered'
    else
        groups=descriptor,copy,fill,convert,dot,gemv,gemm,queues,events,import
        says ferry_check_passes_on_rusticl \
            "$(on_rusticl "$FERRY_TEST_COMMAND" check opencl --only "$groups" 2>&1)" \
            ': 10 passed, 0 failed, 0 not offered'
    fi
    cat >"$folder/net.prototxt" <<'END'
layer { name: "data" type: "DummyData" top: "data"
  dummy_data_param { shape { dim: 1 dim: 19 dim: 6 dim: 7 } data_filler { type: "gaussian" std: 1 } } }
layer { name: "deep" type: "Convolution" bottom: "data" top: "deep" convolution_param { num_output: 19 group: 19
  kernel_size: 3 weight_filler { type: "gaussian" std: 1 } bias_filler { type: "constant" value: 0.5 } } }
layer { name: "point" type: "Convolution" bottom: "deep" top: "point" convolution_param { num_output: 5
  kernel_size: 1 weight_filler { type: "gaussian" std: 1 } bias_filler { type: "constant" value: 0.5 } } }
layer { name: "elu" type: "ELU" bottom: "point" top: "point" }
layer { name: "norm" type: "LRN" bottom: "point" top: "norm" }
layer { name: "prob" type: "Softmax" bottom: "norm" top: "prob" }
END
    FERRY_BACKEND=cpu "$FERRY_TEST_COMMAND" run "$folder/net.prototxt" -o "$folder/cpu.npz" >/dev/null
    on_rusticl env FERRY_STRICT=1 FERRY_BACKEND=opencl "$FERRY_TEST_COMMAND" run "$folder/net.prototxt" \
        -o "$folder/rusticl.npz" >/dev/null 2>"$folder/err"
    apart=$("$FERRY_TEST_COMMAND" diff "$folder/cpu.npz" "$folder/rusticl.npz" --tolerance 1e-5 2>&1)
    says a_net_on_rusticl_computes_the_same_as_on_the_cpu "$apart$(cat "$folder/err")" '1 array: 1 equal'
    is the_driver_s_compiler_prints_nothing '' "$(cat "$folder/err")"
else
    skip ferry_check_on_rusticl 'rusticl is not installed (Debian: mesa-opencl-icd)'
fi

second=$(command -v oclgrind 2>/dev/null)
second=${second%/bin/oclgrind}/lib/oclgrind/liboclgrind-rt-icd.so
if [ ! -f "$pocl" ] || [ ! -f "$second" ]; then
    skip two_drivers_side_by_side 'PoCL and Oclgrind, which is to work beside it, are not both installed'
    finish opencl-drivers
fi

# the loader lists platforms in the order of the files, which must not matter
mkdir "$folder/ab" "$folder/ba"
cp "$pocl" "$folder/ab/a.icd"
echo "$second" >"$folder/ab/b.icd"
cp "$pocl" "$folder/ba/z.icd"
echo "$second" >"$folder/ba/b.icd"
both=$(devices ab '')
says two_drivers_are_side_by_side "$both" '(Portable Computing Language)'
says both_platforms_are_listed "$both" '(Oclgrind)'
is the_order_of_platforms_does_not_depend_on_files "$both" "$(devices ba '')"
is a_platform_is_chosen_by_a_part_of_its_name "$(devices ab platform=PORTABLE | wc -l)" 1
says the_named_platform_is_chosen "$(devices ab platform=PORTABLE)" '(Portable Computing Language)'
is a_type_that_no_device_has_selects_none "$(devices ab 'platform=portable type=accelerator')" ''
says options_without_a_device_are_the_reason "$(cat "$folder/err")" \
    'matches option.platform = portable and option.type = accelerator'
says a_type_that_one_device_has_selects_it "$(devices ab 'platform=portable type=cpu')" 'opencl:0'
finish opencl-drivers
