/* program.h - the tracker as a daemon: its table of functions, whose context is a struct tracker.
 */
#ifndef ALD_TRACKER_PROGRAM_H
#define ALD_TRACKER_PROGRAM_H

#include "common/net/service.h"

extern const struct ald_service_ops TRACKER_OPS;

#endif
