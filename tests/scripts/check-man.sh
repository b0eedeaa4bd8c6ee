#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each command has a manual page, which man/local.mk lists and which describes each option of its
# --help. ferry(1) lists each command. groff prints no warning for the pages.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${AWK:=awk}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

man=$FERRY_TEST_SRCDIR/man
table=$FERRY_TEST_SRCDIR/tools/ferry/commands.c
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# pages TABLE: writes the pages of all its commands, and ferry(1), to the scratch folder.
pages() {
    "$AWK" -v page=-names -f "$man/pages.awk" "$1" >"$scratch/names" && [ -s "$scratch/names" ] || return 1
    while read -r name; do
        "$AWK" -v page="$name" -v version=0 -f "$man/pages.awk" "$1" "$man/ferry-$name.man" \
            >"$scratch/ferry-$name.1" || return 1
    done <"$scratch/names"
    "$AWK" -v page= -v version=0 -f "$man/pages.awk" "$1" "$man/ferry.1.in" >"$scratch/ferry.1"
}

# listed: the pages of man/local.mk are those of the commands.
listed() {
    sed -n 's,^[[:space:]]*%D%/ferry-\(.*\)\.1 *\\*$,\1,p' "$man/local.mk" | sort >"$scratch/listed"
    sort "$scratch/names" | diff - "$scratch/listed"
}

# lacking TABLE: "COMMAND OPTION" for each option in a command's row that its page lacks.
# shellcheck disable=SC2016
lacking() {
    "$AWK" -v folder="$scratch" '
        # Whether the page has the option, and not only a longer one.
        function has(option, rest, at) {
            gsub(/-/, "\\-", option)
            for (rest = page; (at = index(rest, option));) {
                rest = substr(rest, at + length(option))
                if (rest !~ /^([a-z0-9]|\\-)/)
                    return 1
            }
            return 0
        }
        /^    { "/ {
            split($0, part, "\"")
            name = part[2]
            page = ""
            while ((getline line <(folder "/ferry-" name ".1")) > 0)
                page = page line "\n"
        }
        name {
            for (text = $0; match(text, /--[a-z][a-z0-9-]*/); text = substr(text, RSTART + RLENGTH))
                if (!has(substr(text, RSTART, RLENGTH)))
                    print name, substr(text, RSTART, RLENGTH)
        }' "$1" | sort -u
}

complete() {
    found=$(lacking "$table")
    printf '%s' "$found"
    [ -z "$found" ]
}

# main_has_all: ferry(1) names each page.
main_has_all() {
    while read -r name; do
        grep -q "^.BR ferry.*$(printf '%s' "$name" | sed 's/-/\\\\-/g') (1)" "$scratch/ferry.1" || echo "$name"
    done <"$scratch/names" >"$scratch/unnamed"
    cat "$scratch/unnamed"
    [ ! -s "$scratch/unnamed" ]
}

# groups_lacking TABLE PAGE: the groups of `ferry check` that the page does not describe after "CHECKING".
groups_lacking() {
    sed -n 's/^    { "\([a-z-]*\)", group_.*/\1/p' "$1" >"$scratch/groups"
    [ -s "$scratch/groups" ] || echo 'no groups'
    sed -n '/^\.SH CHECKING/,/^\.SH VERSIONS/s/^\.BR\{0,1\} //p' "$2" | tr -d '\\" ' | tr ',' '\n' >"$scratch/described"
    grep -v -x -F -f "$scratch/described" "$scratch/groups"
}

every_group() {
    found=$(groups_lacking "$FERRY_TEST_SRCDIR/tests/conform/run.c" "$man/ferry-plugin.7")
    printf '%s' "$found"
    [ -z "$found" ]
}

# clean FILE…: groff has no warning.
clean() {
    for file in "$@"; do
        LC_ALL=C.UTF-8 groff -Kutf8 -man -Tutf8 -ww -z "$file" 2>&1 | sed "s,^,$(basename "$file"): ,"
    done >"$scratch/warnings"
    cat "$scratch/warnings"
    [ ! -s "$scratch/warnings" ]
}

check each_command_has_a_page pages "$table"
check the_list_of_pages_is_complete listed
check each_page_has_the_options_of_help complete
check ferry_1_has_every_command main_has_all
check ferry_plugin_7_has_every_group_of_checks every_group
sed '/^\.B profile$/d' "$man/ferry-plugin.7" >"$scratch/groups.7"
case $(groups_lacking "$FERRY_TEST_SRCDIR/tests/conform/run.c" "$scratch/groups.7") in
profile) pass a_group_that_the_page_lacks_is_found ;;
*) fail a_group_that_the_page_lacks_is_found ;;
esac
sed -i 's/^.*\\-\\-shuffle.*$//' "$scratch/ferry-dataset.1"
case $(lacking "$table") in
'dataset --shuffle') pass a_page_that_lacks_an_option_is_found ;;
*) fail a_page_that_lacks_an_option_is_found "$(lacking "$table")" ;;
esac
if command -v groff >/dev/null; then
    pages "$table"
    check the_pages_have_no_groff_warning clean "$scratch"/*.1 "$man"/*.[357]
    printf '.TH X 1\n.SH NAME\nx \\- y\n.nosuch\n' >"$scratch/bad.1"
    if clean "$scratch/bad.1" >/dev/null; then
        fail an_unknown_request_is_found
    else
        pass an_unknown_request_is_found
    fi
else
    skip the_pages_have_no_groff_warning 'there is no groff'
fi
finish man
