#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the wheel ($FERRY_TEST_WHEEL, which `make wheel` makes) in an environment of its own: its
# tag and its size, the command, a net, a plugin of another package, and other packages in the same
# process. Also tests the wheel of the plugin cuda, if $FERRY_TEST_CUDA_WHEEL names it.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_WHEEL=}" "${FERRY_TEST_CUDA_WHEEL=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

skip_all() {
    skip wheel "$1"
    finish wheel
}

[ -n "$FERRY_TEST_WHEEL" ] || skip_all 'FERRY_TEST_WHEEL names no wheel (make check-wheel builds one)'
python=$(python_with numpy,venv) || skip_all 'no Python with NumPy and venv was found'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$work"

# Neither the build nor an installed ferry must be found.
unset FERRY_PLUGIN_PATH FERRY_LIBRARY_PATH FERRY_CONF FERRY_BACKEND FERRY_STRICT FERRY_TRACE LD_LIBRARY_PATH PYTHONPATH
unset FERRY_PLUGIN_PATH_LAST
HOME=$work
export HOME

small_enough() {
    size=$(wc -c <"$FERRY_TEST_WHEEL")
    [ "$size" -le 15000000 ] || { echo "$size bytes"; return 1; }
}

tag_is_true() {
    auditwheel show "$FERRY_TEST_WHEEL" | tr '\n' ' ' >"$work/shown" && cat "$work/shown" &&
        grep -q -E 'platform tag: "manylinux_2_(1[0-9]|2[0-8])_' "$work/shown"
}

# Makes a virtual environment that sees the packages of its Python, even if that is in a virtual
# environment itself.
install() {
    "$python" -m venv --system-site-packages "$work/venv" && "$python" -c '
import site, sys
print("\n".join(site.getsitepackages()) if sys.prefix != sys.base_prefix else "")' >"$work/parent.pth" &&
        cp "$work/parent.pth" "$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" &&
        "$work/venv/bin/python" -m pip install -q --no-index --no-deps --disable-pip-version-check "$FERRY_TEST_WHEEL"
}

# The libraries in the process are those of the wheel, including OpenBLAS.
uses_its_own() {
    "$work/venv/bin/python" -c '
import ferry, sys, numpy as np
device = ferry.Runtime("cpu").device()
a, b = (ferry.Blob(device, (64, 64)) for _ in range(2))
assert device.name == "cpu:0"
ferry.save("a.h5", {"x": np.arange(6.0)})
assert list(ferry.open("a.h5")["x"]) == [0, 1, 2, 3, 4, 5]
maps = [line.split()[-1] for line in open("/proc/self/maps") if "libferry" in line or "ferry_cpu" in line]
assert maps and all(path.startswith(sys.argv[1]) for path in maps), set(maps)' "$work/venv"
}

checks() {
    "$work/venv/bin/ferry" check "$1" --only descriptor,memory,copy,axpy,gemm >"$work/checked" 2>&1 &&
        grep -q "site-packages.* 0 failed" "$work/checked" || { cat "$work/checked"; return 1; }
}

