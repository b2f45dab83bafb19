#include "common/store/spool_self.h"

#include <string.h>

#include "common/base/digest.h"

enum {
    SPOOL_SUM_BYTES = 32,
    SPOOL_SPARE_PAGES = 2000, /* kept in the file for the next items */
    SPOOL_SHRINK_PAGES = 4000,
    SPOOL_IDLE_LOG_BYTES = 1 << 20,
    SPOOL_DAMAGED_A_WALK = 64
};

/* Everything but the sum itself, so that a flipped bit in any column is seen. */
static void spool_sum(const struct ald_spool_item *item, uint8_t out[SPOOL_SUM_BYTES])
{
    uint8_t head[16 + 2 * (ALD_SPOOL_WORD_MAX + 1) + SPOOL_SUM_BYTES];
    size_t len = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        head[len++] = (uint8_t)(item->num >> shift & 0xff);
        head[len++] = (uint8_t)((uint64_t)item->at_ms >> shift & 0xff);
    }
    const struct ald_span words[] = {item->provider, item->proof};
    for (size_t i = 0; i < ALD_COUNT(words); i++) {
        head[len++] = (uint8_t)words[i].len;
        if (words[i].len > 0)
            memcpy(head + len, words[i].data, words[i].len);
        len += words[i].len;
    }
    ald_sha256(item->bytes, head + len);
    ald_sha256(ald_span_of(head, len + SPOOL_SUM_BYTES), out);
}

static bool spool_item_fits(const struct ald_spool_item *item)
{
    return item->num > 0 && item->num <= INT64_MAX && item->provider.len <= ALD_SPOOL_WORD_MAX &&
           item->proof.len <= ALD_SPOOL_WORD_MAX;
}

static enum ald_rc spool_check_room(const ald_spool_t *self, const struct ald_spool_item *items,
                                    size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (!spool_item_fits(&items[i]))
            return ALD_INVALID;
        bytes += items[i].bytes.len;
    }
    if (self->options.max_bytes > 0 && self->stats.bytes + bytes > self->options.max_bytes)
        return ALD_FULL;
    return ald_disk_room(self->dir, &self->options.room, bytes);
}

static enum ald_rc spool_insert(ald_spool_t *self, const struct ald_spool_item *item,
                                struct ald_spool_stats *added)
{
    ald_stmt_t *stmt = NULL;
    uint8_t sum[SPOOL_SUM_BYTES];
    enum ald_rc rc =
        spool_prepare(self,
                      "INSERT INTO spool(num, at_ms, provider, proof, size, sum, bytes)"
                      " VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(num) DO NOTHING",
                      &stmt);
    if (rc != ALD_OK)
        return rc;
    spool_sum(item, sum);
    ald_stmt_bind_i64(stmt, 1, (int64_t)item->num);
    ald_stmt_bind_i64(stmt, 2, item->at_ms);
    ald_stmt_bind_text(stmt, 3, item->provider);
    ald_stmt_bind_text(stmt, 4, item->proof);
    ald_stmt_bind_i64(stmt, 5, (int64_t)item->bytes.len);
    ald_stmt_bind_blob(stmt, 6, ald_span_of(sum, sizeof sum));
    ald_stmt_bind_blob(stmt, 7, item->bytes);
    rc = ald_stmt_run(stmt);
    if (rc != ALD_OK || ald_store_changes(self->store) == 0)
        return rc;
    added->items++;
    added->bytes += item->bytes.len;
    if (added->lowest_num == 0 || item->num < added->lowest_num) {
        added->lowest_num = item->num;
        added->oldest_at_ms = item->at_ms;
    }
    return ALD_OK;
}

/* Commit what went well, undo the rest. */
static enum ald_rc spool_end(ald_spool_t *self, enum ald_rc rc)
{
    bool whole = rc == ALD_OK;
    if (whole)
        rc = ald_store_commit(self->store);
    if (!whole || rc == ALD_AGAIN)
        ald_store_rollback(self->store);
    return rc;
}

enum ald_rc ald_spool_put(ald_spool_t *self, const struct ald_spool_item *items, size_t count)
{
    struct ald_spool_stats added = {0};
    if (ald_spool_failed(self))
        return ALD_IO;
    enum ald_rc rc = spool_check_room(self, items, count);
    if (rc == ALD_OK)
        rc = ald_store_begin(self->store);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < count && rc == ALD_OK; i++)
        rc = spool_insert(self, &items[i], &added);
    rc = spool_end(self, rc);
    if (rc != ALD_OK)
        return rc;
    struct ald_spool_stats *stats = &self->stats;
    stats->items += added.items;
    stats->bytes += added.bytes;
    if (added.items > 0 && (stats->lowest_num == 0 || added.lowest_num < stats->lowest_num)) {
        stats->lowest_num = added.lowest_num;
        stats->oldest_at_ms = added.oldest_at_ms;
    }
    spool_keep_reserve(self);
    return ALD_OK;
}

