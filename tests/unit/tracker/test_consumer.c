/* What is handed out when, and what is counted: rule 17 of GUARANTEES.md. */
#include "services/tracker/consumers/consumer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

/* A case is a script of words, and what they say, in one line each.
 *
 *   head:9      the feed has come to 9           A=4    instance A asks for 4
 *   A+3 A+1-4   A acknowledges                   A~3 A~3@50   A does not take it (again so later)
 *   A!3         A rejects                        A>3@50 A wants longer
 *   A^3 A^1-4   nobody got it from A
 *   A/          A goes                           A#1-2  what A was given did not leave
 *   t50         time passes, leases end          R      the tracker starts again
 *   P4          events up to 4 are purged        L5     a new lane
 *   f           says the floor
 *
 * A hand-out says who and what, "A=1,2"; what comes again has its count, "A=1x2"; a letter says
 * event, count and words, "!3x2(why)"; a gap "G5". */
struct play {
    struct consumer consumer;
    struct consumer_rules rules;
    uint64_t head;
    int64_t now_ms;
    struct ald_buf said;
};

static void play_reject(void *arg, uint64_t seq, uint32_t count, const char *why)
{
    struct play *self = arg;
    ald_buf_printf(&self->said, " !%llux%u", (unsigned long long)seq, count);
    if (why[0] != '\0')
        ald_buf_printf(&self->said, "(%s)", why);
}

static void play_ask(struct play *self, int instance, char name, size_t limit)
{
    static struct consumer_offer offer;
    ald_buf_printf(&self->said, " %c=", name);
    if (!consumer_offer(&self->consumer, instance, self->head, limit, self->now_ms, &offer))
        return;
    uint64_t seqs[CONSUMER_PAGE_MAX];
    size_t count = 0;
    uint64_t seq = offer.after;
    while (offer.fresh && count < offer.limit && seq < self->head)
        seqs[count++] = ++seq;
    if (offer.fresh)
        consumer_hand_fresh(&self->consumer, instance, seqs, count, seq, self->now_ms);
    for (size_t i = 0; i < count; i++)
        ald_buf_printf(&self->said, "%s%llu", i > 0 ? "," : "", (unsigned long long)seqs[i]);
    for (size_t i = 0; i < offer.count; i++) {
        const struct consumer_pick *pick = &offer.picks[i];
        assert_true(consumer_hand_again(&self->consumer, instance, pick->seq, self->now_ms));
        ald_buf_printf(&self->said, "%s%llux%u", i > 0 ? "," : "", (unsigned long long)pick->seq,
                       pick->deliveries);
    }
}

/* The tracker starts again: all that is known is what was packed. */
static void play_restart(struct play *self)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, CONSUMER_FLIGHT_MAX);
    consumer_pack(&self->consumer, &bytes);
    uint64_t lane = self->consumer.lane;
    uint64_t handed = self->consumer.handed;
    consumer_free(&self->consumer);
    consumer_init(&self->consumer, &self->rules, lane, handed);
    assert_int_equal(consumer_unpack(&self->consumer, ald_buf_span(&bytes)), ALD_OK);
    ald_buf_free(&bytes);
}

static void play_settle(struct play *self, int instance, const char *word,
                        const struct consumer_rejects *rejects)
{
    struct consumer_settle settle = {.lane = 1, .why = "why"};
    char *at = NULL;
    settle.verb = word[1] == '+'   ? CONSUMER_ACK
                  : word[1] == '~' ? CONSUMER_NACK
                  : word[1] == '!' ? CONSUMER_REJECT
                  : word[1] == '^' ? CONSUMER_RELEASE
                                   : CONSUMER_EXTEND;
    settle.seq = strtoull(word + 2, &at, 10);
    if (*at == '-') {
        settle.first = settle.seq;
        settle.seq = strtoull(at + 1, &at, 10);
    }
    if (*at == '@')
        settle.delay_ms = strtoll(at + 1, NULL, 10);
    (void)consumer_settle(&self->consumer, instance, &settle, self->now_ms, rejects);
}

