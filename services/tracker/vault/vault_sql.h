/* vault_sql.h - how the parts of the vault run their statements, errors being sticky. Private to
 * vault*.c.
 */
#ifndef ALD_TRACKER_VAULT_SQL_H
#define ALD_TRACKER_VAULT_SQL_H

#include "services/tracker/vault/vault.h"

/* Remember the first error. */
void vault_fail(struct vault *self, enum ald_rc rc);

/* The statement of a literal; NULL after an error, and the caller then does nothing. */
ald_stmt_t *vault_prepare(struct vault *self, const char *sql);

/* Run to the end and reset. */
void vault_run(struct vault *self, ald_stmt_t *stmt);

/* True while there are rows; the caller resets. */
bool vault_step(struct vault *self, ald_stmt_t *stmt);

/* The number that the first row of this query about one task (?1) begins with. False: no row. */
bool vault_of_task(struct vault *self, const char *sql, uint64_t task, int64_t *value);

/* What the sums of results have come to, at opening; and the last result that has at least so many
 * bytes of later ones behind it, as far as sums tell: 0 = none. */
void vault_sums_read(struct vault *self);
uint64_t vault_seq_behind(struct vault *self, uint64_t bytes);

/* Read back what is not indexed, at opening. */
void vault_gather(struct vault *self);
/* A row was written that is to be indexed. */
void vault_gather_add(struct vault *self, uint64_t task, enum gather_kind kind, int64_t no);

#endif
