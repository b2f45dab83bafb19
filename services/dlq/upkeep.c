#include "services/dlq/upkeep.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"
#include "services/dlq/meters.h"
#include "services/dlq/replays.h"

enum { UPKEEP_PURGE = 200 };

/* End the transaction; true when it is on disk. */
static bool upkeep_end(const struct upkeep *self, enum ald_rc rc, const char *what)
{
    if (rc == ALD_OK)
        rc = shelf_commit(self->shelf);
    else
        shelf_rollback(self->shelf);
    if (rc != ALD_OK)
        ald_log(ALD_ERROR, "letters.upkeep", "what=%s rc=%s", what, ald_rc_name(rc));
    return rc == ALD_OK;
}

bool upkeep_purge(const struct upkeep *self, int64_t now_ms)
{
    unsigned count = 0;
    if (shelf_begin(self->shelf) != ALD_OK)
        return false;
    enum ald_rc rc = shelf_purge(self->shelf, now_ms - self->keep_ms, UPKEEP_PURGE, &count);
    if (rc == ALD_OK)
        rc = replays_purge(self->shelf, now_ms - self->keep_ms, UPKEEP_PURGE);
    if (!upkeep_end(self, rc, "purge") || count == 0)
        return false;
    ald_log(ALD_INFO, "letters.purged", "count=%u", count);
    return count == UPKEEP_PURGE;
}

static enum ald_rc upkeep_drop(const struct upkeep *self, const char *id, int64_t now_ms,
                               struct browse_excess *excess)
{
    struct shelf_row row;
    enum ald_rc rc = browse_find(self->shelf, id, &row);
    if (rc != ALD_OK || letter_drop(&row.letter, now_ms) != LETTER_YES)
        return rc;
    row.by[0] = '\0'; /* nobody did */
    ald_text_cut(row.outcome, sizeof row.outcome, ald_span_str("quota"));
    row.closing = shelf_number(self->shelf);
    excess->count--;
    excess->bytes -= (int64_t)row.bytes;
    rc = shelf_update(self->shelf, &row);
    return rc == ALD_OK ? shelf_original_delete(self->shelf, id) : rc;
}

bool upkeep_quota(const struct upkeep *self, int64_t now_ms)
{
    struct browse_excess excess;
    enum ald_rc rc = browse_excess(self->shelf, self->quota_count, self->quota_bytes, &excess);
    if (rc != ALD_OK || excess.ids.count == 0 || shelf_begin(self->shelf) != ALD_OK)
        return false;
    uint64_t dropped = 0;
    for (size_t i = 0; i < excess.ids.count && rc == ALD_OK; i++) {
        if (excess.count <= 0 && excess.bytes <= 0)
            break;
        rc = upkeep_drop(self, excess.ids.id[i], now_ms, &excess);
        dropped++;
    }
    if (!upkeep_end(self, rc, "quota"))
        return false;
    meters_over_quota(dropped);
    ald_log(ALD_WARN, "letters.over_quota", "dropped=%" PRIu64, dropped);
    return true;
}

bool upkeep_clock(const struct upkeep *self, int64_t now_ms, int64_t longest_ms)
{
    if (shelf_begin(self->shelf) != ALD_OK)
        return false;
    return upkeep_end(self, shelf_due_clamp(self->shelf, now_ms + longest_ms), "clock");
}
