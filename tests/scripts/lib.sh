# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# Counting for script tests, in the format of the unit tests' framework (ferry-test.h).

passed=0
failed=0
skipped=0
begun=$(date +%s)

pass() {
    passed=$((passed + 1))
    echo "pass $1"
}

# fail NAME [DETAIL…]
fail() {
    failed=$((failed + 1))
    echo "FAIL $1"
    shift
    [ $# -eq 0 ] || printf '     %s\n' "$@"
}

# skip NAME REASON
skip() {
    skipped=$((skipped + 1))
    echo "SKIP $1: $2"
}

# count_lines FILE prints the lines of a program that begin with pass, FAIL or SKIP, and counts them.
count_lines() {
    grep -E '^(pass|FAIL|SKIP) ' "$1"
    passed=$((passed + $(grep -c '^pass ' "$1")))
    failed=$((failed + $(grep -c '^FAIL ' "$1")))
    skipped=$((skipped + $(grep -c '^SKIP ' "$1")))
}

# check NAME COMMAND… passes if the command succeeds; its output is the detail of a failure.
check() {
    check_name=$1
    shift
    if check_output=$("$@" 2>&1); then
        pass "$check_name"
    else
        fail "$check_name" "$check_output"
    fi
}

# python_with MODULES prints a Python that has these modules, separated by commas. The system's
# Python has the system's packages; another Python on PATH may lack them.
python_with() {
    for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
        if "$candidate" -c "import $1" 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# pytest_results PREFIX FILE: reports each test in the output of `pytest -v`, with the reason for
# skipped ones.
pytest_results() {
    while read -r test verdict rest; do
        name=$1/${test##*::}
        case $verdict in
        PASSED) pass "$name" ;;
        SKIPPED) skip "$name" "$(echo "$rest" | sed 's/^(\(.*\)).*/\1/')" ;;
        FAILED | ERROR) fail "$name" ;;
        esac
    done <"$2"
}

# finish SUITE ends the script with automake's exit status.
finish() {
    echo "ferry-test: $1: $passed passed, $failed failed, $skipped skipped, $(($(date +%s) - begun)) s"
    [ "$failed" -eq 0 ] || exit 1
    if [ "$passed" -eq 0 ] && [ "$skipped" -gt 0 ]; then
        exit 77
    fi
    exit 0
}
