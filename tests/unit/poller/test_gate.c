#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "services/poller/gate.h"

static const struct gate_limits limits = {.resolving = 2, .under_way = 3};

static void test_example(void **state)
{
    (void)state;
    gate_t *gate = gate_new(&limits);
    struct gate_entry entry = {0};
    gate_enter(gate, "a.example", &entry);
    assert_ptr_equal(gate_next(gate), &entry);
    gate_resolved(&entry);
    gate_leave(gate, &entry);
    gate_destroy(&gate);
    assert_null(gate);
}

static void test_host_of(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        enum ald_rc rc;
        const char *host;
    } cases[] = {
        {"http://a.example/res.php?key=k", ALD_OK, "a.example"},
        {"https://a.example:8443?id=1", ALD_OK, "a.example:8443"},
        {"http://[::1]:80/x", ALD_OK, "[::1]:80"},
        {"http://a.example", ALD_OK, "a.example"},
        {"http://a.example#x", ALD_OK, "a.example"},
        {"http:///x", ALD_INVALID, NULL},
        {"a.example/x", ALD_INVALID, NULL},
        {"", ALD_INVALID, NULL},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char host[GATE_HOST_MAX];
        assert_int_equal(gate_host_of(ald_span_str(cases[i].url), host), cases[i].rc);
        if (cases[i].host)
            assert_string_equal(host, cases[i].host);
    }
    char url[GATE_HOST_MAX + 16];
    memset(url, 'a', sizeof url - 1);
    url[sizeof url - 1] = '\0';
    memcpy(url, "http://", 7);
    char host[GATE_HOST_MAX];
    assert_int_equal(gate_host_of(ald_span_str(url), host), ALD_INVALID);
}

/* A host that is looked for holds back its own requests and nobody else's. */
static void test_resolving_is_bounded_by_host(void **state)
{
    (void)state;
    gate_t *gate = gate_new(&limits);
    struct gate_entry slow[4] = {0};
    struct gate_entry other = {0};
    for (size_t i = 0; i < ALD_COUNT(slow); i++)
        gate_enter(gate, "slow.example", &slow[i]);
    gate_enter(gate, "other.example", &other);
    size_t begun = 0;
    bool other_begun = false;
    for (struct gate_entry *entry = gate_next(gate); entry; entry = gate_next(gate)) {
        other_begun = other_begun || entry == &other;
        begun++;
    }
    assert_true(other_begun);
    assert_int_equal(begun, 3);

    gate_resolved(&slow[0]);
    gate_resolved(&slow[0]);
    assert_ptr_equal(gate_next(gate), &slow[2]);
    assert_null(gate_next(gate));
    gate_resolved(&slow[1]);
    assert_null(gate_next(gate)); /* three are under way */
    gate_leave(gate, &slow[1]);
    assert_ptr_equal(gate_next(gate), &slow[3]);
    gate_leave(gate, &slow[0]);
    gate_leave(gate, &slow[2]);
    gate_leave(gate, &slow[3]);
    gate_leave(gate, &slow[3]);
    gate_leave(gate, &other);
    gate_destroy(&gate);
}

static void test_waiting_ones_are_taken_out(void **state)
{
    (void)state;
    gate_t *gate = gate_new(&limits);
    struct gate_entry entry[5] = {0};
    for (size_t i = 0; i < ALD_COUNT(entry); i++)
        gate_enter(gate, "a.example", &entry[i]);
    assert_ptr_equal(gate_next(gate), &entry[0]);
    gate_leave(gate, &entry[2]); /* from the middle of the queue */
    gate_leave(gate, &entry[4]); /* and its end */
    assert_ptr_equal(gate_take_waiting(gate, &entry[0]), &entry[1]);
    assert_ptr_equal(gate_take_waiting(gate, &entry[0]), &entry[3]);
    assert_null(gate_take_waiting(gate, &entry[0]));
    gate_enter(gate, "a.example", &entry[4]);
    assert_ptr_equal(gate_next(gate), &entry[4]);
    gate_leave(gate, &entry[0]);
    gate_leave(gate, &entry[4]);
    gate_destroy(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_host_of),
        cmocka_unit_test(test_resolving_is_bounded_by_host),
        cmocka_unit_test(test_waiting_ones_are_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
