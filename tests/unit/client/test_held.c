/* What a durable consumer holds, and what it says of it. */
#include "common/client/held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

/* Words as text: "ack 1-3, nack 5 +200 why"; of a release in lane 2, "2/". */
struct said {
    char text[512];
};

static void said_add(void *arg, const struct held_word *word)
{
    static const char *const verbs[] = {"ack", "nack", "reject", "extend", "release"};
    struct said *said = arg;
    size_t len = strlen(said->text);
    char first[24] = "";
    char delay[24] = "";
    char seq[24] = "end";
    if (word->seq != HELD_SEQ_MAX)
        (void)snprintf(seq, sizeof seq, "%llu", (unsigned long long)word->seq);
    if (word->first != 0)
        (void)snprintf(first, sizeof first, "%llu-", (unsigned long long)word->first);
    if (word->delay_ms != 0)
        (void)snprintf(delay, sizeof delay, " +%lld", (long long)word->delay_ms);
    (void)snprintf(said->text + len, sizeof said->text - len, "%s%s %s%s%s%s%s%s",
                   len > 0 ? ", " : "", verbs[word->verb],
                   word->verb == HELD_RELEASE && word->lane == 2 ? "2/" : "", first, seq, delay,
                   word->reason[0] ? " " : "", word->reason);
}

static void assert_says(struct held *held, uint64_t req, const char *want)
{
    struct said said = {{0}};
    (void)held_say(held, req, SIZE_MAX, said_add, &said);
    assert_string_equal(said.text, want);
}

static void take(struct held *held, uint64_t first, uint64_t last)
{
    for (uint64_t seq = first; seq <= last; seq++) {
        assert_true(held_arrived(held, 1, seq));
        held_give(held, 1, seq);
    }
}

static void say(struct held *held, uint64_t seq, enum held_verb verb)
{
    assert_int_equal(held_settle(held, 1, seq, verb, 0, NULL), ALD_OK);
}

static void test_example(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    assert_true(held_arrived(&held, 1, 7));
    assert_false(held_arrived(&held, 1, 7));
    held_give(&held, 1, 7);
    say(&held, 7, HELD_ACK);
    assert_says(&held, 100, "ack 7");
    assert_says(&held, 101, "");
    held_unheard(&held);
    assert_says(&held, 102, "ack 7");
    held_confirmed(&held, 100);
    assert_int_equal(held.words, 1);
    held_confirmed(&held, 102);
    assert_int_equal(held.count, 0);
    held_free(&held);
}

/* Only numbers that follow each other are one word: what lies between is somebody else's, or was
 * not acknowledged. */
static void test_ranges(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    take(&held, 1, 10);
    say(&held, 3, HELD_NACK);
    say(&held, 6, HELD_REJECT);
    held_ack_to(&held, 1, 8);
    assert_says(&held, 1, "ack 1-2, nack 3, ack 4-5, reject 6, ack 7-8");
    held_confirmed(&held, 1);
    assert_int_equal(held.count, 2);
    take(&held, 20, 20);
    take(&held, 22, 23);
    held_ack_to(&held, 1, 100);
    assert_says(&held, 2, "ack 9-10, ack 20, ack 22-23");
    held_free(&held);
}

static void test_up_to_takes_what_was_given_alone(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    take(&held, 1, 2);
    assert_true(held_arrived(&held, 1, 3));
    assert_true(held_arrived(&held, 0, 9));
    held_give(&held, 0, 9);
    held_ack_to(&held, 1, 5);
    assert_says(&held, 1, "ack 9, ack 1-2");
    assert_int_equal(held.given, 0);
    held_free(&held);
}

static void test_the_last_word_counts(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    take(&held, 1, 1);
    assert_int_equal(held_settle(&held, 1, 1, HELD_NACK, 500, "later"), ALD_OK);
    assert_says(&held, 1, "nack 1 +500 later");
    say(&held, 1, HELD_ACK);
    held_confirmed(&held, 1); /* of the nack: the ack is still to be said */
    assert_says(&held, 2, "ack 1");
    held_confirmed(&held, 2);
    assert_int_equal(held.count, 0);
    held_free(&held);
}

/* The copies of an event that come while there is a word about it. */
static void test_copies(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum held_verb verb;
        bool sent;
        bool given;
    } cases[] = {
        {"acknowledged", HELD_ACK, false, false},
        {"acknowledged, and said", HELD_ACK, true, false},
        {"rejected", HELD_REJECT, true, false},
        {"nacked, not said: another hand-out that ended", HELD_NACK, false, false},
        {"nacked, and said: it was heard", HELD_NACK, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct held held;
        struct said said = {{0}};
        held_init(&held);
        take(&held, 1, 1);
        say(&held, 1, cases[i].verb);
        if (cases[i].sent)
            (void)held_say(&held, 1, SIZE_MAX, said_add, &said);
        print_message("%s\n", cases[i].name);
        assert_int_equal(held_arrived(&held, 1, 1), cases[i].given);
        assert_int_equal(held.words, cases[i].given ? 0 : 1);
        held_free(&held);
    }
}

static void test_extensions(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    take(&held, 1, 1);
    assert_true(held_arrived(&held, 1, 2));
    assert_int_equal(held_extend(&held, 1, 5, 100), ALD_NOTFOUND);
    assert_int_equal(held_extend(&held, 1, 1, 100), ALD_OK);
    held_extend_waiting(&held, 300);
    assert_says(&held, 1, "extend 1 +100, extend 2 +300");
    held_unheard(&held);
    assert_says(&held, 2, "extend 1 +100, extend 2 +300");
    say(&held, 1, HELD_ACK);
    held_confirmed(&held, 2);
    assert_says(&held, 3, "ack 1");
    assert_int_equal(held.count, 2);
    assert_int_equal(held_extend(&held, 1, 1, 100), ALD_NOTFOUND);
    held_free(&held);
}

