/* The settings of all daemons: order of the sources, providers.d, and what depends on what. */
#include "common/config/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/folder.h"

static struct folder folder;

static int setup(void **state)
{
    (void)state;
    unsetenv("ALDABA_CONFIG");
    unsetenv("ALDABA__TRACKER__ID");
    folder_make(&folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

/* Load and expect these errors, with the folder's path taken out of them. */
static struct ald_settings load(const char *path, const char *flag, const char *want)
{
    struct ald_errors errors;
    ald_errors_init(&errors);
    struct ald_settings settings;
    enum ald_rc rc = ald_settings_load(path, &flag, flag == NULL ? 0 : 1, &errors, &settings);
    struct ald_buf said;
    ald_buf_init(&said, 65536);
    const char *at = ald_errors_text(&errors);
    for (const char *hit = strstr(at, folder.path); hit != NULL; hit = strstr(at, folder.path)) {
        ald_buf_put(&said, at, (size_t)(hit - at));
        at = hit + strlen(folder.path) + 1;
    }
    ald_buf_put_str(&said, at);
    assert_string_equal(ald_buf_str(&said), want);
    assert_int_equal(rc, want[0] == '\0' ? ALD_OK : ALD_INVALID);
    ald_buf_free(&said);
    ald_errors_free(&errors);
    return settings;
}

static void test_example(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml", "tracker: {id: 3, lease: 30s}\nstore: {data: /srv/ald}\n");
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), "tracker.id=4", "");
    assert_int_equal(settings.tracker.id, 4);
    assert_int_equal(settings.tracker.lease_ms, 30000);
    assert_int_equal(settings.tracker.max_open, 2000000);
    assert_string_equal(settings.gateway.spool, "/srv/ald/spool");
    assert_string_equal(settings.gateway.public, "127.0.0.1:7780");
    assert_null(settings.providers);
    ald_settings_free(&settings);
}

static void test_a_gateway_with_a_name_has_a_spool_of_its_own(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml", "store: {data: /srv/ald}\n");
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), "gateway.name=eu-2", "");
    assert_string_equal(settings.gateway.spool, "/srv/ald/spool-eu-2");
    ald_settings_free(&settings);
    (void)load(folder_path(&folder, "a.yaml"), "gateway.name=../2",
               "a.yaml: gateway.name: '../2' is no name: letters, digits, '-' and '_' make one.\n");
}

static void test_order(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml", "tracker: {id: 3}\n");
    folder_write(&folder, "b.yaml", "tracker: {id: 5}\n");
    setenv("ALDABA_CONFIG", folder_path(&folder, "b.yaml"), 1);
    struct ald_settings settings = load(NULL, NULL, "");
    assert_int_equal(settings.tracker.id, 5);
    ald_settings_free(&settings);
    settings = load(folder_path(&folder, "a.yaml"), NULL, "");
    assert_int_equal(settings.tracker.id, 3);
    ald_settings_free(&settings);
    setenv("ALDABA__TRACKER__ID", "6", 1);
    settings = load(folder_path(&folder, "a.yaml"), NULL, "");
    assert_int_equal(settings.tracker.id, 6);
    ald_settings_free(&settings);
    settings = load(folder_path(&folder, "a.yaml"), "tracker.id=7", "");
    assert_int_equal(settings.tracker.id, 7);
    ald_settings_free(&settings);
}

static void test_missing_file(void **state)
{
    (void)state;
    (void)load(folder_path(&folder, "none.yaml"), NULL, "none.yaml: There is no such file.\n");
    setenv("ALDABA_CONFIG", folder_path(&folder, "none.yaml"), 1);
    (void)load(NULL, NULL, "none.yaml: There is no such file.\n");
}

/* It is most likely half written: nobody means all defaults by that. */
static void test_empty_file(void **state)
{
    (void)state;
    static const char *const nothing[] = {"", "\n", "# gone\n", "null\n", "~"};
    for (size_t i = 0; i < ALD_COUNT(nothing); i++) {
        folder_write(&folder, "a.yaml", nothing[i]);
        (void)load(folder_path(&folder, "a.yaml"), NULL,
                   "a.yaml: The file is empty: it may be half written. Settings that say nothing "
                   "are written as {}.\n");
    }
    folder_write(&folder, "a.yaml", "{}\n");
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), NULL, "");
    ald_settings_free(&settings);
}

