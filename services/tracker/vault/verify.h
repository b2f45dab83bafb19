/* verify.h - a look at the tracker's files in a folder: store.data, or a backup. Reads only,
 * whether a tracker is at work there or not. The rows are counted again (recount.h) and held
 * against the books; what cannot be seen from here, whether the open letters lie in the dlq, is for
 * the command that asked, which gets their ids.
 *
 * Threads: one owner.
 */
#ifndef ALD_TRACKER_VERIFY_H
#define ALD_TRACKER_VERIFY_H

#include "common/base/rc.h"
#include "common/store/report.h"

/* Look at <dir>/tracker.db, tracker.mark and callback.key there. ALD_OK: what there is to say is in
 * the report. Else the store can't be read, and err says why. */
ALD_NODISCARD enum ald_rc verify_look(const char *dir, struct ald_report *report,
                                      struct ald_err *err);

#endif
