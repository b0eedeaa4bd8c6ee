# SPDX-License-Identifier: BSD-2-Clause
# Prints "FILE:LINE: sentence: advice" for each sentence of the files that matches one of the
# PATTERNS: of comments and strings in C, of comments in scripts and makefiles, of all text in documents.
#
#     awk -v patterns=PATTERNS -f prose.awk FILE…

BEGIN {
    FS = "\t"
    while ((getline line <patterns) > 0)
        if (line !~ /^#/ && split(line, part, "\t") == 2) {
            pattern[++count] = part[1]
            advice[count] = part[2]
        }
    close(patterns)
}

function look(text, i) {
    gsub(/^[ \t>*-]+|[ \t]+$/, "", text)
    gsub(/there (is|are|was|were|be) (no|none)|no (longer|more)|told apart/, "there-no", text)
    for (i = 1; i <= count; i++)
        if (text ~ pattern[i])
            print name ":" begun ": \"" text "\": " advice[i]
}

# A paragraph is complete: its sentences.
function flush(i, n, sentence) {
    gsub(/`[^`]*`/, "X", paragraph)
    gsub(/\\[a-z"]|%[-.0-9*]*[a-zA-Z]/, " ", paragraph)
    n = split(tolower(paragraph), sentence, /[.;:!] +|[.;:!]$|\( */)
    for (i = 1; i <= n; i++)
        look(sentence[i])
    paragraph = ""
}

function add(text) {
    if (text ~ /^[ \t]*$/) {
        flush()
        return
    }
    if (paragraph == "")
        begun = FNR
    paragraph = paragraph " " text
}

# Takes comments and strings out of a line of C.
function read_c(text, at, end) {
    while (text != "") {
        if (comment) {
            end = index(text, "*/")
            at = end ? substr(text, 1, end - 1) : text
            sub(/^[ \t]*\*+ ?/, "", at)
            add(at)
            if (!end)
                return
            comment = 0
            flush()
            text = substr(text, end + 2)
        } else if (!match(text, /\/\*+|"|'.'/)) {
            return
        } else if (substr(text, RSTART, 1) == "\"") {
            text = substr(text, RSTART + 1)
            if (!match(text, /^([^"\\]|\\.)*/))
                return
            flush()
            if (before !~ /#include/)
                add(substr(text, 1, RLENGTH))
            flush()
            text = substr(text, RLENGTH + 2)
        } else if (substr(text, RSTART, 1) == "'") {
            text = substr(text, RSTART + RLENGTH)
        } else {
            flush()
            comment = 1
            text = substr(text, RSTART + RLENGTH)
        }
    }
}

FNR == 1 {
    flush()
    name = FILENAME
    comment = code = 0
    is_c = name ~ /\.([chk]|hpp|cpp|inc)$/
    is_document = name ~ /(\.md|\.[1-8]|NEWS)$/
}

is_c {
    before = $0
    read_c($0)
    next
}

is_document {
    if (/^```/)
        code = !code
    if (code || /^    / || /^\|/)
        add("")
    else if (/^[.']/)
        flush()
    else if (/^ *[-*] |^#/) {
        flush()
        add($0)
    } else
        add($0)
    next
}

/^[ \t]*#/ && !/^#include/ {
    sub(/^[ \t]*#+!?/, "")
    add($0)
    next
}

{ flush() }

END { flush() }
