/* Two looks in, a page of lines out. */
#include "services/ctl/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

#define STATUS(received, poll)                                                                     \
    "{\"away\":[],\"arrivals\":{\"received\":" received                                            \
    "},\"results\":{\"callback\":10,\"late\":2,"                                                   \
    "\"poll\":" poll                                                                               \
    ",\"replay\":1,\"submit\":0},\"tasks\":{\"open\":3,\"pending\":2,\"polling\":1,"               \
    "\"done\":15},\"polls\":{\"answered\":7},\"status\":{\"balanced\":1,\"pollers\":2,\"head\":"   \
    "\"0:9\","                                                                                     \
    "\"service_ms\":60000,\"oldest_open\":\"77\",\"oldest_open_at_ms\":1000,\"parked\":0},"        \
    "\"dlq\":{\"open\":1,\"held\":2,\"reason.conflict\":2,\"reason.expired\":0,"                   \
    "\"reason.unknown_task\":1,\"oldest_age_ms\":300000},\"letters\":{\"outbox\":0},"              \
    "\"spool\":{\"items\":0,\"writable\":1}}"

static struct top_look before, now;
static struct ald_buf page;

static struct ald_json json_of(const char *text)
{
    struct ald_json json;
    assert_int_equal(ald_json_scan(ald_span_str(text), &json, NULL), ALD_OK);
    return json;
}

static void look(struct top_look *self, const char *status, int64_t mono_ms)
{
    memset(self, 0, sizeof *self);
    self->mono_ms = mono_ms;
    self->wall_ms = 121000;
    top_take_status(self, json_of(status));
}

static const char *page_of(const struct top_view *view, bool two)
{
    ald_buf_free(&page);
    ald_buf_init(&page, 1 << 16);
    top_page(view, two ? &before : NULL, &now, &page);
    assert_true(ald_buf_ok(&page));
    return ald_buf_str(&page);
}

static struct top_view view_of(unsigned rows, unsigned columns)
{
    return (struct top_view){
        .rows = rows, .columns = columns, .url = "http://h:1", .every = "1s", .keys = rows > 0};
}

static void has(const char *text, const char *want)
{
    if (strstr(text, want) == NULL)
        fail_msg("there is no '%s' in:\n%s", want, text);
}

static void test_example(void **state)
{
    struct top_view view = view_of(0, 0);
    (void)state;
    look(&before, STATUS("100", "5"), 1000);
    look(&now, STATUS("120", "6"), 3000);
    const char *text = page_of(&view, true);
    has(text, "10.0/s arrive");
    has(text, "0.5/s poll");
    has(text, "0.0/s callback");
    has(text, "3 open: 2 pending, 1 polling");
    has(text, "task 77, open for 2m");
    has(text, "1 open, 2 held: 2 conflict, 1 unknown_task; the oldest of 5m ago");
    has(text, "balance; feed head 0:9");
    assert_null(strstr(text, "expired"));
}

static void test_rates_that_cannot_be_told(void **state)
{
    struct top_view view = view_of(0, 0);
    (void)state;
    look(&before, STATUS("100", "5"), 1000);
    look(&now, STATUS("90", "5"), 2000);
    assert_true(top_rate(&before, &now, 100, 90) < 0); /* a store that was set back */
    assert_true(top_rate(NULL, &now, 0, 90) < 0);
    assert_true(top_rate(&before, &before, 1, 2) < 0); /* no time went by */
    has(page_of(&view, false), "-/s arrive");
    before.tracker = false;
    assert_true(top_rate(&before, &now, 1, 2) < 0);
}

static void test_who_is_away(void **state)
{
    struct top_view view = view_of(24, 80);
    (void)state;
    look(&now, "{\"away\":[\"tracker\",\"dlq\"],\"spool\":{\"items\":3,\"oldest_ms\":4000}}", 1);
    const char *text = page_of(&view, false);
    has(text, "tracker does NOT answer, dlq does NOT answer");
    has(text, "3 callbacks wait, the oldest for 4s");
    assert_null(strstr(text, "tasks"));
    memset(&now, 0, sizeof now);
    memcpy(now.why, "refused", 8);
    has(page_of(&view, false), "does NOT answer: refused");
    has(page_of(&view, false), "asked again each 1s");
}

