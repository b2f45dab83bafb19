/* reload.h - settings and profiles are read anew while a daemon runs (SIGHUP).
 *
 * All or nothing: with one error anywhere what is in force stays, whole, and it is said: in the
 * log, each error with its file, line and column, in a metric, and in a note that health and status
 * show until a reading goes right. A setting that can't change at run time stays as it is and is
 * named.
 *
 * It decides what is in force; who uses it is told by service.h. Threads: the loop's, but for
 * ald_reload_note.
 */
#ifndef ALD_NET_RELOAD_H
#define ALD_NET_RELOAD_H

#include "common/config/profile.h"
#include "common/config/settings.h"

typedef struct ald_reload ald_reload_t;

/* What the command line said, and what the daemon needs; borrowed until destroy. */
struct ald_reload_source {
    const char *config;
    const char *const *flags;
    size_t flag_count;
    bool profiles;
    unsigned secrets; /* enum ald_secrets */
};

ald_reload_t *ald_reload_new(const struct ald_reload_source *source);
void ald_reload_destroy(ald_reload_t **self_p);

/* Read again. ALD_OK: the rows of settings that may change have their new values, and *fresh, which
 * is the caller's, takes the place of old; NULL for a daemon without profiles. Profiles that are
 * gone are kept in it as they were. ALD_INVALID: nothing changed, and it was said why. */
ALD_NODISCARD enum ald_rc ald_reload_read(ald_reload_t *self, struct ald_settings *settings,
                                          ald_profiles_t *old, ald_profiles_t **fresh);

/* What is wrong with the last reading, as a sentence; "" when it went right. Any thread. */
void ald_reload_note(ald_reload_t *self, char *out, size_t cap);

#endif
