/* schema.h - a small store for tests: rows with a number and bytes, and a schema that grew twice.
 */
#ifndef ALD_TEST_SCHEMA_H
#define ALD_TEST_SCHEMA_H

#include "common/store/store.h"

enum { SCHEMA_APPLICATION_ID = 0x74657374, SCHEMA_VERSIONS = 3 };

/* Options of a store at path whose program knows the first `versions` steps. */
struct ald_store_options schema_options(const char *path, size_t versions);

/* Open with these options; the test fails with err's text when that fails. */
ald_store_t *schema_open(const char *path, size_t versions);

/* Insert row n with some bytes, without a transaction of its own. */
enum ald_rc schema_insert(ald_store_t *store, int64_t n);
/* The same for first ... first + count - 1 in one transaction, which is rolled back on failure. */
enum ald_rc schema_commit(ald_store_t *store, int64_t first, int64_t count);
/* The one number that sql gives; -1 when it gives none or fails. */
int64_t schema_get(ald_store_t *store, const char *sql);
/* How many of the rows 1 ... last are missing. */
int64_t schema_missing(ald_store_t *store, int64_t last);

/* How many faults a look at the file finds; SCHEMA_UNREADABLE: it can't be read. still: nobody has
 * it open. */
enum { SCHEMA_UNREADABLE = 1000 };
unsigned schema_faults(const char *path, size_t versions, bool still);

#endif
