#include "services/dlq/tally.h"

#include "common/base/digest.h"

enum { TALLY_SHIFT = 11 }; /* 64 - 53: the wire's integers stay below 2^53 */

uint64_t tally_mark(const char *id)
{
    uint8_t digest[32];
    ald_sha256(ald_span_str(id), digest);
    uint64_t mark = 0;
    for (unsigned i = 0; i < 8; i++)
        mark = mark << 8 | digest[i];
    return mark >> TALLY_SHIFT;
}

void tally_add(struct tally *self, const char *id, enum ald_reason reason, enum letter_state state)
{
    self->count[reason][state]++;
    if (!letter_closed(state))
        self->open_xor ^= tally_mark(id);
}

void tally_move(struct tally *self, const char *id, enum ald_reason reason, enum letter_state from,
                enum letter_state to)
{
    self->count[reason][from]--;
    self->count[reason][to]++;
    if (letter_closed(from) != letter_closed(to))
        self->open_xor ^= tally_mark(id);
}

void tally_turn(struct tally *self, enum letter_state state, enum ald_reason from,
                enum ald_reason to)
{
    self->count[from][state]--;
    self->count[to][state]++;
}

int64_t tally_state(const struct tally *self, enum letter_state state)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < ALD_REASON_COUNT; i++)
        sum += self->count[i][state];
    return sum;
}

int64_t tally_reason(const struct tally *self, enum ald_reason reason)
{
    return self->count[reason][LETTER_OPEN] + self->count[reason][LETTER_HELD];
}