/* However small the terminal and however much there is to say. */
static void test_pages_fit(void **state)
{
    static const struct {
        unsigned rows, columns;
    } sizes[] = {{24, 80}, {8, 40}, {50, 132}, {12, 60}};
    (void)state;
    look(&now, STATUS("120", "6"), 3000);
    now.providers = 40;
    for (size_t i = 0; i < now.providers; i++) {
        (void)snprintf(now.provider[i].name, sizeof now.provider[i].name, "provider-%zu", i);
        memset(now.provider[i].budget, 'b', sizeof now.provider[i].budget - 1);
    }
    memset(now.head, 'h', sizeof now.head - 1);
    for (size_t i = 0; i < ALD_COUNT(sizes); i++) {
        struct top_view view = view_of(sizes[i].rows, sizes[i].columns);
        view.chosen = 39;
        const char *text = page_of(&view, false);
        unsigned lines = 1;
        while (*text != '\0') {
            size_t len = strcspn(text, "\n");
            if (len > sizes[i].columns)
                fail_msg("%u columns are %zu: %.*s", sizes[i].columns, len, (int)len, text);
            lines += text[len] == '\n';
            text += len + (text[len] == '\n');
        }
        assert_int_equal(lines, sizes[i].rows);
    }
}

static void test_the_chosen_provider_is_seen(void **state)
{
    struct top_view view = view_of(24, 80);
    char name[32];
    (void)state;
    look(&now, STATUS("120", "6"), 3000);
    now.providers = 40;
    for (size_t i = 0; i < now.providers; i++)
        (void)snprintf(now.provider[i].name, sizeof now.provider[i].name, "provider-%zu", i);
    for (view.chosen = 0; view.chosen < 40; view.chosen++) {
        (void)snprintf(name, sizeof name, "> provider-%zu ", view.chosen);
        has(page_of(&view, false), name);
    }
}

static void test_providers(void **state)
{
    (void)state;
    memset(&now, 0, sizeof now);
    top_take_providers(
        &now,
        json_of("{\"providers\":[{\"name\":\"a\",\"breaker\":\"closed\",\"open\":4,\"budgets\":["
                "{\"name\":\"x\",\"used\":1,\"limit\":9},{\"name\":\"y\",\"used\":5,\"limit\":5}]},"
                "{\"name\":\"b\",\"paused\":true},{\"name\":\"c\",\"blocked_until_ms\":5,"
                "\"blocked_why\":\"no money\"},{\"name\":\"\\u001b[2J\",\"breaker\":\"open\"}]}"));
    assert_int_equal(now.providers, 4);
    assert_string_equal(now.provider[0].state, "budget used up");
    assert_string_equal(now.provider[0].budget, "y 5/5");
    assert_string_equal(now.provider[1].state, "paused");
    assert_string_equal(now.provider[2].state, "blocked");
    assert_string_equal(now.provider[2].why, "no money");
    assert_string_equal(now.provider[3].state, "in trouble");
    assert_null(strchr(now.provider[3].name, '\033'));
}

static void test_consumers(void **state)
{
    struct top_view view = view_of(0, 0);
    (void)state;
    look(&now, STATUS("1", "1"), 1);
    assert_null(strstr(page_of(&view, false), "consumers"));
    top_take_consumers(&now, json_of("{\"consumers\":[{\"name\":\"a\",\"lag\":2},"
                                     "{\"name\":\"b\",\"lag\":40},{\"name\":\"c\",\"lag\":0}]}"));
    has(page_of(&view, false), "3; b lags behind by 40 events");
}

static void test_json(void **state)
{
    (void)state;
    look(&before, STATUS("100", "5"), 1000);
    look(&now, STATUS("120", "6"), 3000);
    ald_buf_free(&page);
    ald_buf_init(&page, 1 << 16);
    top_json(&before, &now, &page);
    struct ald_json json = json_of(ald_buf_str(&page));
    assert_true(ald_json_is(ald_json_find(json, "/rates/received"), "10.000") ||
                ald_span_eq_str(ald_json_find(json, "/rates/received").raw, "10.000"));
    assert_true(ald_span_eq_str(ald_json_find(json, "/reasons/conflict").raw, "2"));
    ald_buf_reset(&page);
    top_json(NULL, &now, &page);
    json = json_of(ald_buf_str(&page));
    assert_int_equal(ald_json_find(json, "/rates/poll").kind, ALD_JSON_NULL);
}

static int free_page(void **state)
{
    (void)state;
    ald_buf_free(&page);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_rates_that_cannot_be_told),
        cmocka_unit_test(test_who_is_away),
        cmocka_unit_test(test_pages_fit),
        cmocka_unit_test(test_the_chosen_provider_is_seen),
        cmocka_unit_test(test_providers),
        cmocka_unit_test(test_consumers),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, free_page);
}
