#include "common/client/chain.h"

#include <string.h>

#include "common/base/text.h"

void chain_init(struct chain *self, const char *from)
{
    *self = (struct chain){0};
    ald_text_cut(self->position, sizeof self->position, ald_span_str(from));
}

static bool chain_passed(const struct chain *self, uint64_t lane, uint64_t seq)
{
    return self->placed && lane == self->lane && seq <= self->seq;
}

static void chain_place(struct chain *self, uint64_t lane, uint64_t seq)
{
    self->placed = true;
    self->lane = lane;
    self->seq = seq;
}

enum chain_verdict chain_hint(struct chain *self, uint64_t lane, uint64_t seq, uint64_t prev,
                              const char *position)
{
    if (chain_passed(self, lane, seq))
        return CHAIN_KNOWN;
    if (position[0] == '\0' || !chain_passed(self, lane, prev))
        return CHAIN_FETCH;
    chain_place(self, lane, seq);
    chain_page(self, position);
    return CHAIN_GIVE;
}

bool chain_event(struct chain *self, uint64_t lane, uint64_t seq)
{
    if (chain_passed(self, lane, seq))
        return false;
    chain_place(self, lane, seq);
    return true;
}

void chain_page(struct chain *self, const char *position)
{
    ald_text_cut(self->position, sizeof self->position, ald_span_str(position));
}

bool chain_head(const struct chain *self, const char *position)
{
    return strcmp(self->position, position) != 0;
}