# As with a umask of 002: the group may write all files.
works_where_a_group_may_write() {
    cp -R "$work/venv" "$work/loose" && chown -R 65534:65534 "$work/loose" && chmod -R g+w "$work/loose" &&
        (cd / && setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent \
            "$work/loose/bin/python" -c '
import ferry
device = ferry.Runtime("cpu", options={"cpu": {}}).device()
print(device.name)')
}

# The class in Caffe's own output, which is in the same file.
cat_class() {
    "$work/venv/bin/python" -c 'import sys, numpy as np
print(int(np.load(sys.argv[1])["blob/pool_final"].argmax()))' "$FERRY_TEST_DATA/nets/squeezenet_dc/cat.npz"
}

classifies() {
    nets=$FERRY_TEST_DATA/nets/squeezenet_dc
    "$work/venv/bin/python" -c 'import sys, numpy as np
np.savez(sys.argv[2], data=np.load(sys.argv[1])["input/data"])' "$nets/cat.npz" "$work/data.npz" || return 1
    begin=$(date +%s)
    FERRY_BACKEND=cpu "$work/venv/bin/ferry" run "$nets/SqueezeNet_deploy.prototxt" \
        "$nets/squeezenet_v1.0_decoded.caffemodel" --input "data=$work/data.npz" --top 1 >"$work/ran" 2>&1 || {
        cat "$work/ran"
        return 1
    }
    cat "$work/ran"
    grep -q "$(cat_class)" "$work/ran" || { echo "not class $(cat_class)"; return 1; }
    [ $(($(date +%s) - begin)) -le 10 ] || { echo 'it took longer than 10 s'; return 1; }
}

# Makes a package with a plugin from the template, and uses its device; an installed plugin of the
# same name has precedence.
plugin_package() {
    (cd "$work" && "$work/venv/bin/ferry" new-plugin my-rocket --wheel && cd ferry-my-rocket &&
        "$work/venv/bin/python" -m pip wheel -q --no-index --no-build-isolation --no-deps \
            --disable-pip-version-check -w "$work/wheels" . && ls "$work/wheels" &&
        "$work/venv/bin/python" -m pip install -q --no-index --no-deps --disable-pip-version-check \
            "$work"/wheels/ferry_my_rocket-1.0-py3-none-linux_*.whl &&
        cd "$work" && "$work/venv/bin/ferry" plugins -v >"$work/plugins" &&
        grep -q FERRY_PLUGIN_PATH_LAST "$work/plugins" && FERRY_BACKEND=my-rocket "$work/venv/bin/ferry" devices &&
        "$work/venv/bin/python" -c '
import ferry
runtime = ferry.Runtime("my-rocket")
blob = ferry.Blob(runtime.device(), (2, 3))
blob.fill(3)
assert blob.data.sum() == 18')
}

# The same with every operation: the plugin finds libferrykernels in the wheel.
operations_package() {
    (cd "$work" && "$work/venv/bin/ferry" new-plugin all-kinds --operations --wheel && cd ferry-all-kinds &&
        "$work/venv/bin/python" -m pip install -q --no-index --no-build-isolation --no-deps \
            --disable-pip-version-check . && cd "$work" &&
        "$work/venv/bin/ferry" check venv/lib/python*/site-packages/ferry_all_kinds/ferry_all-kinds.so \
            --only descriptor,ops-values,ops-steps >"$work/checked" 2>&1 &&
        grep -q ' 3 passed, 0 failed, 0 not offered' "$work/checked" || { cat "$work/checked"; return 1; }
    FERRY_BACKEND=all-kinds "$work/venv/bin/ferry" devices)
}

# The plugin is found in its own package by its entry point, and loads without NVIDIA's packages and
# driver.
cuda_is_found() {
    "$work/venv/bin/python" -m pip install -q --no-index --no-deps --disable-pip-version-check "$FERRY_TEST_CUDA_WHEEL" &&
        "$work/venv/bin/ferry" plugins -v >"$work/plugins" 2>&1
    sed -n '/^cuda/,/^$/p' "$work/plugins" >"$work/cuda"
    grep -q 'site-packages/ferry_cuda/ferry_cuda.so' "$work/cuda" && grep -q 'FERRY_PLUGIN_PATH_LAST' "$work/cuda" &&
        grep -q -E '^cuda: ok|no devices|driver' "$work/cuda" || { cat "$work/plugins"; return 1; }
    head -n 1 "$work/cuda"
}

# The lines of doc/quick-start.md that need the wheel only.
quick_start_runs() {
    awk '/^## / { inside = /with Python alone/ } /^```/ { block = /console/; next } inside && block' \
        "$FERRY_TEST_SRCDIR/doc/quick-start.md" | sed 's/^\$ //' >"$work/lines"
    [ -s "$work/lines" ] || { echo 'the page has no such lines'; return 1; }
    mkdir "$work/first" && (cd "$work/first" && PATH=$work/venv/bin:$PATH FERRY_BACKEND=cpu sh -e ../lines) >"$work/ran" 2>&1
    status=$?
    cat "$work/ran"
    [ "$status" -eq 0 ] && grep -q '^class 0$' "$work/ran" && grep -q '^ *1 *0\.99' "$work/ran"
}

beside() {
    for order in "ferry, $1" "$1, ferry"; do
        (cd "$work" && "$work/venv/bin/python" -c "
import $order
import numpy as np
ferry.save('b.h5', {'x': np.ones(4)})
assert ferry.open('b.h5')['x'].sum() == 4
runtime = ferry.Runtime('cpu')
blob = ferry.Blob(runtime.device(), (2, 2))
blob.fill(1)
assert blob.data.sum() == 4") || { echo "import $order"; return 1; }
    done
}

cd "$work" || exit 1
check the_wheel_has_at_most_15_MB small_enough
if command -v auditwheel >/dev/null 2>&1; then
    check auditwheel_confirms_the_tag tag_is_true
else
    skip auditwheel_confirms_the_tag 'there is no auditwheel (PyPI: auditwheel)'
fi
check pip_installs_the_wheel install
check python_loads_the_libraries_and_plugins_of_the_wheel uses_its_own
for plugin in cpu sim; do check "its_plugin_${plugin}_passes_ferry_check" checks "$plugin"; done
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups \
    env "$(realpath "$work/venv/bin/python")" -c '' 2>/dev/null; then
    check the_wheel_works_in_a_group_writable_folder works_where_a_group_may_write
else
    skip the_wheel_works_in_a_group_writable_folder 'it takes root, setpriv, and a Python that other users may run'
fi
check the_quick_start_needs_the_wheel_only quick_start_runs
if [ -d "${FERRY_TEST_DATA-}/nets/squeezenet_dc" ]; then
    check a_picture_is_classified_within_10_s classifies
else
    skip a_picture_is_classified_within_10_s 'FERRY_TEST_DATA has no nets/squeezenet_dc'
fi
compiler=${CC:-cc}
if "$work/venv/bin/python" -c 'import setuptools, wheel' 2>/dev/null && command -v "${compiler%% *}" >/dev/null; then
    check another_package_can_provide_a_plugin plugin_package
    check another_package_can_compute_every_operation operations_package
else
    skip another_package_can_provide_a_plugin 'there is no setuptools with wheel, or no compiler'
    skip another_package_can_compute_every_operation 'there is no setuptools with wheel, or no compiler'
fi
if [ -n "$FERRY_TEST_CUDA_WHEEL" ]; then
    check the_cuda_wheel_contains_its_plugin cuda_is_found
else
    skip the_cuda_wheel_contains_its_plugin 'FERRY_TEST_CUDA_WHEEL names none (make check-wheel WHEEL_CUDA=yes builds one)'
fi
for name in h5py tables cv2 torch; do
    if "$work/venv/bin/python" -c "import $name" 2>/dev/null; then
        check "${name}_and_it_share_a_process_in_either_order" beside "$name"
    else
        skip "${name}_and_it_share_a_process_in_either_order" "there is no $name"
    fi
done
finish wheel