static void play_of_one(struct play *self, const char *word, const struct consumer_rejects *rejects)
{
    char name[2] = {word[0], '\0'};
    int instance = consumer_instance(&self->consumer, name, self->now_ms);
    assert_true(instance >= 0);
    if (word[1] == '=') {
        play_ask(self, instance, word[0], strtoull(word + 2, NULL, 10));
    } else if (word[1] == '/') {
        (void)consumer_close(&self->consumer, instance, self->now_ms, rejects);
    } else if (word[1] == '#') {
        char *at = NULL;
        uint64_t first = strtoull(word + 2, &at, 10);
        consumer_unsent(&self->consumer, instance, first, strtoull(at + 1, NULL, 10), self->now_ms);
    } else {
        play_settle(self, instance, word, rejects);
    }
}

static void play_word(struct play *self, const char *word)
{
    const struct consumer_rejects rejects = {play_reject, self};
    uint64_t number = strtoull(word + 1, NULL, 10);
    if (strncmp(word, "head:", 5) == 0) {
        self->head = strtoull(word + 5, NULL, 10);
    } else if (word[0] == 't') {
        self->now_ms += (int64_t)number;
        (void)consumer_due(&self->consumer, self->now_ms, &rejects);
    } else if (word[0] == 'R') {
        play_restart(self);
    } else if (word[0] == 'P') {
        if (consumer_purged(&self->consumer, number))
            ald_buf_printf(&self->said, " G%llu", (unsigned long long)self->consumer.gap);
    } else if (word[0] == 'L') {
        consumer_lane(&self->consumer, number, self->head);
    } else if (word[0] == 'f') {
        ald_buf_printf(&self->said, " f%llu", (unsigned long long)consumer_floor(&self->consumer));
    } else {
        play_of_one(self, word, &rejects);
    }
}

struct play_case {
    const char *name;
    const char *script;
    const char *want;
};

static void play(const struct play_case *one, const struct consumer_rules *rules)
{
    struct play self = {.rules = *rules, .head = 9};
    ald_buf_init(&self.said, 4096);
    consumer_init(&self.consumer, rules, 1, 0);
    char word[32];
    for (const char *at = one->script; *at != '\0'; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)len, at);
        play_word(&self, word);
        at += len;
    }
    const char *said = self.said.len > 0 ? ald_buf_str(&self.said) + 1 : "";
    if (strcmp(said, one->want) != 0)
        fail_msg("%s: \"%s\" says\n  \"%s\", not\n  \"%s\"", one->name, one->script, said,
                 one->want);
    consumer_free(&self.consumer);
    ald_buf_free(&self.said);
}

/* Leases of 100 ms, three hand-outs, five events at once. */
static const struct consumer_rules SHARED = {
    .max_deliver = 3, .ack_wait_ms = 100, .max_pending = 5};
static const struct consumer_rules ORDERED = {
    .ordered = true, .max_deliver = 3, .ack_wait_ms = 100, .max_pending = 5};

static void test_example(void **state)
{
    (void)state;
    static const struct play_case one = {"all is settled", "A=2 A+1-2 A=9 A+3-7 f",
                                         "A=1,2 A=3,4,5,6,7 f7"};
    play(&one, &SHARED);
}

