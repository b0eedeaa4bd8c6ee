# SPDX-License-Identifier: BSD-2-Clause
# Reads lines "FROM TO WHERE" and prints a line "! WHERE: a circle: A, B, A" for each circle that
# they form; lines that begin with ! are copied.

function visit(node,    i) {
    state[node] = 1
    way[++depth] = node
    for (i = 1; i <= count[node]; i++) {
        if (state[next_of[node, i]] == 1)
            say(next_of[node, i], at[node, i])
        else if (!state[next_of[node, i]])
            visit(next_of[node, i])
    }
    depth--
    state[node] = 2
}

function say(first, where,    i, text) {
    for (i = depth; way[i] != first; i--)
        text = ", " way[i] text
    print "! " where ": a circle: " first text ", " first
}

/^!/ { print; next }
$1 != $2 && !(($1, $2) in known) {
    known[$1, $2] = 1
    if (!($1 in count))
        nodes[++n] = $1
    next_of[$1, ++count[$1]] = $2
    at[$1, count[$1]] = $3
}

END {
    for (i = 1; i <= n; i++)
        if (!state[nodes[i]])
            visit(nodes[i])
}