/* One walk over the rows: what was handed out, what was found damaged. In a damaged tree rows may
 * come in any order, and such as the walk is past: these are left, so that each look gets further
 * or is the last. */
struct spool_walk {
    uint64_t from_num;  /* only rows above, in this look */
    uint64_t after_num; /* the highest seen: where the next one goes on */
    size_t left;
    uint64_t bytes_left;
    bool first;
    bool ended;
    ald_spool_fn *fn;
    void *context;
    uint64_t damaged[SPOOL_DAMAGED_A_WALK];
    size_t damaged_count;
};

static struct ald_spool_item spool_row(ald_stmt_t *stmt)
{
    return (struct ald_spool_item){.num = (uint64_t)ald_stmt_i64(stmt, 0),
                                   .at_ms = ald_stmt_i64(stmt, 1),
                                   .provider = ald_stmt_text(stmt, 2),
                                   .proof = ald_stmt_text(stmt, 3),
                                   .bytes = ald_stmt_blob(stmt, 6)};
}

static bool spool_row_is_whole(ald_stmt_t *stmt, const struct ald_spool_item *item)
{
    uint8_t sum[SPOOL_SUM_BYTES];
    if (!spool_item_fits(item) || ald_stmt_i64(stmt, 4) != (int64_t)item->bytes.len)
        return false;
    spool_sum(item, sum);
    return ald_span_eq(ald_stmt_blob(stmt, 5), ald_span_of(sum, sizeof sum));
}

bool spool_row_whole(ald_stmt_t *stmt, struct ald_spool_item *item)
{
    *item = spool_row(stmt);
    return spool_row_is_whole(stmt, item);
}

static void spool_seen(struct spool_walk *walk, uint64_t num)
{
    if (num > walk->after_num)
        walk->after_num = num;
}

static void spool_visit(struct spool_walk *walk, ald_stmt_t *stmt)
{
    struct ald_spool_item item = spool_row(stmt);
    if (ald_stmt_i64(stmt, 0) <= (int64_t)walk->from_num)
        return;
    if (!spool_row_is_whole(stmt, &item)) {
        walk->damaged[walk->damaged_count++] = item.num;
        spool_seen(walk, item.num);
        walk->ended = walk->damaged_count == SPOOL_DAMAGED_A_WALK;
        return;
    }
    if (item.bytes.len > walk->bytes_left && !walk->first) {
        walk->ended = true;
        return;
    }
    walk->bytes_left -= item.bytes.len < walk->bytes_left ? item.bytes.len : walk->bytes_left;
    walk->first = false;
    walk->left--;
    spool_seen(walk, item.num);
    walk->ended = !walk->fn(walk->context, &item) || walk->left == 0;
}

static enum ald_rc spool_walk_rows(ald_spool_t *self, struct spool_walk *walk)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = spool_prepare(self,
                                   "SELECT num, at_ms, provider, proof, size, sum, bytes FROM spool"
                                   " WHERE num > ? ORDER BY num",
                                   &stmt);
    if (rc != ALD_OK)
        return rc;
    walk->from_num = walk->after_num;
    ald_stmt_bind_i64(stmt, 1, (int64_t)walk->from_num);
    walk->ended = false;
    walk->damaged_count = 0;
    while (!walk->ended && rc == ALD_OK) {
        rc = ald_stmt_step(stmt);
        if (rc == ALD_OK)
            spool_visit(walk, stmt);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* Delete one row and count what left. */
static enum ald_rc spool_delete(ald_spool_t *self, uint64_t num, struct ald_spool_stats *gone)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc =
        spool_prepare(self, "DELETE FROM spool WHERE num = ? RETURNING " SPOOL_SIZE, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, (int64_t)num);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK) {
        gone->items++;
        gone->bytes += (uint64_t)ald_stmt_i64(stmt, 0);
        rc = ald_stmt_step(stmt);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static enum ald_rc spool_copy_damaged(ald_spool_t *self, uint64_t num)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = spool_prepare(self,
                                   "INSERT INTO damaged SELECT num, at_ms, provider, proof, size,"
                                   " sum, bytes FROM spool WHERE num = ? ON CONFLICT DO NOTHING",
                                   &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, (int64_t)num);
    return ald_stmt_run(stmt);
}