static void test_shared(void **state)
{
    (void)state;
    static const struct play_case cases[] = {
        {"two share", "A=2 B=2 A=1 B+3 A+1 f A+2 B+4 f", "A=1,2 B=3,4 A=5 f1 f4"},
        {"no more than may be pending", "A=9 A=9 A+1 A=9", "A=1,2,3,4,5 A= A=6"},
        {"any order", "A=4 A+4 A+2 f A+1 f A+3 f", "A=1,2,3,4 f0 f2 f4"},
        {"nothing is there", "A=4 head:0 A+1-4 A=1", "A=1,2,3,4 A="},
        {"not taken: at once", "A=2 A~1 A=9", "A=1,2 A=1x2"},
        {"not taken: later", "A=1 A~1@50 A=1 t49 B=1 t1 B=1", "A=1 A=2 B=3 B=1x2"},
        {"not taken too often", "A=1 A~1 A=1 A~1 A=1 A~1 f A=1",
         "A=1 A=1x2 A=1x3 !1x3(why) f1 A=2"},
        {"rejected", "A=2 A!1 f A+2 f", "A=1,2 !1x1(why) f1 f2"},
        {"a lease ends", "A=1 t99 B=1 t1 B=1", "A=1 B=2 B="},
        {"and it comes alone", "A=2 t100 B=5 B=5 B+1 B=5 B+2 B=2", "A=1,2 B=1x2 B= B=2x2 B=3,4"},
        {"longer", "A=1 t50 A>1 t60 B=9 t40 C=9", "A=1 B=2,3,4,5 C=1x2"},
        {"as long as is said", "A=1 A>1@500 t400 B=1 B+2 t100 C=1", "A=1 B=2 C=1x2"},
        {"an unknown number", "A+7 A=1 A+1 A+1 f", "A=1 f1"},
        {"a range is of who was given it", "A=2 B=2 A+1-4 f", "A=1,2 B=3,4 f2"},
        {"one by its number is a fact", "A=2 B+1 f B+2 f", "A=1,2 f1 f2"},
        {"what lies apart comes apart", "A=1 B=1 A=1 A~1 A~3 C=9 C=9", "A=1 B=2 A=3 C=1x2 C=3x2"},
        {"a range after its lease", "A=2 t100 A+1-2 f", "A=1,2 f2"},
        {"but not over another's", "A=2 t100 B=1 A+1-2 f A+1 f", "A=1,2 B=1x2 f0 f2"},
        {"late, and another has it", "A=1 t100 B=1 A~1@500 B~1 C=1", "A=1 B=1x2 C=1x3"},
        {"an instance goes", "A=2 A+1 A/ B=5 B+2 B=1", "A=1,2 B=2x2 B=3"},
        {"it was not sent", "A=2 A#1-2 B=5 B#1-1 B=1", "A=1,2 B=1x1,2x1 B=1x1"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        play(&cases[i], &SHARED);
}

/* Event 2 of five kills whoever has it. Its neighbours are handed out once more and no oftener. */
static void test_rule_17_one_that_kills_is_alone(void **state)
{
    (void)state;
    static const struct play_case cases[] = {
        {"shared", "A=5 t100 B=5 B+1 B=5 t100 C=5 t100 D=5 D+3 D=5 D+4 D=5 D+5 D=5",
         "A=1,2,3,4,5 B=1x2 B=2x2 C=2x3 !2x3 D=3x2 D=4x2 D=5x2 D=6,7,8,9"},
        {"one that goes and comes", "A=5 A/ A=5 A+1 A=5 A/ A=5 A/ A=5 A+3 A=5 A+4 A=5 A+5 A=5",
         "A=1,2,3,4,5 A=1x2 A=2x2 A=2x3 !2x3 A=3x2 A=4x2 A=5x2 A=6,7,8,9"},
        {"who has others waits for it", "A=1 B=2 t50 B>2 B>3 t50 B=1 B+2 B=1 B+3 B=1 B=1",
         "A=1 B=2,3 B= B= B=1x2 B="},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        play(&cases[i], &SHARED);
    static const struct play_case in_order = {
        "in order", "A=5 t100 B=5 B+1 B=5 t100 C=5 t100 D=5 D+3 D=5 D+4 D=5 D+5 D=5",
        "A=1,2,3,4,5 B=1x2 B=2x2 C=2x3 !2x3 D=3x2 D=4x2 D=5x2 D=6,7,8,9"};
    play(&in_order, &ORDERED);
}

static void test_ordered(void **state)
{
    (void)state;
    static const struct play_case cases[] = {
        {"one hand-out at a time", "A=2 B=2 A+1 B=2 A+2 B=2", "A=1,2 B= B= B=3,4"},
        {"a part is not enough", "A=3 A+2-3 B=1 A+1 B=1", "A=1,2,3 B= B=4"},
        {"what comes back is first", "A=3 A+1 A~2 B=5 B+2-3 B=5", "A=1,2,3 B=2x2,3x1 B=4,5,6,7,8"},
        {"and is waited for", "A=3 A+1 A~2@50 B=5 t50 B=5", "A=1,2,3 B= B=2x2,3x1"},
        {"from the first on", "A=3 A~2@50 B=5 B+1 B=5 t50 B=5", "A=1,2,3 B=1x1 B= B=2x2,3x1"},
        {"others are not counted", "A=2 A~1 A=2 A~1 A=2 A~1 A=2",
         "A=1,2 A=1x2,2x1 A=1x3,2x1 !1x3(why) A=2x1"},
        {"longer is for all", "A=3 t90 A>1 t90 B=1 t10 B=1", "A=1,2,3 B= B=1x2"},
        {"an end is of all", "A=3 t50 A>2@10 t10 B=3 B+1 B=3", "A=1,2,3 B=1x2 B=2x2"},
        {"settled late", "A=2 t100 A+1-2 B=2 f", "A=1,2 B=3,4 f2"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        play(&cases[i], &ORDERED);
}

/* A start of the tracker is nobody's fault: what was leased is offered again and not counted. */
static void test_rule_17_restarts_are_not_counted(void **state)
{
    (void)state;
    static const struct play_case cases[] = {
        {"five starts", "A=2 R A=2 R A=2 R A=2 R A=2 R A=5",
         "A=1,2 A=1x1,2x1 A=1x1,2x1 A=1x1,2x1"
         " A=1x1,2x1 A=1x1,2x1"},
        {"settled by who had it before", "A=2 R A+1 R f A+2 f", "A=1,2 f1 f2"},
        {"by a range", "A=3 A+2 R A+1-3 f A=1", "A=1,2,3 f3 A=4"},
        {"by a range that has others'", "A=2 B=2 R A+1-4 f B+3-4 f", "A=1,2 B=3,4 f2 f4"},
        {"a word before is kept", "A=2 A~1@50 R A=2 t50 A=2", "A=1,2 A=2x1 A=1x2"},
        {"a suspect stays one", "A=2 t100 R A=5 R A=5 A+1 A=5", "A=1,2 A=1x2 A=1x2 A=2x2"},
        {"what was not sent", "A=1 A#1-1 R A=1", "A=1 A=1x1"},
        {"what reached nobody", "A=2 A^1-2 A=2 A^1-2 B=2 B~1 A=1",
         "A=1,2 A=1x1,2x1 B=1x1,2x1 A=1x2"},
        {"of what one has alone", "A=2 B^1-2 B=2", "A=1,2 B=3,4"},
        {"nothing is left", "A=5 A+1-5 R f A=1", "A=1,2,3,4,5 f5 A=6"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        play(&cases[i], &SHARED);
}

static void test_gaps(void **state)
{
    (void)state;
    static const struct play_case cases[] = {
        {"behind", "P3 f A=2", "G4 f3 A=4,5"},
        {"what was handed out", "A=5 A+1 P3 f A+3 A+4-5 f", "A=1,2,3,4,5 G4 f3 f5"},
        {"all of it", "A=5 P7 f A=1", "A=1,2,3,4,5 G8 f7 A=8"},
        {"nothing that it misses", "A=5 A+1-5 P5 f", "A=1,2,3,4,5 f5"},
        {"a new lane", "A=2 L2 A+1-2 f R A=2", "A=1,2 f0 A=1x1,2x1"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        play(&cases[i], &SHARED);
}

static void test_instances(void **state)
{
    (void)state;
    struct consumer consumer;
    char name[ALD_WORD_MAX];
    consumer_init(&consumer, &SHARED, 1, 0);
    for (int i = 0; i < CONSUMER_INSTANCES_MAX; i++) {
        (void)snprintf(name, sizeof name, "i%d", i);
        assert_int_equal(consumer_instance(&consumer, name, i), i);
    }
    assert_int_equal(consumer_instance(&consumer, "i7", 100), 7);
    assert_int_equal(consumer_instance(&consumer, "one more", 100), -1);
    assert_int_equal(consumer_instances(&consumer, 60000, 60010), 64 - 9);
    const uint64_t seq = 1;
    consumer_hand_fresh(&consumer, 0, &seq, 1, 1, 0);
    assert_int_equal(consumer_instance(&consumer, "one more", 120002), 1); /* 0 has something */
    consumer_free(&consumer);
}

/* Against a model that keeps every event in an array: whatever happens, each event is settled once,
 * and the floor is where the first is that is not. */
static void test_many_at_random(void **state)
{
    (void)state;
    enum { EVENTS = 3000 };
    static const struct consumer_rules rules = {
        .max_deliver = 1000000, .ack_wait_ms = 100, .max_pending = 300};
    static bool settled[EVENTS + 1];
    static struct consumer_offer offer;
    struct consumer consumer;
    const struct consumer_rejects rejects = {0};
    unsigned seed = 7;
    int64_t now_ms = 0;
    consumer_init(&consumer, &rules, 1, 0);
    for (unsigned turn = 0; consumer_floor(&consumer) < EVENTS; turn++) {
        assert_true(turn < 1000000);
        char name[2] = {(char)('A' + rand_r(&seed) % 3), '\0'};
        int who = consumer_instance(&consumer, name, now_ms);
        now_ms += rand_r(&seed) % 3;
        (void)consumer_due(&consumer, now_ms, &rejects);
        if (consumer_offer(&consumer, who, EVENTS, (size_t)(rand_r(&seed) % 20), now_ms, &offer)) {
            uint64_t seqs[CONSUMER_PAGE_MAX];
            size_t count = offer.fresh ? 0 : offer.count;
            while (offer.fresh && count < offer.limit && offer.after + count < EVENTS) {
                seqs[count] = offer.after + count + 1;
                count++;
            }
            for (size_t i = 0; i < count; i++) {
                if (!offer.fresh)
                    seqs[i] = offer.picks[i].seq;
                assert_false(settled[seqs[i]]);
            }
            if (offer.fresh)
                consumer_hand_fresh(&consumer, who, seqs, count, offer.after + count, now_ms);
            for (size_t i = 0; i < count && !offer.fresh; i++)
                assert_true(consumer_hand_again(&consumer, who, seqs[i], now_ms));
            for (size_t i = 0; i < count; i++) {
                struct consumer_settle settle = {.lane = 1, .seq = seqs[i], .why = ""};
                settle.verb = rand_r(&seed) % 8 == 0 ? CONSUMER_NACK : CONSUMER_ACK;
                settle.delay_ms = rand_r(&seed) % 50;
                if (rand_r(&seed) % 8 == 0)
                    continue; /* not a word */
                assert_true(consumer_settle(&consumer, who, &settle, now_ms, &rejects));
                settled[seqs[i]] = settle.verb == CONSUMER_ACK;
            }
        }
        uint64_t floor = consumer_floor(&consumer);
        assert_true(floor == EVENTS || !settled[floor + 1]);
        assert_true(floor == 0 || settled[floor]);
        assert_true(consumer.pending == consumer.leased + consumer.waiting);
        assert_true(consumer.pending <= rules.max_pending);
    }
    for (size_t i = 1; i <= EVENTS; i++)
        assert_true(settled[i]);
    consumer_free(&consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_rule_17_one_that_kills_is_alone),
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_rule_17_restarts_are_not_counted),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_many_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
