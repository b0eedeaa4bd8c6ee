# SPDX-License-Identifier: BSD-2-Clause
# Reads the rooms (LIST), the names of all files below TREE, and those files. Prints a line "!
# PATH:LINE: error" for each include that is not allowed, and "FROM TO PATH:LINE" for each other
# one, for circles.awk, in which a .c file and the header of its name count as one if it includes
# it.
#
#     awk -v tree=TREE -f rooms.awk LIST NAMES

function wrong(at, what) { print "! " at ": " what }

function folder(path) { return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "." }

function stem(path) { return substr(path, 1, length(path) - 2) }

# The name of a file in the search for circles.
function node(path) { return stem(path) in whole ? stem(path) : path }

# Parses a line of LIST.
function enter(    i) {
    if ($1 == "generated") {
        generated[$2] = $3
        return
    }
    if ($1 == "unread") {
        unread[$2] = 1
        return
    }
    if ($2 in place)
        wrong(FILENAME ":" FNR, $2 " stands there twice")
    place[$2] = ++rooms
    house[$2] = $1
    for (i = 3; i <= NF; i++) {
        if (!(($i ~ /\.h$/ ? folder($i) : $i) in place))
            wrong(FILENAME ":" FNR, $2 " sees " $i ", which does not stand before it")
        if ($i ~ /\.h$/)
            lent[$i] = 1
        also[$2] = also[$2] " " $i
        sees[$2, $i] = 1
    }
}

function may(from, to) {
    return from == to || house[to] == "installed" || ((from, to) in sees) ||
           (house[from] == house[to] && place[to] < place[from])
}

# The path without "." and "..".
function plain(path) {
    while (sub(/\/\.\//, "/", path))
        ;
    while (sub(/[^\/]+\/\.\.\//, "", path))
        ;
    return path
}

# The file of the tree that the name refers to; "" if there is none.
function meant(path, form, name,    i, n, list) {
    if (form == "<")
        return ("include/" name) in files ? "include/" name : name in files ? name : ""
    if (plain(folder(path) "/" name) in files)
        return plain(folder(path) "/" name)
    if (name in files)
        return name
    n = split(also[folder(path)], list, " ")
    for (i = 1; i <= n; i++)
        if ((list[i] "/" name) in files)
            return list[i] "/" name
    return ""
}

function look(path, form, name,    at, from, to, target) {
    at = path ":" at_line
    from = folder(path)
    target = meant(path, form, name)
    if (target == "") {
        if (form == "<")
            return
        if (!(name in generated))
            wrong(at, name ": no file of the tree, and not generated")
        else if (generated[name] != house[from])
            wrong(at, name ": generated for " generated[name])
        return
    }
    to = folder(target)
    if (!(to in place))
        wrong(at, target ": its folder is no room")
    else if ((path in lent) && house[to] != "installed" && !(target in lent))
        wrong(at, target ": " path " is for other houses, and includes installed headers only")
    else if (may(from, to) || ((from, target) in sees)) {
        if (target == stem(path) ".h")
            whole[stem(path)] = 1
        includer[++edges] = path
        included[edges] = target
        where[edges] = at
    }
    else if (house[from] == house[to])
        wrong(at, target ": goes up, from " from " to " to)
    else
        wrong(at, target ": " house[to] "'s own, which " house[from] " knows by installed headers")
}

function read(path,    line, form, name) {
    if (!(folder(path) in place)) {
        wrong(path ":1", "its folder is no room")
        return
    }
    at_line = 0
    while ((getline line < (tree "/" path)) > 0) {
        at_line++
        if (!match(line, /^[ \t]*#[ \t]*include[ \t]*["<]/))
            continue
        form = substr(line, RLENGTH, 1)
        name = substr(line, RLENGTH + 1)
        sub(/[">].*/, "", name)
        look(path, form, name)
    }
    close(tree "/" path)
}

NR == FNR {
    if (!/^#/ && NF)
        enter()
    next
}
{
    files[$0] = 1
    ordered[++n] = $0
}

END {
    for (i = 1; i <= n; i++)
        if (!(folder(ordered[i]) in unread))
            read(ordered[i])
    for (i = 1; i <= edges; i++)
        print node(includer[i]), node(included[i]), where[i]
}
