/* A stored flight of a consumer, its length in front, and then what is done to it: hand-outs,
 * settlements, ends of leases, ends of instances. What is packed is read again to the same; the
 * numbers that the consumer keeps are those of its entries. */
#include <string.h>

#include "services/tracker/consumers/consumer_inside.h"
#include "tests/fuzz/input.h"

enum { FLIGHT_STEPS = 200, FLIGHT_LANE = 3, FLIGHT_HEAD_MOVES = 64 };

/* More than a message can say; who reads it bounds it further. */
static const uint64_t FLIGHT_DELAY_MAX = UINT64_C(1) << 53;

static uint64_t flight_letters;

static void flight_letter(void *context, uint64_t seq, uint32_t count, const char *why)
{
    (void)context;
    ALD_ASSERT(seq > 0 && count > 0 && why);
    flight_letters++;
}

static void flight_count(const struct consumer *self)
{
    size_t pending = 0;
    size_t leased = 0;
    uint64_t before = 0;
    for (size_t i = self->first; i < self->end; i++) {
        const struct consumer_entry *entry = &self->flight[i];
        ALD_ASSERT(entry->seq > before && entry->seq <= self->handed);
        before = entry->seq;
        pending += entry->state != CONSUMER_SETTLED;
        leased += entry->state == CONSUMER_LEASED;
    }
    ALD_ASSERT(pending == self->pending && leased == self->leased);
    ALD_ASSERT(self->pending <= CONSUMER_PENDING_MAX);
    ALD_ASSERT(self->waiting == pending - leased);
    ALD_ASSERT(consumer_floor(self) <= self->handed);
}

/* Packed, read, and packed again: the second and all later ones are the same. */
static void flight_again(const struct consumer *self)
{
    struct consumer second;
    struct consumer third;
    struct ald_buf bytes[3];
    const struct consumer *from[] = {self, &second, &third};
    consumer_init(&second, &self->rules, self->lane, self->handed);
    consumer_init(&third, &self->rules, self->lane, self->handed);
    struct consumer *to[] = {&second, &third};
    for (size_t i = 0; i < ALD_COUNT(bytes); i++) {
        ald_buf_init(&bytes[i], CONSUMER_FLIGHT_MAX);
        consumer_pack(from[i], &bytes[i]);
        ALD_ASSERT(ald_buf_ok(&bytes[i]));
        if (i < ALD_COUNT(to)) {
            ALD_ASSERT(consumer_unpack(to[i], ald_buf_span(&bytes[i])) == ALD_OK);
            ALD_ASSERT(to[i]->pending == self->pending && to[i]->leased == 0);
        }
    }
    ALD_ASSERT(ald_span_eq(ald_buf_span(&bytes[1]), ald_buf_span(&bytes[2])));
    for (size_t i = 0; i < ALD_COUNT(bytes); i++)
        ald_buf_free(&bytes[i]);
    consumer_free(&second);
    consumer_free(&third);
}

static void flight_hand(struct consumer *self, struct input *in, int instance, uint64_t *head,
                        int64_t now_ms)
{
    static struct consumer_offer offer;
    uint64_t seqs[CONSUMER_PAGE_MAX];
    size_t limit = input_byte(in) % 32 + 1U;
    *head += input_byte(in) % FLIGHT_HEAD_MOVES;
    if (!consumer_offer(self, instance, *head, limit, now_ms, &offer))
        return;
    if (!offer.fresh) {
        ALD_ASSERT(offer.count > 0 && offer.count <= limit);
        for (size_t i = 0; i < offer.count; i++)
            ALD_ASSERT(consumer_hand_again(self, instance, offer.picks[i].seq, now_ms));
        return;
    }
    uint64_t looked = offer.after;
    size_t count = 0;
    while (looked < *head && count < offer.limit && count < CONSUMER_PAGE_MAX) {
        looked++;
        if ((input_byte(in) & 3) != 3) /* else of no interest */
            seqs[count++] = looked;
    }
    consumer_hand_fresh(self, instance, seqs, count, looked, now_ms);
    if ((input_byte(in) & 7) == 7 && count > 0)
        consumer_unsent(self, instance, seqs[0], seqs[count - 1], now_ms);
}

static bool flight_settle(struct consumer *self, struct input *in, int instance, int64_t now_ms,
                          const struct consumer_rejects *rejects)
{
    const struct consumer_settle settle = {.verb = input_byte(in) % 5,
                                           .lane = FLIGHT_LANE + (input_byte(in) == 0xff),
                                           .first = input_u64(in),
                                           .seq = input_u64(in),
                                           .delay_ms = (int64_t)(input_u64(in) % FLIGHT_DELAY_MAX),
                                           .why = "no"};
    return consumer_settle(self, instance, &settle, now_ms, rejects);
}

static void flight_step(struct consumer *self, struct input *in, uint64_t *head, int64_t *now_ms)
{
    static const char *const names[] = {"a", "b", "c", "", "a longer name of an instance"};
    const struct consumer_rejects rejects = {.fn = flight_letter};
    uint8_t what = input_byte(in);
    int instance = consumer_instance(self, names[what % ALD_COUNT(names)], *now_ms);
    ALD_ASSERT(instance < CONSUMER_INSTANCES_MAX);
    if (instance < 0)
        return;
    switch (what >> 5) {
    case 0:
    case 1:
        flight_hand(self, in, instance, head, *now_ms);
        break;
    case 2:
    case 3:
        (void)flight_settle(self, in, instance, *now_ms, &rejects);
        break;
    case 4:
        *now_ms += input_byte(in) * INT64_C(1000);
        (void)consumer_due(self, *now_ms, &rejects);
        break;
    case 5:
        (void)consumer_close(self, instance, *now_ms, &rejects);
        break;
    case 6:
        consumer_release(self, *now_ms);
        break;
    default:
        (void)consumer_purged(self, input_u64(in) % (*head + 1));
        consumer_gap_seen(self);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    uint8_t how = input_byte(&in);
    const struct consumer_rules rules = {.ordered = (how & 1) != 0,
                                         .max_deliver = (how >> 1 & 3) + 1U,
                                         .ack_wait_ms = 30000,
                                         .max_pending = (how & 8) != 0 ? 10 : 1000};
    struct consumer consumer;
    uint64_t handed = input_u64(&in) & INT64_MAX;
    uint64_t head = handed;
    int64_t now_ms = 1000000;
    consumer_init(&consumer, &rules, FLIGHT_LANE, handed);
    bool sound = consumer_unpack(&consumer, input_take(&in, input_u64(&in))) == ALD_OK;
    ALD_ASSERT(sound || consumer.pending == 0);
    flight_count(&consumer);
    for (int i = 0; i < FLIGHT_STEPS && in.left.len > 0 && head < INT64_MAX / 2; i++) {
        flight_step(&consumer, &in, &head, &now_ms);
        flight_count(&consumer);
    }
    flight_again(&consumer);
    consumer_free(&consumer);
    return 0;
}
