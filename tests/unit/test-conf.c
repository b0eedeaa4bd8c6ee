/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/conf/conf_file.h"
#include "core/base/env.h"
#include "core/runtime/runtime.h"
#include "core/base/text.h"
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- words ---------------------------------------------------------------------------------- */

static void sizes_accept_units_and_have_limits(void)
{
    static const struct {
        const char *text;
        int ok;
        uint64_t size;
    } table[] = {
        { "0", 1, 0 },
        { "4096", 1, 4096 },
        { "64KiB", 1, 65536 },
        { "512 MiB", 1, UINT64_C(512) << 20 },
        { "4gib", 1, UINT64_C(4) << 30 },
        { "1.5GiB", 1, UINT64_C(3) << 29 },
        { "2TiB", 1, UINT64_C(2) << 40 },
        { "16777215TiB", 1, UINT64_C(16777215) << 40 },
        { "18446744073709551615", 1, UINT64_MAX },
        { "16777216TiB", 0, 0 },
        { "18446744073709551616", 0, 0 },
        { "", 0, 0 },
        { "GiB", 0, 0 },
        { "-1", 0, 0 },
        { "4GB", 0, 0 },
        { "1.5", 0, 0 },
        { "1.GiB", 0, 0 },
        { "4 GiB x", 0, 0 },
        { "0x10", 0, 0 },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint64_t size = 0;
        int ok = ferry__text_size(table[i].text, &size);

        if (ok != table[i].ok || size != table[i].size)
            printf("\"%s\": %d, %llu\n", table[i].text, ok, (unsigned long long)size);
        CU_ASSERT_EQUAL(ok, table[i].ok);
        CU_ASSERT_EQUAL(size, table[i].size);
    }
}

static void suggestions_are_similar_names(void)
{
    static const char *const names[] = { "pool_limit", "budget", "library", "enabled" };

    CU_ASSERT_STRING_EQUAL(ferry__text_nearest("poollimit", names, 4), "pool_limit");
    CU_ASSERT_STRING_EQUAL(ferry__text_nearest("BUDGET", names, 4), "budget");
    CU_ASSERT_STRING_EQUAL(ferry__text_nearest("libarry", names, 4), "library");
    CU_ASSERT_PTR_NULL(ferry__text_nearest("colour", names, 4));
    CU_ASSERT_PTR_NULL(ferry__text_nearest("", names, 4));
}

static void backends_are_chosen_by_name_number_list_and_exclusion(void)
{
    struct ferry__choice choice;
    char why[128];

    CU_ASSERT_PTR_NULL(ferry__choice_parse("cuda", &choice, why));
    CU_ASSERT_EQUAL(choice.count, 1);
    CU_ASSERT_EQUAL(choice.items[0].index, FERRY__ANY_INDEX);
    CU_ASSERT_PTR_NULL(ferry__choice_parse(" opencl:1 ,\tcpu", &choice, why));
    CU_ASSERT_EQUAL(choice.count, 2);
    CU_ASSERT_STRING_EQUAL(choice.items[0].name, "opencl");
    CU_ASSERT_EQUAL(choice.items[0].index, 1);
    CU_ASSERT_STRING_EQUAL(choice.items[1].name, "cpu");
    CU_ASSERT(ferry__choice_allows(&choice, "cpu"));
    CU_ASSERT_FALSE(ferry__choice_allows(&choice, "cuda"));
    CU_ASSERT_PTR_NULL(ferry__choice_parse("^cuda,sim", &choice, why));
    CU_ASSERT(choice.all_but);
    CU_ASSERT(ferry__choice_allows(&choice, "cpu"));
    CU_ASSERT_FALSE(ferry__choice_allows(&choice, "sim"));
}