static void test_providers(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml", "providers:\n  one: {family: inphp, poll: none}\n");
    folder_write(&folder, "providers.d/20.yaml", "profile: two\nfamily: inphp\npoll: none\n");
    folder_write(&folder, "providers.d/10.yaml", "profile: three\nx: &a 1\ny: *a\n");
    folder_write(&folder, "providers.d/.hidden.yaml", "[");
    folder_write(&folder, "providers.d/notes.txt", "[");
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), NULL, "");
    assert_int_equal(settings.providers->count, 3);
    assert_string_equal(settings.providers->first->key, "one");
    assert_string_equal(settings.providers->first->next->key, "three");
    const struct ald_node *two = ald_node_find(settings.providers, "two");
    assert_string_equal(ald_node_find(two, "family")->text, "inphp");
    assert_int_equal(ald_node_find(two, "family")->line, 2);
    ald_settings_free(&settings);

    folder_write(&folder, "providers.d/10.yaml", "profile: three\nfamily: inphp\npoll: none\n");
    folder_write(&folder, "providers.d/30.yaml", "profile: one\n");
    folder_write(&folder, "providers.d/40.yaml", "family: inphp\n");
    (void)load(folder_path(&folder, "a.yaml"), NULL,
               "providers.d/30.yaml:1:1: The profile one is already given in a.yaml on line 2.\n"
               "providers.d/40.yaml:1:1: A file of providers.d must name its profile: `profile: "
               "NAME`.\n");
}

static void test_all_errors(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml",
                 "tracker: &t {lease: 30}\ndlq: *t\ngatway: 1\nproviders:\n"
                 "  one: {x: &x 1, family: inph, y: *x}\n");
    (void)load(folder_path(&folder, "a.yaml"), NULL,
               "a.yaml:2:6: An alias (*t) may stand in the description of a provider only: write "
               "the value again.\n"
               "a.yaml:1:14: tracker.lease is \"30\"; it must be a time with its unit, such as "
               "250ms, 30s, 5m, 24h or 30d.\n"
               "a.yaml:1:14: There is no setting dlq.lease.\n"
               "a.yaml:3:1: There is no setting gatway; did you mean gateway?\n"
               "a.yaml:5:9: There is no setting x.\n"
               "a.yaml:5:18: family is \"inph\"; it must be one of: inphp.\n"
               "a.yaml:5:32: There is no setting y.\n");
    folder_write(&folder, "a.yaml",
                 "gatway: {threads: 1}\ngateway: {threads: 2000}\ntracker: {lease: 30}\n");
    (void)load(folder_path(&folder, "a.yaml"), "dlq.tik=1s",
               "a.yaml:1:1: There is no setting gatway; did you mean gateway?\n"
               "a.yaml:2:11: gateway.threads is \"2000\"; it must be from 1 to 1024.\n"
               "a.yaml:3:11: tracker.lease is \"30\"; it must be a time with its unit, such as "
               "250ms, 30s, 5m, 24h or 30d.\n"
               "command line: There is no setting dlq.tik; did you mean dlq.tick?\n");
}

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool good;
    } cases[] = {{"127.0.0.1:7780", true},   {"0.0.0.0:0", true},        {"127.0.0.1:65535", true},
                 {"127.0.0.1:65536", false}, {"127.0.0.1:99999", false}, {"127.0.0.1", false},
                 {"127.0.0.1:", false},      {":7780", false},           {"localhost:7780", false},
                 {"1.2.3:80", false},        {"1.2.3.256:80", false},    {"[::1]:80", false}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char want[256] = "";
        char line[64];
        (void)snprintf(line, sizeof line, "gateway: {public: \"%s\"}\n", cases[i].value);
        if (!cases[i].good)
            (void)snprintf(
                want, sizeof want,
                "a.yaml:1:11: gateway.public is \"%s\"; it must be an IPv4 address and a "
                "port up to 65535, such as 127.0.0.1:7780.\n",
                cases[i].value);
        folder_write(&folder, "a.yaml", line);
        struct ald_settings settings = load(folder_path(&folder, "a.yaml"), NULL, want);
        ald_settings_free(&settings);
    }
}

/* Settings, lists of addresses, and providers: all that is wrong comes at once. */
static void test_errors_of_providers_come_along(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml",
                 "gateway:\n  trusted_proxies: [1.2.3, 10.0.0.0/8]\n"
                 "providers:\n  p: {family: none, poll: none}\n");
    (void)load(folder_path(&folder, "a.yaml"), "gateway.trusted_proxies=10.0.0.1/8",
               "a.yaml:2:21: A value of gateway.trusted_proxies is \"1.2.3\"; it must be an "
               "address, or a block of them such as 10.0.0.0/8.\n"
               "command line: gateway.trusted_proxies: A value of gateway.trusted_proxies is "
               "\"10.0.0.1/8\"; it must be an address, or a block of them such as 10.0.0.0/8.\n"
               "a.yaml:4:7: family is \"none\"; it must be one of: inphp.\n");
}

static void test_dependencies(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml", "gateway: {ack_min: 2s, max_body: 65MiB, api_waiters: 30}\n");
    (void)load(folder_path(&folder, "a.yaml"), NULL,
               "a.yaml:1:11: gateway.ack_min must not be longer than gateway.ack_max.\n"
               "a.yaml:1:24: gateway.max_body must not be larger than bus.max_item.\n"
               "a.yaml:1:24: gateway.max_body must not be larger than gateway.intake_memory.\n"
               "a.yaml:1:41: gateway.api_waiters must not be more than gateway.api_threads.\n");
    folder_write(&folder, "a.yaml", "gateway: {ack_max: 100ms}\n"); /* the other is the default */
    (void)load(folder_path(&folder, "a.yaml"), NULL,
               "a.yaml:1:11: gateway.ack_min must not be longer than gateway.ack_max.\n");
    folder_write(&folder, "a.yaml", "{}\n");
    (void)load(folder_path(&folder, "a.yaml"), "gateway.ack_max=100ms",
               "a.yaml: gateway.ack_min must not be longer than gateway.ack_max.\n");
}

