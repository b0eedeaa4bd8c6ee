#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The package in python/: its tests, with every backend that was built, and its installation by pip.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_BACKENDS:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

skip_all() {
    skip python "$1"
    finish python
}

# A sanitizer must be linked into the program, and Python is not.
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip_all 'Python cannot load a libferry that was built with a sanitizer'
fi
python=$(python_with numpy,pytest) || skip_all 'no Python with NumPy and pytest was found'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
FERRY_LIBRARY_PATH=$FERRY_TEST_BUILDDIR/.libs
PYTHONDONTWRITEBYTECODE=1
export FERRY_LIBRARY_PATH PYTHONDONTWRITEBYTECODE

# run KIND BACKEND OPTIONS ARGUMENT…: runs pytest on that backend with those options.
run() {
    kind=$1 backend=$2 options=$3 before=$((passed + failed))
    shift 3
    FERRY_BACKEND=$backend FERRY_TEST_OPTIONS=$options PYTHONPATH=$FERRY_TEST_SRCDIR/python \
        "$python" -m pytest -v --tb=short -p no:cacheprovider --basetemp="$work/tmp" "$@" \
        >"$work/out" 2>&1
    status=$?
    pytest_results "$kind" "$work/out"
    [ "$status" -eq 0 ] || sed 's/^/     /' "$work/out"
    # A crash leaves no line of its own.
    case $status in
    0 | 1) [ $((passed + failed)) -gt "$before" ] || fail "$kind/there_are_tests" ;;
    *) fail "$kind/pytest_exits_with_0_or_1" "exit status $status" ;;
    esac
}

tests=$FERRY_TEST_SRCDIR/python/tests
run declared cpu '' "$tests/test_abi.py"
for name in $FERRY_TEST_BACKENDS; do
    case $name in
    cpu) run cpu cpu '' --ignore="$tests/test_abi.py" "$tests" ;;
    sim)
        if [ "${FERRY_TEST_QUICK-}" = 2 ]; then
            skip sim 'FERRY_TEST_QUICK=2: .ci/run and make check-long run the package on it'
            continue
        fi
        set -- "$tests/test_blob.py" "$tests/test_dlpack.py" "$tests/test_caffe_net.py" "$tests/test_caffe_layer.py"
        if [ -n "${FERRY_TEST_QUICK-}" ]; then
            run sim sim '' "$@"
            skip sim/all_tests 'FERRY_TEST_QUICK: make check-long runs them'
            continue
        fi
        run sim sim '' --ignore="$tests/test_abi.py" "$tests"
        run 'sim[unified]' sim unified=on "$@"
        ;;
    esac
done

# ---- the README's example ------------------------------------------------------------------------

# The first block of Python prints the line below its command.
readme_example() {
    readme=$FERRY_TEST_SRCDIR/README.md
    awk '/^```/ { if (inside) exit; inside = $0 == "```python"; next } inside' "$readme" >"$work/sum.py"
    sed -n '/^    \$ FERRY_BACKEND=cpu python3 sum.py$/{n;s/^    //p;}' "$readme" >"$work/expected"
    [ -s "$work/sum.py" ] && [ -s "$work/expected" ] || { echo 'README.md has no such example'; return 1; }
    (cd "$work" && FERRY_BACKEND=cpu PYTHONPATH=$FERRY_TEST_SRCDIR/python "$python" sum.py) | diff "$work/expected" -
}

case " $FERRY_TEST_BACKENDS " in
*' cpu '*) check the_example_of_the_readme_prints_the_documented_output readme_example ;;
*) skip the_example_of_the_readme_prints_the_documented_output 'the cpu plugin was not built' ;;
esac

# ---- installation --------------------------------------------------------------------------------

# By pip from a copy, because pip writes into the source folder; without a network.
installs() {
    cp -R "$FERRY_TEST_SRCDIR/python" "$work/source" && chmod -R u+w "$work/source" &&
        "$python" -m pip install -q --no-index --no-build-isolation --no-deps \
            --disable-pip-version-check --target "$work/site" "$work/source" &&
        (cd "$work" && PYTHONPATH=$work/site "$python" -c '
import ferry, ferry.caffe, sys
assert ferry.__file__.startswith(sys.argv[1]), ferry.__file__
print(ferry.__version__, ferry.library_version)' "$work/site")
}

if "$python" -c 'import setuptools, wheel, pip' 2>/dev/null; then
    check pip_installs_the_wheel installs
else
    skip pip_installs_the_wheel 'there is no pip with setuptools and wheel (Debian: python3-pip)'
fi
finish python
