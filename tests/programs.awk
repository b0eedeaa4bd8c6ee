# SPDX-License-Identifier: BSD-2-Clause
# Writes tests/programs.mk from tests/programs.list:  awk -f programs.awk TESTS_FOLDER >programs.mk

function die(text) {
    print list ":" line ": " text >"/dev/stderr"
    failed = 1
    exit 1
}

function exists(path, ignored, status) {
    status = (getline ignored <path)
    if (status >= 0)
        close(path)
    return status >= 0
}

# add VARIABLE PROGRAM: one more member, under the condition of the program's line.
function add(variable, program) {
    members[condition, variable] = members[condition, variable] " \\\n\ttests/" program
    if (!(condition in known)) {
        known[condition] = 1
        conditions[++count] = condition
    }
}

function sources_of(stem, base, found) {
    found = ""
    if (exists(folder "/" base stem ".c"))
        found = found " tests/" base stem ".c"
    if (exists(folder "/" base stem ".h"))
        found = found " tests/" base stem ".h"
    if (found == "")
        die("+" stem ": there is no " base stem ".c or .h")
    return found
}

# Reads the words of a line: sources, condition, groups.
function read_words(program, base, i, word) {
    for (i = 3; i <= NF; i++) {
        word = $i
        if (word ~ /^\+/) {
            sources = sources sources_of(substr(word, 2), base)
            if (word == "+oom")
                ldflags = ldflags " $(OOM_WRAPS)"
        } else if (word ~ /^if:/)
            condition = substr(word, 4)
        else if (word == "exports")
            ldflags = ldflags " -export-dynamic"
        else if (word == "fast")
            cflags = "$(STD_CFLAGS)"
        else if (word in group)
            groups = groups " " word
        else
            die(word ": not a word of this list")
    }
}

# The variables by which automake builds one program.
function write_program(program, links, name, i, n, part, flags) {
    name = "tests/" program
    gsub(/[^A-Za-z0-9]/, "_", name)
    if (sources != "")
        print name "_SOURCES = tests/" program ".c" sources
    printf "%s_LDADD =", name
    n = split(links, part, ",")
    for (i = 1; i <= n; i++) {
        printf " $(LINK_%s)", part[i]
        if (part[i] in has_flags)
            flags = flags " $(FLAGS_" part[i] ")"
    }
    print ""
    if (flags != "")
        print name "_CPPFLAGS = $(AM_CPPFLAGS)" flags
    if (cflags != "")
        print name "_CFLAGS = " cflags
    if (ldflags != "")
        print name "_LDFLAGS = $(AM_LDFLAGS)" ldflags
}

# Whether FERRY_TEST_QUICK shortens the program: `make check-long` runs it at its length.
function is_shortened(program, text, found) {
    while ((getline text <(folder "/" program ".c")) > 0)
        if (text ~ /FERRY_TEST_QUICK|is_in_a_hurry|ferry_test_skip_variant|ferry_test_skip_slow_device|command_main/)
            found = 1
    close(folder "/" program ".c")
    return found
}

function write_line(program, base, i, n, part) {
    condition = sources = cflags = ldflags = groups = ""
    if (!exists(folder "/" program ".c"))
        die(program ".c: no such file")
    read_words(program, base)
    write_program(program, $2)
    add("UNIT_TESTS", program)
    n = split(groups, part, " ")
    for (i = 1; i <= n; i++)
        add(group[part[i]], program)
    if (is_shortened(program))
        add("SHORTENED_UNIT_TESTS", program)
}

BEGIN {
    folder = ARGV[1]
    list = folder "/programs.list"
    group["threads"] = "THREAD_TESTS"
    group["valgrind"] = "CORE_TESTS"
    group["package"] = "PACKAGE_UNIT_TESTS"
    group["command"] = "COMMAND_TESTS"
    print "# Written by tests/programs.awk from tests/programs.list: change that list."
    while ((status = (getline <list)) > 0) {
        line++
        if ($0 ~ /^#/ || NF == 0)
            continue
        if ($1 == "flags") {
            for (i = 2; i <= NF; i++)
                has_flags[$i] = 1
            continue
        }
        if (NF < 2)
            die("expected PROGRAM LINKS")
        base = $1
        sub(/[^\/]*$/, "", base)
        write_line($1, base)
    }
    if (status < 0)
        die("cannot be read")
    n = split("UNIT_TESTS THREAD_TESTS CORE_TESTS PACKAGE_UNIT_TESTS COMMAND_TESTS SHORTENED_UNIT_TESTS", variables, " ")
    for (k = 1; k <= n; k++)
        print variables[k] " =" members["", variables[k]]
    for (i = 1; i <= count; i++) {
        if (conditions[i] == "")
            continue
        print "if " conditions[i]
        for (k = 1; k <= n; k++)
            if ((conditions[i], variables[k]) in members)
                print variables[k] " +=" members[conditions[i], variables[k]]
        print "endif"
    }
}
