/* The table-driven settings, on a table of the test's own. */
#include "common/config/setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct box {
    char name[9];
    char secret[17];
    char level[9];
    int64_t count;
    int64_t share;
    int64_t wait_ms;
    uint64_t size_bytes;
    bool on;
    struct ald_texts list;
    struct ald_texts tokens;
    int64_t deep;
};

#define FIELD(name) offsetof(struct box, name), sizeof(((struct box *)0)->name)

static const struct ald_setting rows[] = {
    {"box.name", ALD_SETTING_TEXT, FIELD(name), "abc", 0, 0, 0, NULL, "A name."},
    {"box.secret", ALD_SETTING_SECRET, FIELD(secret), "", 0, 0, 0, NULL, "A secret."},
    {"box.level", ALD_SETTING_WORD, FIELD(level), "info", 0, 0, 0, "info debug", "A word."},
    {"box.count", ALD_SETTING_INT, FIELD(count), "7", 1, 10, 0, NULL, "A number."},
    {"box.share", ALD_SETTING_PERCENT, FIELD(share), "20%", 0, 100, 0, NULL, "A share."},
    {"box.wait", ALD_SETTING_DURATION, FIELD(wait_ms), "5s", 1000, 60000, 0, NULL, "A time."},
    {"box.size", ALD_SETTING_BYTES, FIELD(size_bytes), "4KiB", 1, 1 << 20, 0, NULL, "A size."},
    {"box.on", ALD_SETTING_BOOL, FIELD(on), "true", 0, 0, 0, NULL, "A switch."},
    {"box.list", ALD_SETTING_LIST, FIELD(list), "", 0, 0, 0, NULL, "A list."},
    {"box.tokens", ALD_SETTING_LIST, FIELD(tokens), "", 0, 0, ALD_SETTING_MASKED, NULL, "Keys."},
    {"box.inner.deep", ALD_SETTING_INT, FIELD(deep), "1", 0, 0, 0, NULL, "A deep one."},
};
static const char *const foreign[] = {"others", NULL};
static const struct ald_setting_table table = {
    .rows = rows, .count = ALD_COUNT(rows), .foreign = foreign};

/* Load text over the defaults; what is wrong is left in errors. */
static struct box box_of(const char *text, struct ald_errors *errors)
{
    struct box box;
    ald_setting_defaults(&table, &box);
    ald_yaml_t *doc = NULL;
    ald_errors_init(errors);
    if (ald_yaml_parse("t.yaml", ald_span_str(text), 0, errors, &doc) == ALD_OK)
        ald_setting_take_tree(&table, ald_yaml_root(doc), errors, &box);
    ald_yaml_destroy(&doc);
    return box;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_errors errors;
    struct box box =
        box_of("box: {name: xyz, wait: 250ms, inner: {deep: 4}}\nothers: {any: 1}\n", &errors);
    assert_string_equal(ald_errors_text(&errors),
                        "t.yaml:1:18: box.wait is \"250ms\"; it must be from 1s to 1m.\n");
    assert_string_equal(box.name, "xyz");
    assert_int_equal(box.wait_ms, 5000); /* what is wrong changes nothing */
    assert_int_equal(box.deep, 4);
    assert_int_equal(box.size_bytes, 4096);
    ald_errors_free(&errors);
}

struct taken {
    const char *in;
    const char *want; /* errors; "" when it is taken */
};

static const struct taken takens[] = {
    {"box: {}", ""},
    {"box:", ""},
    {"box: {count: 10, share: 5%, size: 1MiB, on: false, level: debug, list: [a, b]}", ""},
    {"box: {share: 5}", ""},
    {"box: {name: \"\"}", ""},
    {"box: {secret: {env: ALD_TEST_SET}}", ""},
    {"box: {tokens: [{env: ALD_TEST_SET}]}", ""},
    {"boxx: {count: 1}", "t.yaml:1:1: There is no setting boxx; did you mean box?\n"},
    {"other: 1", "t.yaml:1:1: There is no setting other; did you mean others?\n"},
    {"box: {cuont: 1}", "t.yaml:1:7: There is no setting box.cuont; did you mean box.count?\n"},
    {"box: {inner: {dep: 1}}",
     "t.yaml:1:15: There is no setting box.inner.dep; did you mean box.inner.deep?\n"},
    {"box: {zzzzzzzz: 1}", "t.yaml:1:7: There is no setting box.zzzzzzzz.\n"},
    {"box: 5", "t.yaml:1:1: box must hold settings by their names.\n"},
    {"[a]", "t.yaml:1:1: This must hold settings by their names.\n"},
    {"box: {count: 11}", "t.yaml:1:7: box.count is \"11\"; it must be from 1 to 10.\n"},
    {"box: {count: 0}", "t.yaml:1:7: box.count is \"0\"; it must be from 1 to 10.\n"},
    {"box: {count: 1x}", "t.yaml:1:7: box.count is \"1x\"; it must be a whole number.\n"},
    {"box: {count: }", "t.yaml:1:7: box.count has no value; leave it out, or write \"\".\n"},
    {"box: {count: [1]}", "t.yaml:1:7: box.count must be a single value.\n"},
    {"box: {wait: 30}", "t.yaml:1:7: box.wait is \"30\"; it must be a time with its unit, such as "
                        "250ms, 30s, 5m, 24h or 30d.\n"},
    {"box: {size: 30}", "t.yaml:1:7: box.size is \"30\"; it must be a size with its unit, such as "
                        "512B, 256KiB or 4MiB.\n"},
    {"box: {size: 2MiB}", "t.yaml:1:7: box.size is \"2MiB\"; it must be from 1B to 1MiB.\n"},
    {"box: {share: 101%}", "t.yaml:1:7: box.share is \"101%\"; it must be from 0% to 100%.\n"},
    {"box: {on: yes}", "t.yaml:1:7: box.on is \"yes\"; it must be true or false.\n"},
    {"box: {level: loud}", "t.yaml:1:7: box.level is \"loud\"; it must be one of: info debug.\n"},
    {"box: {level: inf}", "t.yaml:1:7: box.level is \"inf\"; it must be one of: info debug.\n"},
    {"box: {name: ninebytes}", "t.yaml:1:7: box.name is longer than 8 bytes.\n"},
    {"box: {name: \"${low}\"}",
     "t.yaml:1:7: box.name: a variable's name is upper case; $$ is a dollar.\n"},
    {"box: {list: a}", "t.yaml:1:7: box.list must be a list.\n"},
    {"box: {secret: hunter2}", "t.yaml:1:7: A secret is written as {env: VAR} or {file: PATH}.\n"},
    {"box: {secret: {env: A, file: B}}",
     "t.yaml:1:7: A secret is written as {env: VAR} or {file: PATH}.\n"},
    {"box: {tokens: [plain]}", "t.yaml:1:16: A secret is written as {env: VAR} or {file: PATH}.\n"},
    {"box: {secret: {env: ALD_TEST_UNSET}}",
     "t.yaml:1:16: The environment variable ALD_TEST_UNSET is not set.\n"},
    {"box: {secret: {env: ALD_TEST_LONG}}",
     "t.yaml:1:16: The secret in the environment variable ALD_TEST_LONG is too long.\n"},
    {"box: {count: 0, wait: 3}",
     "t.yaml:1:7: box.count is \"0\"; it must be from 1 to 10.\nt.yaml:1:17: box.wait is \"3\"; it "
     "must be a time with its unit, such as 250ms, 30s, 5m, 24h or 30d.\n"},
};

