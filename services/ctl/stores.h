/* stores.h - looking at the stores of a folder through the programs that own them, for fsck and
 * restore. Reads only.
 *
 * Threads: one.
 */
#ifndef ALD_CTL_STORES_H
#define ALD_CTL_STORES_H

#include "services/ctl/commands.h"
#include "services/ctl/findings.h"

struct stores_look {
    const char *dir;   /* tracker.db, letters.db, callback.key */
    const char *spool; /* NULL: there is none to look at */
    bool alive;        /* daemons may be at work there: what is on its way is looked at again */
};

/* Look at all of it. CTL_OK: it is in out, which is begun; also what is wrong. CTL_UNREACHABLE: a
 * store can't be read, or a program can't be run; it was said why, and out has the rest. */
int stores_look(const struct stores_look *look, struct findings *out);

/* Show what was found: what there is, what is worth saying, what is wrong. */
void stores_show(struct ctl *ctl, const struct findings *findings);

/* Does a daemon have this folder? A sentence which one in why, or "". */
void stores_owner(const struct ald_settings *settings, char *why, size_t cap);

#endif
