/* The record of what people did: what is written is found again, newest first, page by page; it
 * stays bounded, and half a line spoils no other. */
#include "services/gateway/api/actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/unit/store/folder.h"

static struct folder folder;

static int setup(void **state)
{
    (void)state;
    folder_make(&folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static void add(actions_t *self, const char *of, const char *asked)
{
    const struct action action = {.at_ms = 1700000000000,
                                  .what = "POST /v1/providers/{id}/pause",
                                  .of = of,
                                  .by = ald_span_str("ana"),
                                  .asked = ald_span_str(asked),
                                  .peer = "127.0.0.1",
                                  .status = 200};
    assert_int_equal(actions_add(self, &action), ALD_OK);
}

/* The page, read by another program than the one that wrote it. */
static json_t *page(actions_t *self, uint64_t limit, const char *before)
{
    struct ald_buf buf;
    ald_buf_init(&buf, 16 << 20);
    struct ald_json_out out = ald_json_out_begin(&buf);
    ald_json_out_object(&out, NULL);
    assert_int_equal(actions_put(self, &out, limit, before), ALD_OK);
    ald_json_out_close_object(&out);
    json_t *got = json_loadb((const char *)buf.data, buf.len, 0, NULL);
    assert_non_null(got);
    ald_buf_free(&buf);
    return got;
}

static const char *word(json_t *got, size_t i, const char *name)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(got, "actions"), i), name));
}

static size_t length(json_t *got)
{
    return json_array_size(json_object_get(got, "actions"));
}

static void test_example(void **state)
{
    (void)state;
    actions_t *self = actions_new(folder.path);
    add(self, "one", "{\"by\": \"ana\"}");
    add(self, "two", "");
    json_t *got = page(self, 10, "");
    assert_int_equal(length(got), 2);
    assert_string_equal(word(got, 0, "of"), "two");
    assert_string_equal(word(got, 1, "of"), "one");
    assert_string_equal(word(got, 1, "asked"), "{\"by\": \"ana\"}");
    assert_string_equal(json_string_value(json_object_get(got, "cursor")), "");
    json_decref(got);
    actions_destroy(&self);
    assert_null(self);
}

static void test_pages_meet(void **state)
{
    (void)state;
    enum { COUNT = 23, LIMIT = 5 };
    actions_t *self = actions_new(folder.path);
    for (int i = 0; i < COUNT; i++) {
        char of[16];
        (void)snprintf(of, sizeof of, "%d", i);
        add(self, of, "");
    }
    char cursor[32] = "";
    int next = COUNT - 1;
    do {
        json_t *got = page(self, LIMIT, cursor);
        for (size_t i = 0; i < length(got); i++, next--) {
            char of[16];
            (void)snprintf(of, sizeof of, "%d", next);
            assert_string_equal(word(got, i, "of"), of);
        }
        (void)snprintf(cursor, sizeof cursor, "%s",
                       json_string_value(json_object_get(got, "cursor")));
        json_decref(got);
    } while (cursor[0] != '\0');
    assert_int_equal(next, -1);
    actions_destroy(&self);
}

static void test_it_is_bounded_and_keeps_the_newest(void **state)
{
    (void)state;
    enum { COUNT = 6000 }; /* of 600 bytes and more: three files and a half */
    char asked[ACTIONS_ASKED_MAX + 100];
    memset(asked, 'x', sizeof asked - 1);
    asked[sizeof asked - 1] = '\0';
    actions_t *self = actions_new(folder.path);
    for (int i = 0; i < COUNT; i++) {
        char of[16];
        (void)snprintf(of, sizeof of, "%d", i);
        add(self, of, asked);
        if (i % 1000 == 999) { /* also over starts */
            actions_destroy(&self);
            self = actions_new(folder.path);
        }
    }
    off_t bytes = 0;
    for (char name = 'a'; name <= 'b'; name++) {
        struct stat facts;
        char file[32];
        (void)snprintf(file, sizeof file, "actions-%c.log", name);
        assert_int_equal(stat(folder_file(&folder, file), &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0600);
        assert_true(facts.st_size < ACTIONS_FILE_MAX + 2048);
        bytes += facts.st_size;
    }
    json_t *got = page(self, 1000000, "");
    assert_true(bytes >= ACTIONS_FILE_MAX);
    assert_true(length(got) > 1200 && length(got) < COUNT);
    assert_string_equal(word(got, 0, "of"), "5999");
    assert_int_equal(strlen(word(got, 0, "asked")), ACTIONS_ASKED_MAX);
    for (size_t i = 1; i < length(got); i++) {
        char of[16];
        (void)snprintf(of, sizeof of, "%d", 5999 - (int)i);
        assert_string_equal(word(got, i, "of"), of);
    }
    json_decref(got);
    actions_destroy(&self);
}

static void test_half_a_line(void **state)
{
    (void)state;
    actions_t *self = actions_new(folder.path);
    add(self, "one", "");
    FILE *file = fopen(folder_file(&folder, "actions-a.log"), "a");
    assert_non_null(file);
    (void)fputs("\n{\"id\":\"01\n\n]\n{}\n{\"id\":7", file);
    assert_int_equal(fclose(file), 0);
    add(self, "two", "line\nend \"quoted\" \x01 \xff");
    json_t *got = page(self, 10, "");
    assert_int_equal(length(got), 2);
    assert_string_equal(word(got, 0, "of"), "two");
    assert_string_equal(word(got, 0, "asked"), "line\nend \"quoted\" \x01 \xef\xbf\xbd");
    assert_string_equal(word(got, 1, "of"), "one");
    json_decref(got);
    actions_destroy(&self);
}

static void test_what_cannot_be_written_is_told(void **state)
{
    (void)state;
    const struct action action = {.what = "", .of = "", .peer = ""};
    actions_t *self = actions_new("/nowhere/at/all");
    assert_int_equal(actions_add(self, &action), ALD_IO);
    json_t *got = page(self, 10, ""); /* nothing was ever there: that is no error */
    assert_int_equal(length(got), 0);
    json_decref(got);
    actions_destroy(&self);
    assert_int_equal(mkdir(folder_file(&folder, "actions-a.log"), 0700), 0);
    self = actions_new(folder.path);
    assert_int_equal(actions_add(self, &action), ALD_IO);
    actions_destroy(&self);
    assert_int_equal(rmdir(folder_file(&folder, "actions-a.log")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_meet, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_is_bounded_and_keeps_the_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_half_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_written_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
