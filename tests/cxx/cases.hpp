/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of cases: without an argument they print the names of their cases, with a name they run
 * that case.
 */
#ifndef CASES_HPP
#define CASES_HPP

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>

namespace
{

int failures;

void expect(bool holds, const char *what, int line)
{
    if (holds)
        return;
    std::printf("line %d: %s\n", line, what);
    failures++;
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

/*
 * Checks that the statement throws an exception `e` of that type, with a text and the wanted `code`
 * of `e`.
 */
#define THROWS_AS(type, code, wanted, statement)                        \
    do {                                                                \
        int code_seen = 0;                                              \
        try {                                                           \
            statement;                                                  \
        } catch (const type &e) {                                       \
            code_seen = code;                                           \
            EXPECT(std::strlen(e.what()) > 0);                          \
        }                                                               \
        expect(code_seen == (wanted), "throws: " #statement, __LINE__); \
    } while (0)

struct Case {
    const char *name;
    void (*run)();
};

/* The status of main. */
template <std::size_t count> int run_cases(const Case (&cases)[count], int argc, char **argv)
{
    for (const Case &one : cases) {
        if (argc < 2) {
            std::puts(one.name);
        } else if (std::strcmp(one.name, argv[1]) == 0) {
            try {
                one.run();
            } catch (const std::exception &e) {
                std::printf("%s: thrown: %s\n", one.name, e.what());
                failures++;
            }
            return failures != 0;
        }
    }
    return argc > 1;
}

} // namespace

#endif