/* At the end, what the program has not seen is told apart from what it has. */
static void test_what_was_not_seen(void **state)
{
    static const struct {
        const char
            *entries; /* of seq 1, 2 ...: (w)aits, (g)iven, (a)cknowledged, none; L: lane 2 */
        size_t most;
        const char *want;
    } cases[] = {
        {"", 9, ""},
        {"w", 9, "release 1-end"},
        {"www", 9, "release 1-end"},
        {"gg", 9, "release 3-end"},
        {"ga", 9, "release 3-end"},
        {"w.w.", 9, "release 1-end"}, /* of nobody here */
        {"gwwgw.g", 9, "release 2-3, release 5-5, release 8-end"},
        {"waw", 9, "release 1-1, release 3-end"},
        {"wwLwg", 9, "release 1-2, release 2/4-4, release 2/6-end"},
        {"gwgwgw", 2, "release 2-2, release 4-4"},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct held held;
        struct said said = {{0}};
        uint64_t lane = 1;
        held_init(&held);
        for (size_t seq = 1; seq <= strlen(cases[i].entries); seq++) {
            char how = cases[i].entries[seq - 1];
            lane = how == 'L' ? 2 : lane;
            if (how == 'L' || how == '.')
                continue;
            assert_true(held_arrived(&held, lane, seq));
            if (how != 'w')
                assert_true(held_give(&held, lane, seq));
            if (how == 'a')
                assert_int_equal(held_settle(&held, lane, seq, HELD_ACK, 0, NULL), ALD_OK);
        }
        (void)held_say_unseen(&held, cases[i].most, said_add, &said);
        print_message("%s\n", cases[i].entries);
        assert_string_equal(said.text, cases[i].want);
        held_free(&held);
    }
}

static void test_what_waits_behind_is_dropped(void **state)
{
    (void)state;
    struct held held;
    held_init(&held);
    take(&held, 1, 3);
    for (uint64_t seq = 4; seq <= 6; seq++)
        assert_true(held_arrived(&held, 1, seq));
    say(&held, 2, HELD_NACK);
    held_drop_behind(&held, 1, 2);
    assert_int_equal(held.count, 3);
    assert_true(held_arrived(&held, 1, 4));
    held_free(&held);
}

static void test_no_more_than_there_is_room_for(void **state)
{
    (void)state;
    struct held held;
    struct said said = {{0}};
    held_init(&held);
    for (uint64_t seq = 1; seq <= HELD_MAX; seq++)
        assert_true(held_arrived(&held, 1, seq));
    assert_false(held_arrived(&held, 1, HELD_MAX + 1));
    assert_int_equal(held_settle(&held, 2, 1, HELD_ACK, 0, NULL), ALD_FULL);
    assert_int_equal(held_settle(&held, 1, 1, HELD_ACK, 0, NULL), ALD_OK);
    assert_int_equal(held_settle(&held, 1, 3, HELD_ACK, 0, NULL), ALD_OK);
    assert_int_equal(held_say(&held, 1, 1, said_add, &said), 1);
    assert_string_equal(said.text, "ack 1");
    assert_int_equal(held.said, 1);
    held_free(&held);
}

/* A tracker that forgets answers and a program that settles at random: in the end each event has
 * had its word, and nothing was acknowledged that the program did not acknowledge. */
enum { EVENTS = 200, STEPS = 20000 };

struct world {
    bool arrived[EVENTS + 1];
    bool acked[EVENTS + 1];
    bool heard[EVENTS + 1];
};

static void world_hears(void *arg, const struct held_word *word)
{
    struct world *world = arg;
    for (uint64_t seq = word->first ? word->first : word->seq; seq <= word->seq; seq++) {
        assert_true(seq <= EVENTS);
        if (word->verb != HELD_ACK)
            continue;
        assert_true(world->acked[seq]);
        world->heard[seq] = true;
    }
}

static void test_nothing_is_lost_or_made_up(void **state)
{
    (void)state;
    static struct world world;
    struct held held;
    uint64_t req = 0;
    held_init(&held);
    srand(7);
    for (int step = 0; step < STEPS; step++) {
        uint64_t seq = 1 + (uint64_t)rand() % EVENTS;
        switch (rand() % 6) {
        case 0:
            if (!world.acked[seq])
                world.arrived[seq] = held_arrived(&held, 1, seq) || world.arrived[seq];
            break;
        case 1:
            held_give(&held, 1, seq);
            break;
        case 2:
            if (world.arrived[seq]) {
                world.acked[seq] = true;
                say(&held, seq, HELD_ACK);
            }
            break;
        case 3:
            if (world.arrived[seq] && !world.acked[seq])
                say(&held, seq, HELD_NACK);
            break;
        case 4:
            (void)held_say(&held, ++req, (size_t)rand() % 20, world_hears, &world);
            break;
        default:
            if (rand() % 2)
                held_confirmed(&held, req);
            else
                held_unheard(&held);
        }
    }
    held_unheard(&held);
    (void)held_say(&held, ++req, SIZE_MAX, world_hears, &world);
    held_confirmed(&held, req);
    assert_int_equal(held.words, 0);
    assert_int_equal(held.said, 0);
    for (size_t seq = 1; seq <= EVENTS; seq++)
        assert_int_equal(world.acked[seq], world.heard[seq]);
    held_free(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_up_to_takes_what_was_given_alone),
        cmocka_unit_test(test_the_last_word_counts),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_what_was_not_seen),
        cmocka_unit_test(test_what_waits_behind_is_dropped),
        cmocka_unit_test(test_no_more_than_there_is_room_for),
        cmocka_unit_test(test_nothing_is_lost_or_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
