/* ways.h - what asking for a task takes beside its id: addresses that its provider gave, and
 * parameters of the caller. Said with the task, or by an answer. One thread.
 */
#ifndef ALD_TRACKER_WAYS_H
#define ALD_TRACKER_WAYS_H

#include "services/tracker/tracker.h"

/* As a caller says it. */
struct way_said {
    const char *poll_url; /* "" = none */
    const char *result_url;
    struct ald_span params; /* a JSON object, or empty */
};

/* NULL: it is right for the profile, and kept, which is reset, has what of the parameters is kept.
 * Else a sentence. */
const char *way_unfit(const struct ald_profile *profile, const struct way_said *said,
                      struct ald_buf *kept);

/* Remember it; what is empty stays as it was. */
void way_keep(struct tracker *self, struct pending_task *task, const struct way_said *said,
              struct ald_span kept);

/* Is this id, which a callback names, an address that may be anybody's? Nothing is to be asked for
 * there: the account's key goes with each poll. */
bool way_id_away(const struct ald_profile *profile, const char *id);

/* The answer to a submission gave addresses, perhaps none; the poller has seen that they lie where
 * it was sent. */
void way_submitted(struct tracker *self, struct pending_task *task, struct ald_span poll_url,
                   struct ald_span result_url);

/* An answer of the provider gave addresses, perhaps none. Those that are
 * not on the host where we ask are not taken. */
void way_told(struct tracker *self, struct pending_task *task, struct ald_span poll_url,
              struct ald_span result_url);

#endif