static void spool_count_gone(ald_spool_t *self, const struct ald_spool_stats *gone)
{
    struct ald_spool_stats *stats = &self->stats;
    /* A damaged size must not turn the count round. */
    stats->items -= gone->items < stats->items ? gone->items : stats->items;
    stats->bytes -= gone->bytes < stats->bytes ? gone->bytes : stats->bytes;
    if (stats->items == 0)
        stats->bytes = 0;
    (void)spool_load_lowest(self); /* what it fails with, the next call repeats */
}

enum ald_rc ald_spool_set_aside(ald_spool_t *self, const uint64_t *nums, size_t count)
{
    struct ald_spool_stats gone = {0};
    if (ald_spool_failed(self))
        return ALD_IO;
    enum ald_rc rc = ald_store_begin(self->store);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < count && rc == ALD_OK; i++) {
        rc = spool_copy_damaged(self, nums[i]);
        if (rc == ALD_OK)
            rc = spool_delete(self, nums[i], &gone);
    }
    rc = spool_end(self, rc);
    if (rc != ALD_OK)
        return rc;
    self->stats.damaged += gone.items;
    spool_count_gone(self, &gone);
    return ALD_OK;
}

enum ald_rc ald_spool_peek(ald_spool_t *self, uint64_t after_num, size_t limit, uint64_t max_bytes,
                           ald_spool_fn *fn, void *context)
{
    struct spool_walk walk = {.after_num = after_num,
                              .left = limit,
                              .bytes_left = max_bytes,
                              .first = true,
                              .fn = fn,
                              .context = context};
    if (limit == 0 || after_num >= INT64_MAX)
        return ALD_OK;
    enum ald_rc rc = ALD_OK;
    do {
        rc = spool_walk_rows(self, &walk);
        if (rc == ALD_OK && walk.damaged_count > 0)
            rc = ald_spool_set_aside(self, walk.damaged, walk.damaged_count);
    } while (rc == ALD_OK && walk.first && walk.damaged_count > 0);
    return rc;
}

static enum ald_rc spool_remove_once(ald_spool_t *self, const uint64_t *nums, size_t count,
                                     struct ald_spool_stats *gone)
{
    *gone = (struct ald_spool_stats){0};
    enum ald_rc rc = ald_store_begin(self->store);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < count && rc == ALD_OK; i++)
        rc = spool_delete(self, nums[i], gone);
    return spool_end(self, rc);
}

/* Room that an outage took goes back to the disk while the spool drains. That it can't be given now
 * is no failure of the removal: the next one tries again, and a failed store says so itself. */
static void spool_give_back(ald_spool_t *self)
{
    bool empty = self->stats.items == 0;
    enum ald_rc rc =
        ald_store_shrink(self->store, empty ? 0 : SPOOL_SPARE_PAGES, SPOOL_SHRINK_PAGES);
    if (rc == ALD_OK && empty && ald_store_wal_bytes(self->store) > SPOOL_IDLE_LOG_BYTES)
        rc = ald_store_checkpoint(self->store, ALD_CHECKPOINT_TRUNCATE);
    (void)rc;
}

enum ald_rc ald_spool_remove(ald_spool_t *self, const uint64_t *nums, size_t count)
{
    struct ald_spool_stats gone;
    if (ald_spool_failed(self))
        return ALD_IO;
    enum ald_rc rc = spool_remove_once(self, nums, count, &gone);
    if (rc == ALD_FULL) {
        /* With the reserve's room the log fits into the file, and an empty log has room for
         * deletes; after one item larger than the reserve, the delete alone may fit. */
        (void)spool_give_reserve(self);
        rc = ald_store_checkpoint(self->store, ALD_CHECKPOINT_TRUNCATE);
        if (rc == ALD_OK || rc == ALD_FULL)
            rc = spool_remove_once(self, nums, count, &gone);
    }
    if (rc != ALD_OK)
        return rc;
    spool_count_gone(self, &gone);
    spool_give_back(self);
    spool_keep_reserve(self);
    return ALD_OK;
}

enum ald_rc ald_spool_shares(ald_spool_t *self, ald_spool_share_fn *fn, void *context)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = spool_prepare(self,
                                   "SELECT provider, proof, count(*), sum(" SPOOL_SIZE
                                   ") FROM spool GROUP BY provider, proof",
                                   &stmt);
    while (rc == ALD_OK) {
        rc = ald_stmt_step(stmt);
        if (rc == ALD_OK && !fn(context, ald_stmt_text(stmt, 0), ald_stmt_text(stmt, 1),
                                (uint64_t)ald_stmt_i64(stmt, 2), (uint64_t)ald_stmt_i64(stmt, 3)))
            break;
    }
    if (stmt != NULL)
        ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}