static void an_invalid_choice_is_reported_with_its_reason(void)
{
    static const char *const table[][2] = {
        { "", "a name is missing" },
        { "cuda,", "a name is missing" },
        { ",cuda", "a name is missing" },
        { "^", "a name is missing" },
        { "CUDA", "\"CUDA\" does not name a backend (as in cuda or cuda:1)" },
        { "cuda opencl", "\"cuda opencl\" does not name a backend (as in cuda or cuda:1)" },
        { "cuda,^cpu", "\"^cpu\" does not name a backend (as in cuda or cuda:1)" },
        { "cuda:", "\"cuda:\": a device's number follows the colon" },
        { "cuda:x", "\"cuda:x\": a device's number follows the colon" },
        { "cuda:-1", "\"cuda:-1\": a device's number follows the colon" },
        { "cuda:4294967295", "\"cuda:4294967295\": a device's number follows the colon" },
        { "^cuda:1", "^ excludes whole backends, not single devices" },
        { "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a",
          "more than 32 names" },
    };
    struct ferry__choice choice;
    char why[128];

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *error = ferry__choice_parse(table[i][0], &choice, why);

        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_STRING_EQUAL(error, table[i][1]);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct ferry__conf *parse(const char *text)
{
    struct ferry__conf *conf = ferry__conf_create();

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    if (ferry__conf_parse(conf, "f", text, strlen(text)) == 0)
        return conf;
    ferry__conf_destroy(conf);
    return NULL;
}

static void each_key_is_read_and_remembers_its_line(void)
{
    struct ferry__conf *conf = parse("\xef\xbb\xbf; a comment\n"
                                     "[ferry]\n"
                                     "  backend = cuda, cpu ; and why\r\n"
                                     "\n"
                                     "# another\n"
                                     "[plugin sim]\n"
                                     "\tlibrary = /opt/x/ferry_sim.so\n"
                                     "enabled= no\n"
                                     "pool_limit =4GiB\n"
                                     "budget : 1MiB\n"
                                     "validate = yes\n"
                                     "option.devices = 2\n"
                                     "option.devices = 3\n"
                                     "option.text = a = b [c]");
    const struct ferry__section *sim;

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_STRING_EQUAL(conf->backend.text, "cuda, cpu");
    CU_ASSERT_STRING_EQUAL(conf->backend.origin, "f:3");
    sim = ferry__conf_section(conf, "sim");
    CU_ASSERT_PTR_NOT_NULL_FATAL(sim);
    CU_ASSERT_STRING_EQUAL(sim->library.text, "/opt/x/ferry_sim.so");
    CU_ASSERT_STRING_EQUAL(sim->library.origin, "f:7");
    CU_ASSERT_FALSE(ferry__conf_enabled(sim));
    CU_ASSERT_EQUAL(ferry__conf_size(&sim->pool_limit, 7), UINT64_C(4) << 30);
    CU_ASSERT_EQUAL(ferry__conf_size(&sim->budget, 7), 1 << 20);
    CU_ASSERT_TRUE(ferry__conf_bool(&sim->validate, false));
    CU_ASSERT_PTR_NOT_NULL_FATAL(sim->options);
    CU_ASSERT_STRING_EQUAL(sim->options->key, "devices");
    CU_ASSERT_STRING_EQUAL(sim->options->value, "3");
    CU_ASSERT_STRING_EQUAL(sim->options->origin, "f:13");
    CU_ASSERT_STRING_EQUAL(sim->options->next->value, "a = b [c]");
    CU_ASSERT_PTR_NULL(sim->options->next->next);
    ferry__conf_destroy(conf);
}

static void an_empty_file_has_no_sections(void)
{
    struct ferry__conf *conf = parse("");

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_PTR_NULL(conf->sections);
    CU_ASSERT(ferry__conf_enabled(NULL));
    ferry__conf_destroy(conf);
}

static void a_line_that_cannot_be_parsed_is_an_error_with_its_number(void)
{
    static const char *const table[][2] = {
        { "backend = cuda\n", "f:1: backend precedes any [section]" },
        { "[ferry]\nnonsense\n", "f:2: neither [section] nor key = value" },
        { "[ferry]\n= cuda\n", "f:2: neither [section] nor key = value" },
        { "\n\n[ferry\n", "f:3: a section's ] is missing" },
        { "[ferry] x\n", "f:1: text after a section's ]" },
        { "[ferry]\nbackend = Cuda\n",
          "f:2: backend = Cuda: \"Cuda\" does not name a backend (as in cuda or cuda:1)" },
        { "[ferry]\nbackend =\n", "f:2: backend = : a name is missing" },
        { "[plugin]\n", "f:1: [plugin]: \"\" is not a plugin's name (as in [plugin cuda])" },
        { "[plugin A]\n", "f:1: [plugin A]: \"A\" is not a plugin's name (as in [plugin cuda])" },
        { "[plugin a]\nenabled = perhaps\n", "f:2: enabled = perhaps: neither yes nor no" },
        { "[plugin a]\npool_limit = lots\n",
          "f:2: pool_limit = lots: not a size (as in 4096, 512MiB, 4GiB)" },
        { "[plugin a]\nlibrary = sub/a.so\n",
          "f:2: library = sub/a.so: neither a bare file name nor an absolute path" },
        { "[plugin a]\nlibrary =\n", "f:2: library: a file's name is missing" },
        { "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n",
          "f:1: a section's name is too long" },
        { "[plugin a]\noption.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1\n",
          "f:2: a key is too long" },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ferry__conf *conf = parse(table[i][0]);

        CU_ASSERT_PTR_NULL(conf);
        CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ECONF);
        CU_ASSERT_STRING_EQUAL(ferry_last_error(), table[i][1]);
        ferry__conf_destroy(conf);
    }
}