static void test_print_reads_back(void **state)
{
    (void)state;
    folder_write(&folder, "a.yaml",
                 "store: {data: \"/a b/$$c\"}\ngateway: {trusted_proxies: "
                 "[10.0.0.1, 10.0.0.2]}\n");
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), "log.level=debug", "");
    struct ald_buf text;
    ald_buf_init(&text, 65536);
    ald_settings_print(&settings, &text);
    folder_write(&folder, "b.yaml", ald_buf_str(&text));
    struct ald_settings again = load(folder_path(&folder, "b.yaml"), NULL, "");
    assert_string_equal(again.store.data, "/a b/$c");
    assert_string_equal(again.log.level, "debug");
    memset(again.file, 0, sizeof again.file);
    memset(settings.file, 0, sizeof settings.file);
    for (size_t i = 0; i < ald_settings_table()->count; i++) {
        const struct ald_setting *row = &ald_settings_table()->rows[i];
        if (memcmp((char *)&again + row->offset, (char *)&settings + row->offset, row->size) != 0)
            fail_msg("%s does not read back", row->key);
    }
    ald_buf_free(&text);
    ald_settings_free(&settings);
    ald_settings_free(&again);
}

/* Nobody may read a secret off what is printed, or off a complaint. */
static void test_what_is_not_shown(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } urls[] = {
        {"https://a.example/x?key=s3cret&json=1", "https://a.example/x?key=***&json=***"},
        {"https://me:s3cret@a.example:8/x@y", "https://***@a.example:8/x@y"},
        {"https://a.example/x?s=1&t=a=b#f=2", "https://a.example/x?s=***&t=***#f=***"},
        {"a?b=c", "a?b=c"},
    };
    for (size_t i = 0; i < ALD_COUNT(urls); i++) {
        char line[128];
        struct ald_buf text;
        ald_buf_init(&text, 65536);
        (void)snprintf(line, sizeof line, "gateway: {public_url: \"%s\"}\n", urls[i].in);
        folder_write(&folder, "a.yaml", line);
        struct ald_settings settings = load(folder_path(&folder, "a.yaml"), NULL, "");
        ald_settings_print(&settings, &text);
        (void)snprintf(line, sizeof line, "public_url: \"%s\"\n", urls[i].want);
        assert_non_null(strstr(ald_buf_str(&text), line));
        ald_settings_free(&settings);
        ald_buf_free(&text);
    }
    (void)setenv("ALD_TEST_SECRET", "s3cret-of-the-house", 1);
    folder_write(
        &folder, "a.yaml",
        "log: {level: \"${ALD_TEST_SECRET}\"}\nbus: {max_item: \"x${ALD_TEST_SECRET}\"}\n");
    struct ald_settings settings =
        load(folder_path(&folder, "a.yaml"), NULL,
             "a.yaml:1:7: log.level is \"*******************\"; it must be one of: error warn info "
             "debug.\n"
             "a.yaml:2:7: bus.max_item is \"********************\"; it must be a size with its "
             "unit, such as 512B, 256KiB or 4MiB.\n");
    ald_settings_free(&settings);
    (void)unsetenv("ALD_TEST_SECRET");
}

static void test_secret_file(void **state)
{
    (void)state;
    folder_write(&folder, "token", "s3cret\n");
    folder_write(&folder, "two", "a\nb\n");
    struct ald_buf text;
    ald_buf_init(&text, 4096);
    ald_buf_printf(&text, "gateway: {tokens: [{file: %s}]}\n", folder_path(&folder, "token"));
    folder_write(&folder, "a.yaml", ald_buf_str(&text));
    struct ald_settings settings = load(folder_path(&folder, "a.yaml"), NULL, "");
    assert_string_equal(settings.gateway.tokens.item[0], "s3cret");
    ald_settings_free(&settings);
    ald_buf_reset(&text);
    ald_buf_printf(&text, "gateway: {tokens: [{file: %s}]}\n", folder_path(&folder, "two"));
    folder_write(&folder, "a.yaml", ald_buf_str(&text));
    (void)load(folder_path(&folder, "a.yaml"), NULL,
               "a.yaml:1:21: The secret in the file two holds more than one line.\n");
    ald_buf_free(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_example),
        TEST(test_a_gateway_with_a_name_has_a_spool_of_its_own),
        TEST(test_order),
        TEST(test_missing_file),
        TEST(test_empty_file),
        TEST(test_providers),
        TEST(test_all_errors),
        TEST(test_dependencies),
        TEST(test_addresses),
        TEST(test_errors_of_providers_come_along),
        TEST(test_secret_file),
        TEST(test_what_is_not_shown),
        TEST(test_print_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
