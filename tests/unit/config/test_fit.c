/* Settings and profiles that do not go together, each with its place in the file. */
#include "common/config/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/folder.h"

static struct folder folder;

/* The errors of this file, without its path. */
static void fit(const char *text, struct ald_buf *out)
{
    struct ald_errors errors;
    struct ald_settings settings;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    folder_write(&folder, "a.yaml", text);
    const char *path = folder_path(&folder, "a.yaml");
    assert_int_equal(ald_settings_load(path, NULL, 0, &errors, &settings), ALD_OK);
    assert_int_equal(ald_profiles_load(settings.providers, 0, &errors, &profiles), ALD_OK);
    bool fits = ald_settings_fit(&settings, profiles, &errors);
    const char *said = ald_errors_text(&errors);
    assert_int_equal(fits, said[0] == '\0');
    ald_buf_reset(out);
    size_t len = strlen(path) + 1;
    for (; *said != '\0'; said = strchr(said, '\n') + 1)
        ald_buf_put(out, said + len, (size_t)(strchr(said, '\n') + 1 - said) - len);
    ald_profiles_destroy(&profiles);
    ald_settings_free(&settings);
    ald_errors_free(&errors);
}

#define SHOP "providers: {shop: {extends: twocaptcha-v1}, old: {family: inphp, poll: none}}\n"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf got;
    ald_buf_init(&got, 1 << 12);
    fit(SHOP "gateway: {default_provider: nobody}\n", &got);
    assert_string_equal(ald_buf_str(&got),
                        "2:11: gateway.default_provider is \"nobody\", and there "
                        "is no such provider.\n");
    ald_buf_free(&got);
}

static const struct {
    const char *name;
    const char *text;
    const char *want;
} FACADES[] = {
    {"complete", "facade: {in_php: shop, create_task: shop, keys: [{env: ALD_TEST_KEY}]}\n", ""},
    {"none", "facade: {keys: [{env: ALD_TEST_KEY}]}\n", ""},
    {"nobody", "facade: {in_php: nobody, keys: [{env: ALD_TEST_KEY}]}\n",
     "2:10: facade.in_php is \"nobody\", and there is no such provider.\n"},
    {"cannot submit", "facade:\n  create_task: old\n  keys: [{env: ALD_TEST_KEY}]\n",
     "3:3: facade.create_task is \"old\", whose profile does not say how to submit.\n"},
    {"open to all", "facade: {in_php: shop}\n",
     "2:10: facade.in_php is \"shop\", and facade.keys names no key that clients may use.\n"},
};

static void test_facade(void **state)
{
    (void)state;
    struct ald_buf got;
    ald_buf_init(&got, 1 << 12);
    for (size_t i = 0; i < ALD_COUNT(FACADES); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", SHOP, FACADES[i].text);
        fit(text, &got);
        if (strcmp(ald_buf_str(&got), FACADES[i].want) != 0)
            fail_msg("%s: %s", FACADES[i].name, ald_buf_str(&got));
    }
    ald_buf_free(&got);
}

static void test_sinks(void **state)
{
    (void)state;
    struct ald_buf got;
    ald_buf_init(&got, 1 << 12);
    fit(SHOP "sinks:\n"
             "  all: {url: 'http://h', secret: {env: ALD_TEST_KEY}}\n"
             "  of.shop: {url: 'http://h', secret: {env: ALD_TEST_KEY}, provider: shop}\n"
             "  of.ship: {url: 'http://h', secret: {env: ALD_TEST_KEY}, provider: ship}\n",
        &got);
    assert_string_equal(ald_buf_str(&got),
                        "5:59: The sink of.ship is for \"ship\", and there is no such provider.\n");
    ald_buf_free(&got);
}

/* A key is a secret: it is never shown. */
static void test_keys_are_masked(void **state)
{
    (void)state;
    struct ald_errors errors;
    struct ald_settings settings;
    struct ald_buf out;
    ald_errors_init(&errors);
    ald_buf_init(&out, 1 << 20);
    folder_write(&folder, "a.yaml", "facade: {keys: [{env: ALD_TEST_KEY}]}\n");
    assert_int_equal(ald_settings_load(folder_path(&folder, "a.yaml"), NULL, 0, &errors, &settings),
                     ALD_OK);
    assert_string_equal(settings.facade.keys.item[0], "facade-secret");
    ald_settings_print(&settings, &out);
    assert_null(strstr(ald_buf_str(&out), "facade-secret"));
    assert_non_null(strstr(ald_buf_str(&out), "facade:"));
    ald_settings_free(&settings);
    ald_buf_free(&out);
    ald_errors_free(&errors);
}

static int begin(void **state)
{
    (void)state;
    folder_make(&folder);
    return setenv("ALD_TEST_KEY", "facade-secret", 1);
}

static int end(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_facade), cmocka_unit_test(test_sinks),
                                       cmocka_unit_test(test_keys_are_masked)};
    return cmocka_run_group_tests(tests, begin, end);
}
