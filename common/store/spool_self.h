/* spool_self.h - what the files of the spool share. Nobody else includes it.
 *
 * spool.c: open, close, numbers, the reserve. spool_rows.c: items.
 * spool_check.c: a look at one.
 */
#ifndef ALD_STORE_SPOOL_SELF_H
#define ALD_STORE_SPOOL_SELF_H

#include "common/store/spool.h"
#include "common/store/store.h"

/* The size of a row, for sums: a damaged one counts nothing, and no sum leaves its type. */
#define SPOOL_SIZE                                                                                 \
    "CASE WHEN typeof(size) = 'integer' AND size BETWEEN 0 AND 1099511627776 THEN size ELSE 0 END"

struct ald_spool {
    ald_store_t *store; /* NULL: closed by a reopen that failed */
    char dir[ALD_STORE_PATH_MAX];
    char reserve[ALD_STORE_PATH_MAX + 16];
    struct ald_spool_options options;
    char id[27];
    uint64_t last;  /* the highest of the items that were found */
    uint64_t next;  /* number to give */
    uint64_t limit; /* numbers below it are reserved on disk */
    uint64_t retry; /* number at which to reserve again after the disk was full */
    bool reserve_gone;
    struct ald_spool_stats stats;
};

/* How a spool's file is opened. */
struct ald_store_options spool_store_options(const char *path);
/* Is the row that a statement stands on (num, at_ms, provider, proof, size, sum, bytes) as it was
 * written? */
bool spool_row_whole(ald_stmt_t *stmt, struct ald_spool_item *item);

/* ald_store_prepare, or ALD_IO while the spool is closed. */
enum ald_rc spool_prepare(ald_spool_t *self, const char *sql, ald_stmt_t **out);
/* Bring lowest_num and oldest_at_ms up to date; both 0 when the spool is empty. */
enum ald_rc spool_load_lowest(ald_spool_t *self);
/* Make the reserve again. Never takes what the limit wants to leave free. */
void spool_keep_reserve(ald_spool_t *self);
/* Give it up. True if there was one. */
bool spool_give_reserve(ald_spool_t *self);

#endif
