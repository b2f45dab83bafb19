/* Hints that are lost, late or doubled, and the feed that is asked then. */
#include "common/client/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    struct chain chain;
    chain_init(&chain, "new");
    assert_int_equal(chain_hint(&chain, 0, 8, 7, "0:8"), CHAIN_FETCH);
    assert_true(chain_event(&chain, 0, 8));
    chain_page(&chain, "0:8");
    assert_int_equal(chain_hint(&chain, 0, 9, 8, "0:9"), CHAIN_GIVE);
    assert_string_equal(chain.position, "0:9");
    assert_false(chain_head(&chain, "0:9"));
    assert_true(chain_head(&chain, "0:12"));
}

static void test_hints(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t lane, seq, prev;
        const char *position;
        enum chain_verdict want;
    } cases[] = {
        {"the next one", 1, 11, 10, "1:11", CHAIN_GIVE},
        {"the next one of a filter", 1, 19, 10, "1:19", CHAIN_GIVE},
        {"nothing between, as a started tracker says", 1, 11, 4, "1:11", CHAIN_GIVE},
        {"once more", 1, 10, 9, "1:10", CHAIN_KNOWN},
        {"an old one", 1, 3, 2, "1:3", CHAIN_KNOWN},
        {"one is missing", 1, 14, 12, "1:14", CHAIN_FETCH},
        {"another lane", 2, 11, 10, "2:11", CHAIN_FETCH},
        {"a tracker that does not tell positions", 1, 11, 0, "", CHAIN_FETCH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chain chain;
        chain_init(&chain, "1:9");
        assert_true(chain_event(&chain, 1, 10));
        chain_page(&chain, "1:10");
        print_message("%s\n", cases[i].name);
        assert_int_equal(
            chain_hint(&chain, cases[i].lane, cases[i].seq, cases[i].prev, cases[i].position),
            cases[i].want);
        assert_string_equal(chain.position,
                            cases[i].want == CHAIN_GIVE ? cases[i].position : "1:10");
    }
}

static void test_a_page_gives_nothing_twice(void **state)
{
    (void)state;
    struct chain chain;
    chain_init(&chain, "all");
    assert_true(chain_event(&chain, 1, 1));
    assert_true(chain_event(&chain, 1, 2));
    assert_false(chain_event(&chain, 1, 2));
    assert_false(chain_event(&chain, 1, 1));
    assert_true(chain_event(&chain, 2, 1));
}

/* A feed of which the subscription wants every third event on average; a hint in four is lost, and
 * one in eight comes twice. Whatever happens, all that it wants is given once and in order. */
enum { EVENTS = 5000 };

struct feed {
    bool wanted[EVENTS + 1];
    uint64_t prev[EVENTS + 1];
    uint64_t given;
};

static void feed_give(struct feed *feed, uint64_t seq)
{
    assert_true(feed->wanted[seq]);
    for (uint64_t between = feed->given + 1; between < seq; between++)
        assert_false(feed->wanted[between]);
    assert_true(seq > feed->given);
    feed->given = seq;
}

/* As the tracker answers, up to head. */
static void feed_fetch(struct feed *feed, struct chain *chain, uint64_t head)
{
    char position[32];
    uint64_t after = 0;
    assert_int_equal(sscanf(chain->position, "1:%lu", &after), 1);
    for (uint64_t seq = after + 1; seq <= head; seq++)
        if (feed->wanted[seq] && chain_event(chain, 1, seq))
            feed_give(feed, seq);
    (void)snprintf(position, sizeof position, "1:%lu", head);
    chain_page(chain, position);
}

static void feed_hint(struct feed *feed, struct chain *chain, uint64_t seq)
{
    char position[32];
    (void)snprintf(position, sizeof position, "1:%lu", seq);
    enum chain_verdict verdict = chain_hint(chain, 1, seq, feed->prev[seq], position);
    if (verdict == CHAIN_GIVE)
        feed_give(feed, seq);
    else if (verdict == CHAIN_FETCH)
        feed_fetch(feed, chain, seq);
}

static void test_nothing_is_missed_or_doubled(void **state)
{
    (void)state;
    static struct feed feed;
    struct chain chain;
    uint64_t last = 0;
    srand(11);
    chain_init(&chain, "1:0");
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        feed.wanted[seq] = rand() % 3 == 0;
        if (!feed.wanted[seq])
            continue;
        feed.prev[seq] = last;
        last = seq;
        if (rand() % 4 == 0)
            continue; /* lost */
        feed_hint(&feed, &chain, seq);
        if (rand() % 8 == 0)
            feed_hint(&feed, &chain, seq);
    }
    char head[32];
    (void)snprintf(head, sizeof head, "1:%d", EVENTS);
    if (chain_head(&chain, head))
        feed_fetch(&feed, &chain, EVENTS);
    assert_int_equal(feed.given, last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_a_page_gives_nothing_twice),
        cmocka_unit_test(test_nothing_is_missed_or_doubled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
