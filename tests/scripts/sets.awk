# SPDX-License-Identifier: BSD-2-Clause
# Reads lines "FROM TO …" and prints a line "FILE FILE …" for each set of files that all reach each other
# (a strongly connected component of more than one file), the files in order of their names.

function visit(node,    i, to, low) {
    low = least[node] = number[node] = ++visited
    stack[++depth] = node
    on[node] = 1
    for (i = 1; i <= count[node]; i++) {
        to = next_of[node, i]
        if (!(to in number))
            visit(to)
        if (on[to] && least[to] < low)
            low = least[to]
    }
    least[node] = low
    if (low == number[node])
        pop(node)
}

function pop(node,    n, i, k, at, names, text) {
    do {
        at = stack[depth--]
        on[at] = 0
        for (i = ++n; i > 1 && names[i - 1] > at; i--)
            names[i] = names[i - 1]
        names[i] = at
    } while (at != node)
    for (k = 1; k <= n; k++)
        text = text (k > 1 ? " " : "") names[k]
    if (n > 1)
        print text
}

$1 != $2 && !(($1, $2) in known) {
    known[$1, $2] = 1
    if (!($1 in count))
        nodes[++n] = $1
    next_of[$1, ++count[$1]] = $2
}

END {
    for (i = 1; i <= n; i++)
        if (!(nodes[i] in number))
            visit(nodes[i])
}
