#include "common/base/ident.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/text.h"

static const char CROCKFORD[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const int64_t EPOCH_2026_MS = INT64_C(1767225600000);

/* Where a clock that runs wild is held, in 2095: 2^40 more ids still fit below 2^53. */
static const uint64_t LATEST_MS = ((UINT64_C(1) << 48) - (UINT64_C(1) << 40)) / 128;

/* The last ULID made, so that the next one is above it. */
static pthread_mutex_t ulid_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ulid_last_ms;
static uint8_t ulid_chance[10];

static void ulid_step(uint64_t now_ms)
{
    if (now_ms > ulid_last_ms) {
        ulid_last_ms = now_ms;
        ald_random(ulid_chance, sizeof ulid_chance);
        ulid_chance[0] &= 0x7F; /* room to count up in */
        return;
    }
    for (size_t i = sizeof ulid_chance; i-- > 0;)
        if (++ulid_chance[i] != 0)
            return;
    ulid_last_ms++;
}

void ald_ulid_new(char out[ALD_ULID_SIZE])
{
    uint8_t bytes[16];
    (void)pthread_mutex_lock(&ulid_lock);
    ulid_step((uint64_t)ald_clock_now().wall_ms);
    for (size_t i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(ulid_last_ms >> (40 - 8 * i));
    memcpy(bytes + 6, ulid_chance, sizeof ulid_chance);
    (void)pthread_mutex_unlock(&ulid_lock);

    /* 130 bits of text for 128 bits of value: two zero bits in front. */
    for (size_t i = 0; i < 26; i++) {
        unsigned value = 0;
        for (size_t bit = 5 * i; bit < 5 * i + 5; bit++) {
            unsigned byte = bit < 2 ? 0 : bytes[(bit - 2) / 8];
            value = value << 1 | (byte >> (7 - (bit + 6) % 8) & 1u);
        }
        out[i] = CROCKFORD[value];
    }
    out[26] = '\0';
}

uint64_t ald_idgen_next(struct ald_idgen *self, int64_t wall_ms)
{
    ALD_ASSERT(self->tracker < ALD_TRACKERS);
    uint64_t ms = wall_ms > EPOCH_2026_MS ? (uint64_t)(wall_ms - EPOCH_2026_MS) : 0;
    uint64_t now = (ms < LATEST_MS ? ms : LATEST_MS) * 128;
    self->last_n = (now > self->last_n ? now : self->last_n) + 1;
    return self->last_n * ALD_TRACKERS + self->tracker;
}

void ald_idgen_above(struct ald_idgen *self, uint64_t id)
{
    if (id / ALD_TRACKERS > self->last_n)
        self->last_n = id / ALD_TRACKERS;
}

void ald_task_id_text(uint64_t id, char out[ALD_TASK_ID_TEXT])
{
    (void)snprintf(out, ALD_TASK_ID_TEXT, "%" PRIu64, id);
}

enum ald_rc ald_task_id_parse(struct ald_span text, uint64_t *out)
{
    uint64_t id = 0;
    if (text.len == 0 || text.data[0] == '0' || ald_text_u64(text, &id) != ALD_OK ||
        id >= UINT64_C(1) << 53)
        return ALD_MALFORMED;
    *out = id;
    return ALD_OK;
}

int64_t ald_task_id_wall_ms(uint64_t id)
{
    return EPOCH_2026_MS + (int64_t)(id / ALD_TRACKERS / 128);
}
