/* verify.h - a look at the dlq's file in a folder: store.data, or a backup. Reads only, whether a
 * dlq is at work there or not: the file, the sum of each message, the counters against the rows.
 * Which letters it has is for the command that asked, which holds them against the tracker's.
 *
 * Threads: one owner.
 */
#ifndef ALD_DLQ_VERIFY_H
#define ALD_DLQ_VERIFY_H

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/store/report.h"

/* Look at <dir>/letters.db. ALD_OK: what there is to say is in the report. Else it can't be read,
 * and err says why. */
ALD_NODISCARD enum ald_rc verify_look(const char *dir, struct ald_report *report,
                                      struct ald_err *err);

#endif
