#include "services/tracker/consumers/position.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/text.h"

enum position_kind position_read(const char *text, uint64_t lane, uint64_t *seq)
{
    struct ald_span span = ald_span_str(text);
    *seq = 0;
    if (span.len == 0 || ald_span_eq_str(span, "all"))
        return POSITION_ALL;
    if (ald_span_eq_str(span, "new"))
        return POSITION_NEW;
    size_t colon = ald_span_find(span, ':');
    uint64_t of = 0;
    if (colon == span.len || ald_text_u64(ald_span_of(span.data, colon), &of) != ALD_OK ||
        ald_text_u64(ald_span_skip(span, colon + 1), seq) != ALD_OK)
        return POSITION_BAD;
    return of == lane ? POSITION_AFTER : POSITION_OTHER_LANE;
}

void position_write(uint64_t lane, uint64_t seq, char out[ALD_POSITION_MAX])
{
    (void)snprintf(out, ALD_POSITION_MAX, "%" PRIu64 ":%" PRIu64, lane, seq);
}
