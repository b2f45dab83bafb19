/* damage.h - a store whose rows are not what was written: files put back as they were, and columns
 * given other values. One store and one thread.
 */
#ifndef ALD_FUZZ_DAMAGE_H
#define ALD_FUZZ_DAMAGE_H

#include "common/store/report.h"
#include "common/store/store.h"
#include "tests/fuzz/input.h"

enum { DAMAGE_PATH_MAX = 256 };

/* A folder in memory where there is one, gone when the process ends. */
const char *damage_folder(void);
/* "<folder>/<name>", static until four more calls. */
const char *damage_path(const char *name);

/* Remember the file, which nobody has open any more; and put it back, without what lies beside it
 * (its log, its mark). */
void damage_remember(const char *path);
void damage_restore(const char *path);

/* Learn which columns of which tables there are. */
void damage_learn(ald_store_t *store);
/* Do to a store what the input says: columns get other values, rows go. True: something changed. */
bool damage_do(ald_store_t *store, struct input *in);

/* Look through the folder as fsck does; what is found is thrown away. */
void damage_look(enum ald_rc (*look)(const char *, struct ald_report *, struct ald_err *));

#endif
