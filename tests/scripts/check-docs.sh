#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every function of the installed headers has a comment directly above it, each citation of a
# section of doc/design names an existing section, the README's chart shows the measurements, and
# Doxygen makes pages of all headers without a warning.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
# shellcheck source=tests/scripts/text.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/text.sh"

# bare: prints the functions and types without a comment above them.
bare() {
    awk '/^(FERRY_API|typedef|static inline) / && before !~ /\*\/ *$/ { print FILENAME ":" FNR ": " $0; bare = 1 }
        { before = $0 }
        END { exit !bare }' "$FERRY_TEST_SRCDIR"/include/ferry/*.h
}

if found=$(bare); then
    fail every_declaration_has_a_comment_above_it "$found"
else
    pass every_declaration_has_a_comment_above_it
fi

# dangling FILE…: prints the citations of a page of doc/design and a section, in the form
#     doc/design/files.md, "DLPack" design/files.md#dlpack
# whose section does not exist. The beginning of a title is enough.
# shellcheck disable=SC2016
dangling() {
    LC_ALL=C "${AWK:-awk}" -v folder="$FERRY_TEST_SRCDIR/doc/design/" '
        function slug(title) {
            title = tolower(title)
            gsub(/[^a-z0-9_ -]/, "", title)
            gsub(/ /, "-", title)
            return title
        }
        function has(page, title, line, found, whole) {
            whole = title ~ /^#/
            while (!found && (getline line <(folder page)) > 0)
                if (sub(/^## /, "", line))
                    found = whole ? "#" slug(line) == title : index(line, title) == 1
            close(folder page)
            return found
        }
        function look(cited, page) {
            while (match(text, /design\/[a-z-]+\.md(, "[^"]+"|#[a-z0-9_-]+)/)) {
                cited = substr(text, RSTART + 7, RLENGTH - 7)
                text = substr(text, RSTART + RLENGTH)
                page = cited
                sub(/\.md.*/, ".md", page)
                sub(/^[a-z-]+\.md(, )?/, "", cited)
                gsub(/"/, "", cited)
                if (!has(page, cited)) {
                    print name ": design/" page ": " cited
                    bad = 1
                }
            }
        }
        FNR == 1 { look(); text = ""; name = FILENAME }
        { sub(/^[ \t]*[*#>]?[ \t]+/, ""); text = text $0 " " }
        END { look(); exit !bad }' "$@"
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '/* doc/design/files.md,\n * "DLPack"; design/files.md#dlpack */\n' >"$scratch/good.c"
printf '/* doc/design/files.md,\n * "No such section" */\n' >"$scratch/title.c"
printf '[x](design/files.md#no-such-section)\n' >"$scratch/link.md"
printf '# doc/design/no-such-page.md, "DLPack"\n' >"$scratch/page.sh"
for found in title.c link.md page.sh; do
    check "a_dangling_citation_is_found_in_$found" dangling "$scratch/$found"
done
sed 's|(\([a-z-]*\.md#\)|(design/\1|' "$FERRY_TEST_SRCDIR/doc/design/README.md" >"$scratch/index.md"
cd "$FERRY_TEST_SRCDIR" || exit 1
# shellcheck disable=SC2046
if found=$(dangling "$scratch/good.c" "$scratch/index.md" $(files_done citations -name '*.[chk]' -o -name '*.md' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.mk' -o -name '*.[1-8]' | grep -v '^tests/scripts/check-docs.sh$')); then
    fail citations_of_the_design_find_their_sections "$found"
else
    pass citations_of_the_design_find_their_sections
fi

# The version in configure.ac equals all repetitions of it; a candidate's headers have the version
# of its release, and its Python package has the same version in Python's form.
versions_agree() {
    version=$(sed -n 's/^AC_INIT(\[ferry\], \[\(.*\)\])$/\1/p' configure.ac)
    plain=${version%%~*}
    [ -n "$plain" ] || { echo 'configure.ac has no version'; return 1; }
    {
        sed -n '1s/^ferry /NEWS /p' NEWS
        sed -n '1s/^ferry (\(.*\)-[^-]*) .*/debian\/changelog \1/p' debian/changelog
        sed -n 's/^VERSION = "\(.*\)"$/python\/ferry\/_version.py \1/p' python/ferry/_version.py
        awk '/^#define FERRY_VERSION_M|^#define FERRY_VERSION_P/ { v = v "." $3 } END { print "version.h", substr(v, 2) }' \
            include/ferry/version.h
        sed -n 's/^| the version, `FERRY_VERSION` | \([^ ]*\) .*/doc\/abi.md \1/p' doc/abi.md
        sed -n 's/.*ferry_caffe-\([0-9][^-]*\)-py3.*/python\/README.md \1/p' python/README.md
        for page in man/*.[357]; do
            echo "$page $(sed -n 's/^\.TH .*"ferry \([^"]*\)".*/\1/p' "$page")"
        done
    } | awk -v a="$version" -v b="$plain" -v python="$(echo "$version" | sed 's/~//')" \
        '$1 ~ /^python/ ? $2 != python : $2 != a && $2 != b { print; bad = 1 } END { exit bad || NR < 12 }'
}
check every_file_has_the_version_of_configure_ac versions_agree

# rules_agree MAN DOC SOURCE…: prints the rules of a plugin whose row in the table of
# writing-a-plugin.md differs from the manual page's text on `ferry check`, or from the rules that
# the sources of the validation report.
# shellcheck disable=SC2016
rules_agree() {
    LC_ALL=C "${AWK:-awk}" '
        function note(list, checked, validated, part, n, i, to) {
            n = split(list, part, /, /)
            for (i = 1; i <= n; i++) {
                to = split(part[i], ends, / to /)
                for (r = ends[1] + 0; r <= ends[to] + 0; r++) {
                    rows[r]++
                    doc[r] = checked " " validated
                }
            }
        }
        FNR == 1 { files++ }
        files == 1 && /^\.B [0-9]+\.$/ { rule = $2 + 0; rules++ }
        files == 1 && /^\\fIChecked:/ { checks[rule] = $2 ~ /^no[;.]?$/ ? "no" : "yes" }
        files == 2 && /^\| [0-9][0-9, to]*: .*\| (yes|no)[^|]*\| (yes|no)[^|]*\|$/ {
            n = split($0, cell, / *\| */)
            note(substr(cell[2], 1, index(cell[2], ":") - 1), substr(cell[3], 1, 3) == "yes" ? "yes" : "no",
                substr(cell[4], 1, 3) == "yes" ? "yes" : "no")
        }
        files > 2 {
            for (text = $0; match(text, /(ferry__broken|check_answer)\(d, [^"]*[0-9]+[^",]*,|rule [0-9]+:/);) {
                found = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                for (; match(found, /[0-9]+/); found = substr(found, RSTART + RLENGTH))
                    reports[substr(found, RSTART, RLENGTH) + 0] = 1
            }
        }
        END {
            for (r = 1; r <= rules; r++)
                if (rows[r] != 1 || doc[r] != checks[r] " " (reports[r] ? "yes" : "no")) {
                    print "rule " r ": " rows[r] + 0 " rows, " doc[r] "; should be " checks[r] " " \
                        (reports[r] ? "yes" : "no")
                    bad = 1
                }
            exit bad || rules < 71 || !reports[63]
        }' "$@"
}
guide=doc/writing-a-plugin.md
check the_guide_says_which_rules_are_checked rules_agree man/ferry-plugin.7 "$guide" core/validate/*.c
sed 's/^| 67, 68: /| 67: /; s/^\(| 69: .*\)| yes\([^|]*|\)$/\1| no\2/' "$guide" >"$scratch/guide.md"
if [ "$(rules_agree man/ferry-plugin.7 "$scratch/guide.md" core/validate/*.c | cut -d: -f1 | tr '\n' ' ')" = \
    'rule 68 rule 69 ' ]; then
    pass a_wrong_row_of_the_guide_is_found
else
    fail a_wrong_row_of_the_guide_is_found
fi

# rules_are_numbered MAN HEADER…: prints the rules of the manual page whose number, "[rule 12]",
# does not occur exactly once in the headers' comments, and the numbers without a rule.
# shellcheck disable=SC2016
rules_are_numbered() {
    LC_ALL=C "${AWK:-awk}" '
        FNR == 1 { files++ }
        files == 1 && /^\.B [0-9]+\.$/ { rules++ }
        files > 1 {
            for (text = $0; match(text, /\[rule[^]]*\]?/); text = substr(text, RSTART + RLENGTH)) {
                mark = substr(text, RSTART, RLENGTH)
                marks[mark ~ /^\[rule [0-9]+\]$/ ? substr(mark, 7) + 0 : mark]++
            }
        }
        END {
            for (r = 1; r <= rules; r++) {
                if (marks[r] != 1) {
                    print "rule " r ": " marks[r] + 0 " sentences of the headers"
                    bad = 1
                }
                delete marks[r]
            }
            for (mark in marks) {
                print "rule " mark ": not a rule of the page"
                bad = 1
            }
            exit bad || rules < 71
        }' "$@"
}
check each_rule_has_its_number_in_a_header rules_are_numbered man/ferry-plugin.7 include/ferry/*.h
# A number that is missing, a duplicate, a number without a rule, and one that cannot be parsed.
sed 's/\[rule 12\]//; s/\[rule 11\]/[rule 11] [rule 13]/; s/\[rule 22\]/[rule 22] [rule 99]/; s/\[rule 30\]/[rules 30]/' \
    include/ferry/plugin.h >"$scratch/plugin.h"
if [ "$(rules_are_numbered man/ferry-plugin.7 "$scratch/plugin.h" include/ferry/descriptor.h include/ferry/*_*.h |
    cut -d: -f1 | sort | tr '\n' ' ')" = 'rule 12 rule 13 rule 30 rule 99 rule [rules 30] ' ]; then
    pass a_wrong_number_in_a_header_is_found
else
    fail a_wrong_number_in_a_header_is_found
fi

# The numbers in the README's charts equal those in the measurements that it cites.
charts_are_current() {
    "${PYTHON:-python3}" doc/chart.py doc/measurements/2026-11-30-nets-beside-others.md | cmp - doc/beside-others.svg &&
        "${PYTHON:-python3}" doc/chart.py doc/measurements/2026-11-29-onnx-models.md | cmp - doc/beside-onnx.svg
}
if command -v "${PYTHON:-python3}" >/dev/null 2>&1; then
    check the_charts_show_the_measurements charts_are_current
else
    skip the_charts_show_the_measurements 'there is no Python'
fi

if command -v doxygen >/dev/null 2>&1; then
    check the_headers_become_pages_without_a_warning \
        make -s -C "$FERRY_TEST_BUILDDIR" doc DOC_FOLDER=doc/api-check
    rm -rf "$FERRY_TEST_BUILDDIR/doc/api-check"
else
    skip the_headers_become_pages_without_a_warning 'there is no doxygen (Debian: doxygen)'
fi

finish docs
