# SPDX-License-Identifier: BSD-2-Clause
# For Doxygen, which sees only comments of its own kind: marks those of a header.
#   type member; /* what it is */    describes the member in front of it
#   #define B, right below #define A    belongs to the group that the comment above A describes
function mark_member(line)
{
    if (line !~ /^ *\*/ && line !~ /^#/ && line ~ /[;,A-Za-z0-9_)}] +\/\* .*\*\/ *$/)
        sub(/\/\* /, "/**< ", line)
    return line
}

/^#define FERRY_/ {
    name = $2
    sub(/\(.*/, "", name)
    if (described)
        group = name
    else if (group != "")
        print "/** @copydoc " group " */"
    described = 0
    continued = /\\$/
    print
    next
}

{
    described = /^ \*\/$/ || /^\/\*\* .*\*\/$/
    if (!continued && !described)
        group = ""
    continued = continued && /\\$/
    print mark_member($0)
}
