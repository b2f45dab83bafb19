/* What the YAML reader takes, and the place of everything that it refuses. */
#include "common/config/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

static ald_yaml_t *yaml_of(const char *text, unsigned flags, struct ald_errors *errors)
{
    ald_yaml_t *doc = NULL;
    (void)!ald_yaml_parse("t.yaml", ald_span_str(text), flags, errors, &doc);
    return doc;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_yaml_t *doc =
        yaml_of("gateway:\n  public: 127.0.0.1:7780\n  proxies: [10.0.0.1]\n", 0, &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    const struct ald_node *gateway = ald_node_find(ald_yaml_root(doc), "gateway");
    const struct ald_node *public = ald_node_find(gateway, "public");
    assert_string_equal(public->text, "127.0.0.1:7780");
    assert_int_equal(public->line, 2);
    assert_int_equal(public->column, 3);
    const struct ald_node *proxies = ald_node_find(gateway, "proxies");
    assert_int_equal(proxies->kind, ALD_NODE_LIST);
    assert_string_equal(proxies->first->text, "10.0.0.1");
    assert_null(ald_node_find(gateway, "private"));
    ald_yaml_destroy(&doc);
    assert_null(doc);
    ald_errors_free(&errors);
}

struct value_case {
    const char *in;
    const char *want; /* NULL: refused */
};

static const struct value_case value_cases[] = {
    {"plain", "plain"},
    {"\"\"", ""},
    {"${ALD_TEST_SET}", "value"},
    {"a-${ALD_TEST_SET}-b", "a-value-b"},
    {"\"${ALD_TEST_SET}${ALD_TEST_SET}\"", "valuevalue"},
    {"${ALD_TEST_UNSET:-other}", "other"},
    {"${ALD_TEST_UNSET:-}", ""},
    {"${ALD_TEST_EMPTY:-other}", "other"},
    {"${ALD_TEST_EMPTY}", ""},
    {"${ALD_TEST_SET:-other}", "value"},
    {"${ALD_TEST_SET:?say it}", "value"},
    {"$${ALD_TEST_SET}", "${ALD_TEST_SET}"},
    {"5$", "5$"},
    {"$x", "$x"},
    {"${ALD_TEST_UNSET}", NULL},
    {"\"${ALD_TEST_UNSET:?set it to the key}\"", NULL},
    {"${ALD_TEST_SET", NULL},
    {"\"${}\"", NULL},
    {"${ALD_TEST_SET!}", NULL},
    {"\"a\\0b\"", NULL},
    {"${lower}", "${lower}"},
};

static void test_values(void **state)
{
    (void)state;
    setenv("ALD_TEST_SET", "value", 1);
    setenv("ALD_TEST_EMPTY", "", 1);
    unsetenv("ALD_TEST_UNSET");
    for (size_t i = 0; i < ALD_COUNT(value_cases); i++) {
        const struct value_case *c = &value_cases[i];
        char text[200] = "k: ";
        strncat(text, c->in, sizeof text - 10);
        struct ald_errors errors;
        ald_errors_init(&errors);
        ald_yaml_t *doc = yaml_of(text, 0, &errors);
        if ((doc == NULL) != (c->want == NULL))
            fail_msg("%s: %s", c->in, ald_errors_text(&errors));
        if (doc != NULL)
            assert_string_equal(ald_node_find(ald_yaml_root(doc), "k")->text, c->want);
        else
            assert_int_equal(strncmp(ald_errors_text(&errors), "t.yaml:1:", 9), 0);
        ald_yaml_destroy(&doc);
        ald_errors_free(&errors);
    }
}

static void test_marks(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_yaml_t *doc = yaml_of("a: ${lower}\nb: ~\nc: '~'\nd:\n", 0, &errors);
    const struct ald_node *root = ald_yaml_root(doc);
    assert_true(ald_node_find(root, "a")->template);
    assert_true(ald_node_null(ald_node_find(root, "b")));
    assert_false(ald_node_null(ald_node_find(root, "c")));
    assert_true(ald_node_null(ald_node_find(root, "d")));
    ald_yaml_destroy(&doc);
    doc = yaml_of("# nothing\n", 0, &errors);
    assert_int_equal(ald_yaml_root(doc)->kind, ALD_NODE_MAP);
    assert_int_equal(ald_yaml_root(doc)->count, 0);
    ald_yaml_destroy(&doc);
    ald_errors_free(&errors);
}

struct refusal {
    const char *in;
    unsigned flags;
    const char *want; /* how the errors begin */
};

static const struct refusal refusals[] = {
    {"a: 1\nb: 2\na: 3\n", 0, "t.yaml:3:1: The key a was already given on line 1.\n"},
    {"m:\n  x: {y: 1}\n  x: {z: 1}\n", 0, "t.yaml:3:3: The key x was already given on line 2.\n"},
    {"a\tb: 1\na\tb: 2\n", 0, "t.yaml:2:1: The key a?b was already given on line 1.\n"},
    {"a: &x 1\nb: *x\nc: *x\nd: 1\nd: 2\n", 0,
     "t.yaml:2:4: An alias (*x) may stand in the description of a provider only: write the value "
     "again.\n"
     "t.yaml:3:4: An alias (*x) may stand in the description of a provider only: write the value "
     "again.\n"
     "t.yaml:5:1: The key d was already given on line 4.\n"},
    {"a: &x [1, *x]\nb: *y\n", ALD_YAML_ALIASES,
     "t.yaml:1:11: The alias *x stands inside what it names.\n"
     "t.yaml:2:4: There is no &y before the alias *y.\n"},
    {"a: &x 1\n*x : 2\n", ALD_YAML_ALIASES, "t.yaml:2:1: An alias can't be a key.\n"},
    {"providers: {a: &x 1, b: *x}\nc: *x\n", ALD_YAML_PROFILE_ALIASES, "t.yaml:2:4: An alias (*x)"},
    {"a: {providers: &x 1, b: *x}\n", ALD_YAML_PROFILE_ALIASES, "t.yaml:1:25: An alias (*x)"},
    {"- &x providers\n- *x\n", ALD_YAML_PROFILE_ALIASES, "t.yaml:2:3: An alias (*x)"},
    {"? [a]\n: 1\n", 0, "t.yaml:1:3: A key must be a text."},
    {"a: 1\n---\nb: 2\n", 0, "t.yaml:2:1: The file holds a second document"},
    {"a: [1\n", 0, "t.yaml:2:1: This is not well-formed YAML"},
    {"a: ${ALD_TEST_UNSET:?ask the cook}\n", 0,
     "t.yaml:1:4: The environment variable ALD_TEST_UNSET is not set: ask the cook"},
};

static void test_refusals(void **state)
{
    (void)state;
    unsetenv("ALD_TEST_UNSET");
    for (size_t i = 0; i < ALD_COUNT(refusals); i++) {
        const struct refusal *c = &refusals[i];
        struct ald_errors errors;
        ald_errors_init(&errors);
        assert_null(yaml_of(c->in, c->flags, &errors));
        const char *text = ald_errors_text(&errors);
        if (strncmp(text, c->want, strlen(c->want)) != 0)
            fail_msg("%s\nsays: %s\nwants: %s", c->in, text, c->want);
        ald_errors_free(&errors);
    }
}

static void test_aliases(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_yaml_t *doc = yaml_of("a: &x {b: [1, 2]}\nc: *x\n", ALD_YAML_ALIASES, &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    const struct ald_node *c = ald_node_find(ald_yaml_root(doc), "c");
    assert_string_equal(ald_node_find(c, "b")->last->text, "2");
    ald_yaml_destroy(&doc);
    static const char *const profiles[] = {"a: &x 1\nproviders: *x\n",
                                           "providers: {a: &x 1, b: *x}\n",
                                           "providers:\n  a: {b: &x [1], c: [[*x]]}\n"};
    for (size_t i = 0; i < ALD_COUNT(profiles); i++) {
        doc = yaml_of(profiles[i], ALD_YAML_PROFILE_ALIASES, &errors);
        assert_string_equal(ald_errors_text(&errors), "");
        ald_yaml_destroy(&doc);
    }
    ald_errors_free(&errors);
}

/* What was read to its end is given with its errors, if the reader wants it; half of it never. */
static void test_going_on(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_yaml_t *doc = NULL;
    static const char text[] = "a: &x 1\nb: *x\nc: *y\nd: 2\n";
    assert_int_equal(ald_yaml_parse("t", ald_span_str(text), ALD_YAML_GO_ON, &errors, &doc),
                     ALD_INVALID);
    assert_int_equal(errors.count, 3);
    assert_string_equal(ald_node_find(ald_yaml_root(doc), "b")->text, "1");
    assert_null(ald_node_find(ald_yaml_root(doc), "c"));
    assert_string_equal(ald_node_find(ald_yaml_root(doc), "d")->text, "2");
    ald_yaml_destroy(&doc);
    doc = yaml_of("a: 1\nb: [\n", ALD_YAML_GO_ON, &errors);
    assert_null(doc);
    ald_errors_free(&errors);
}

/* Each level doubles: 2^20 values from 20 lines. */
static void test_alias_bomb(void **state)
{
    (void)state;
    struct ald_buf text;
    ald_buf_init(&text, 4096);
    ald_buf_put_str(&text, "a0: &a0 [x, y]\n");
    for (int i = 1; i < 20; i++)
        ald_buf_printf(&text, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    struct ald_errors errors;
    ald_errors_init(&errors);
    assert_null(yaml_of(ald_buf_str(&text), ALD_YAML_ALIASES, &errors));
    assert_non_null(strstr(ald_errors_text(&errors), "too many values"));
    ald_errors_free(&errors);
    ald_buf_free(&text);
}

static struct ald_span repeated(struct ald_buf *out, const char *part, size_t times)
{
    ald_buf_init(out, 8 << 20);
    for (size_t i = 0; i < times; i++)
        ald_buf_put_str(out, part);
    return ald_buf_span(out);
}

static void bound_refuses(const char *part, size_t times, const char *want)
{
    struct ald_errors errors;
    struct ald_buf text;
    ald_yaml_t *doc = NULL;
    ald_errors_init(&errors);
    assert_int_not_equal(ald_yaml_parse("t.yaml", repeated(&text, part, times), 0, &errors, &doc),
                         ALD_OK);
    assert_null(doc);
    assert_non_null(strstr(ald_errors_text(&errors), want));
    ald_buf_free(&text);
    ald_errors_free(&errors);
}

static void test_bounds(void **state)
{
    (void)state;
    bound_refuses("[", 65, "nested deeper than 64");
    bound_refuses("- a\n", 10000, "more than 10000 values");
    bound_refuses("# 16 characters\n", 300000, "larger than 4 MiB");
    struct ald_errors errors;
    struct ald_buf text;
    ald_errors_init(&errors);
    ald_yaml_t *doc = NULL;
    assert_int_equal(ald_yaml_parse("t.yaml", repeated(&text, "- a\n", 9999), 0, &errors, &doc),
                     ALD_OK);
    assert_int_equal(ald_yaml_root(doc)->count, 9999);
    ald_yaml_destroy(&doc);
    ald_buf_free(&text);
    ald_errors_free(&errors);
}

static void test_all_errors_and_no_more(void **state)
{
    (void)state;
    struct ald_buf text;
    ald_buf_init(&text, 1 << 20);
    for (int i = 0; i < 150; i++)
        ald_buf_put_str(&text, "a: 1\n");
    struct ald_errors errors;
    ald_errors_init(&errors);
    assert_null(yaml_of(ald_buf_str(&text), 0, &errors));
    assert_int_equal(errors.count, 149);
    assert_non_null(strstr(ald_errors_text(&errors), "t.yaml:101:1:"));
    assert_null(strstr(ald_errors_text(&errors), "t.yaml:102:1:"));
    ald_errors_free(&errors);
    ald_buf_free(&text);
}

static void test_files(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_yaml_t *doc = NULL;
    assert_int_equal(ald_yaml_load("/nonexistent/a.yaml", 0, &errors, &doc), ALD_NOTFOUND);
    assert_string_equal(ald_errors_text(&errors), "/nonexistent/a.yaml: There is no such file.\n");
    assert_int_equal(ald_yaml_load("/dev/zero", 0, &errors, &doc), ALD_IO);
    assert_null(doc);
    ald_errors_free(&errors);
}

static void test_sorted(void **state)
{
    (void)state;
    const struct ald_node at[] = {{.file = "b.yaml", .line = 2, .column = 1},
                                  {.file = "a.yaml", .line = 10, .column = 3},
                                  {.file = "a.yaml", .line = 9, .column = 7},
                                  {.file = "a.yaml", .line = 10, .column = 1}};
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_errors_sort(&errors);
    assert_string_equal(ald_errors_text(&errors), "");
    for (size_t i = 0; i < ALD_COUNT(at); i++)
        ald_errors_add(&errors, &at[i], "It is %zu.", i);
    ald_errors_add(&errors, &at[2], "Again.");
    ald_errors_add(&errors, NULL, "Nowhere: 5:6.");
    ald_errors_sort(&errors);
    assert_int_equal(errors.count, 6);
    assert_string_equal(ald_errors_text(&errors), "Nowhere: 5:6.\n"
                                                  "a.yaml:9:7: It is 2.\n"
                                                  "a.yaml:9:7: Again.\n"
                                                  "a.yaml:10:1: It is 3.\n"
                                                  "a.yaml:10:3: It is 1.\n"
                                                  "b.yaml:2:1: It is 0.\n");
    for (size_t i = errors.count; i < ALD_ERRORS_MAX + 5; i++)
        ald_errors_add(&errors, &at[0], "Once more.");
    ald_errors_sort(&errors);
    assert_non_null(strstr(ald_errors_text(&errors), "Once more.\nMore errors are not shown.\n"));
    ald_errors_free(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_going_on),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_all_errors_and_no_more),
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