static void test_tree(void **state)
{
    (void)state;
    setenv("ALD_TEST_SET", "value", 1);
    setenv("ALD_TEST_LONG", "12345678901234567", 1);
    unsetenv("ALD_TEST_UNSET");
    for (size_t i = 0; i < ALD_COUNT(takens); i++) {
        struct ald_errors errors;
        (void)box_of(takens[i].in, &errors);
        if (strcmp(ald_errors_text(&errors), takens[i].want) != 0)
            fail_msg("%s\nsays: %s\nwants: %s", takens[i].in, ald_errors_text(&errors),
                     takens[i].want);
        ald_errors_free(&errors);
    }
}

static void test_environment_and_flags(void **state)
{
    (void)state;
    setenv("ALD_TEST_SET", "value", 1);
    const char *const environment[] = {"PATH=/bin",
                                       "ALDABA_CONFIG=/x",
                                       "ALDABA__BOX__COUNT=3",
                                       "ALDABA__BOX__INNER__DEEP=9",
                                       "ALDABA__BOX__LIST=a,b",
                                       "ALDABA__BOX__SECRET=env:ALD_TEST_SET",
                                       "ALDABA__BOX__TOKENS=env:ALD_TEST_SET",
                                       "ALDABA__BOX__CUONT=1",
                                       "ALDABA__BOX__WAIT=soon",
                                       NULL};
    struct ald_errors errors;
    struct box box = box_of("box: {count: 2}", &errors);
    ald_setting_take_environment(&table, environment, &errors, &box);
    assert_int_equal(errors.count, 2);
    assert_non_null(strstr(ald_errors_text(&errors),
                           "environment: There is no setting ALDABA__BOX__CUONT; did you mean "
                           "box.count?\n"));
    assert_non_null(strstr(ald_errors_text(&errors), "environment: ALDABA__BOX__WAIT: box.wait"));
    assert_int_equal(box.count, 3);
    assert_int_equal(box.deep, 9);
    assert_int_equal(box.list.count, 2);
    assert_string_equal(box.list.item[1], "b");
    assert_string_equal(box.secret, "value");
    assert_string_equal(box.tokens.item[0], "value");
    ald_setting_take_flag(&table, "box.count=5", &errors, &box);
    assert_int_equal(box.count, 5);
    assert_int_equal(errors.count, 2);
    ald_setting_take_flag(&table, "box.count", &errors, &box);
    ald_setting_take_flag(&table, "box.secret=hunter2", &errors, &box);
    ald_setting_take_flag(&table, "box.list=a,,b", &errors, &box);
    assert_int_equal(errors.count, 5);
    ald_errors_free(&errors);
}

static void test_print_reads_back(void **state)
{
    (void)state;
    setenv("ALD_TEST_SET", "value", 1);
    struct ald_errors errors;
    struct box box = box_of("box: {name: 'a\"$$\\', wait: 60s, size: 1500B, list: [x], secret: "
                            "{env: ALD_TEST_SET}, tokens: [{env: ALD_TEST_SET}]}",
                            &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    struct ald_buf text;
    ald_buf_init(&text, 4096);
    ald_setting_print(&table, &box, 0, &text);
    assert_null(strstr(ald_buf_str(&text), "value"));
    assert_non_null(strstr(ald_buf_str(&text), "  secret: \"***\"\n"));
    assert_non_null(strstr(ald_buf_str(&text), "  tokens: [\"***\"]\n"));
    assert_non_null(strstr(ald_buf_str(&text), "  wait: 1m\n"));
    assert_non_null(strstr(ald_buf_str(&text), "  size: 1500B\n"));
    assert_non_null(strstr(ald_buf_str(&text), "  name: \"a\\\"$$\\\\\"\n"));
    ald_buf_free(&text);
    ald_errors_free(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_environment_and_flags),
        cmocka_unit_test(test_print_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