static void a_nul_byte_is_an_error_with_its_line(void)
{
    struct ferry__conf *conf = ferry__conf_create();

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_EQUAL(ferry__conf_parse(conf, "f", "[ferry]\na\0b\n", 12), FERRY_ECONF);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "f:2: a NUL byte: this is not a text file");
    ferry__conf_destroy(conf);
}

static void unknown_keys_and_sections_are_warnings_with_the_nearest_name(void)
{
    struct ferry__conf *conf;

    fakes_log();
    conf = parse("[ferry]\nbackends = cuda\n[plugin a]\nenable = yes\ncolour = red\n"
                 "[plugni b]\nx = 1\n[validate]\nenable = yes\n[validat]\n");
    CU_ASSERT_PTR_NOT_NULL(conf);
    CU_ASSERT_STRING_EQUAL(fakes_logged(),
                           "warn: f:2: key \"backends\" is not known; did you mean \"backend\"?\n"
                           "warn: f:4: key \"enable\" is not known; did you mean \"enabled\"?\n"
                           "warn: f:5: key \"colour\" is not known\n"
                           "warn: f:6: section \"plugni\" is not known; did you mean "
                           "\"plugin\"?\n"
                           "warn: f:9: key \"enable\" is not known; did you mean \"enabled\"?\n"
                           "warn: f:10: section \"validat\" is not known; did you mean "
                           "\"validate\"?\n");
    ferry__conf_destroy(conf);
}

static void the_section_validate_has_a_boolean(void)
{
    struct ferry__conf *conf = parse("[validate]\nenabled = yes\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT(ferry__conf_bool(&conf->validate, false));
    CU_ASSERT_STRING_EQUAL(conf->validate.origin, "f:2");
    ferry__conf_destroy(conf);
    CU_ASSERT_PTR_NULL(parse("[validate]\nenabled = maybe\n"));
    CU_ASSERT(strstr(ferry_last_error(), "f:2: enabled = maybe") != NULL);
}

static void a_long_value_is_not_truncated(void)
{
    char text[4000], path[3000] = "/";
    struct ferry__conf *conf;

    memset(path + 1, 'x', 2500);
    snprintf(text, sizeof(text), "[plugin a]\nlibrary = %s ; a comment\nenabled = no\n", path);
    conf = parse(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_STRING_EQUAL(conf->sections->library.text, path);
    CU_ASSERT_STRING_EQUAL(conf->sections->enabled.origin, "f:3");
    ferry__conf_destroy(conf);
}

static void sections_are_sorted_and_may_be_repeated(void)
{
    struct ferry__conf *conf = parse("[plugin b]\nenabled = no\n[plugin a]\n[plugin b]\n"
                                     "budget = 1\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_STRING_EQUAL(conf->sections->name, "a");
    CU_ASSERT_STRING_EQUAL(conf->sections->next->name, "b");
    CU_ASSERT_STRING_EQUAL(conf->sections->next->origin, "f:1");
    CU_ASSERT_STRING_EQUAL(conf->sections->next->budget.text, "1");
    CU_ASSERT_PTR_NULL(conf->sections->next->next);
    ferry__conf_destroy(conf);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int load(const char *path, struct ferry__conf **out)
{
    *out = NULL;
    return ferry__conf_load(path, out);
}

static void assert_no_file(const char *path, const char *reason)
{
    struct ferry__conf *conf;
    char message[4200];

    snprintf(message, sizeof(message), "%s: %s", path, reason);
    setenv("FERRY_CONF", path, 1);
    CU_ASSERT_EQUAL(load(NULL, &conf), FERRY_ECONF);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), message);
    CU_ASSERT_PTR_NULL(conf);
    unsetenv("FERRY_CONF");
}

static void a_named_configuration_file_must_be_a_readable_text(void)
{
    const char *folder = fakes_folder();
    const char *fifo = fakes_path(folder, "fifo");
    const char *big = fakes_write(folder, "big", "");

    assert_no_file(fakes_path(folder, "missing"), "No such file or directory");
    assert_no_file(folder, "a folder, not a file");
    CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
    assert_no_file(fifo, "not a file");
    CU_ASSERT_EQUAL_FATAL(truncate(big, 3 << 20), 0);
    assert_no_file(big, "longer than 1 MiB: this is not a configuration file");
}

static void a_file_that_cannot_be_read_is_an_error(void)
{
    const char *path = fakes_write(fakes_folder(), "secret", "");

    if (geteuid() == 0) {
        ferry_test_skip("root can read everything");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0), 0);
    assert_no_file(path, "Permission denied");
}

static void the_file_of_the_api_precedes_that_of_the_variable_and_the_defaults(void)
{
    const char *folder = fakes_folder();
    const char *one = fakes_write(folder, "one", "[ferry]\nbackend = one\n");
    const char *two = fakes_write(folder, "two", "[ferry]\nbackend = two\n");
    struct ferry__conf *conf;

    setenv("FERRY_CONF", one, 1);
    CU_ASSERT_EQUAL_FATAL(load(NULL, &conf), 0);
    CU_ASSERT_STRING_EQUAL(conf->backend.text, "one");
    ferry__conf_destroy(conf);
    CU_ASSERT_EQUAL_FATAL(load(two, &conf), 0);
    CU_ASSERT_STRING_EQUAL(conf->backend.text, "two");
    ferry__conf_destroy(conf);
    unsetenv("FERRY_CONF");
}

static void the_users_file_is_optional_and_read_from_the_home_folder(void)
{
    const char *home = fakes_folder();
    const char *folder = fakes_path(home, ".config");
    struct ferry__conf *conf;

    setenv("HOME", home, 1);
    unsetenv("FERRY_CONF");
    CU_ASSERT_EQUAL_FATAL(load(NULL, &conf), 0);
    ferry__conf_destroy(conf);
    mkdir(folder, 0755);
    folder = fakes_path(folder, "ferry");
    mkdir(folder, 0755);
    fakes_write(folder, "plugins.conf", "[ferry]\nbackend = mine\n");
    CU_ASSERT_EQUAL_FATAL(load(NULL, &conf), 0);
    CU_ASSERT_STRING_EQUAL(conf->backend.text, "mine");
    ferry__conf_destroy(conf);
}

static void a_later_file_overrides_single_keys(void)
{
    static const char system[] = "[plugin a]\nbudget = 1\npool_limit = 2\noption.x = old\n";
    static const char user[] = "[plugin a]\nbudget = 3\noption.x = new\n";
    struct ferry__conf *conf = ferry__conf_create();

    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    CU_ASSERT_EQUAL(ferry__conf_parse(conf, "system", system, strlen(system)), 0);
    CU_ASSERT_EQUAL(ferry__conf_parse(conf, "user", user, strlen(user)), 0);
    CU_ASSERT_STRING_EQUAL(conf->sections->budget.origin, "user:2");
    CU_ASSERT_STRING_EQUAL(conf->sections->pool_limit.origin, "system:3");
    CU_ASSERT_STRING_EQUAL(conf->sections->options->value, "new");
    CU_ASSERT_STRING_EQUAL(conf->sections->options->origin, "user:3");
    ferry__conf_destroy(conf);
}

/* ---- the environment ------------------------------------------------------------------------ */

static void unknown_variables_are_warnings_with_the_nearest_name(void)
{
    fakes_log();
    setenv("FERRY_BAKCEND", "cpu", 1);
    setenv("FERRY_ZZZZZZZZ", "", 1);
    ferry__env_check();
    unsetenv("FERRY_BAKCEND");
    unsetenv("FERRY_ZZZZZZZZ");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(fakes_logged(),
               "warn: FERRY_BAKCEND is not a variable of ferry; did you mean FERRY_BACKEND?\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(fakes_logged(), "warn: FERRY_ZZZZZZZZ is not a variable of ferry\n"));
    CU_ASSERT_FALSE(ferry__env_is_unknown("FERRY_BACKEND=x"));
    CU_ASSERT_FALSE(ferry__env_is_unknown("FERRY_TEST_ANYTHING=x"));
    CU_ASSERT_FALSE(ferry__env_is_unknown("FERRYMAN=x"));
    CU_ASSERT(ferry__env_is_unknown("FERRY_BACKENDS=x"));
    CU_ASSERT(ferry__env_is_unknown("FERRY_"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(sizes_accept_units_and_have_limits),
    FERRY_TEST(suggestions_are_similar_names),
    FERRY_TEST(backends_are_chosen_by_name_number_list_and_exclusion),
    FERRY_TEST(an_invalid_choice_is_reported_with_its_reason),
    FERRY_TEST(each_key_is_read_and_remembers_its_line),
    FERRY_TEST(an_empty_file_has_no_sections),
    FERRY_TEST(a_line_that_cannot_be_parsed_is_an_error_with_its_number),
    FERRY_TEST(a_nul_byte_is_an_error_with_its_line),
    FERRY_TEST(unknown_keys_and_sections_are_warnings_with_the_nearest_name),
    FERRY_TEST(the_section_validate_has_a_boolean),
    FERRY_TEST(a_long_value_is_not_truncated),
    FERRY_TEST(sections_are_sorted_and_may_be_repeated),
    FERRY_TEST(a_named_configuration_file_must_be_a_readable_text),
    FERRY_TEST(a_file_that_cannot_be_read_is_an_error),
    FERRY_TEST(the_file_of_the_api_precedes_that_of_the_variable_and_the_defaults),
    FERRY_TEST(the_users_file_is_optional_and_read_from_the_home_folder),
    FERRY_TEST(a_later_file_overrides_single_keys),
    FERRY_TEST(unknown_variables_are_warnings_with_the_nearest_name),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "conf", cases, FERRY_TEST_COUNT(cases));
}
