/* messages.h - every message that aldaba's processes say to each other, as plain structs.
 *
 * A message is one flat MessagePack map, `k` (kind) and `v` (version) first. The structs are what
 * it is decoded into at the edge, once; the tables in messages.c say which key is which field.
 * docs/PROTOCOL.md tells the conversations, channels.h where they happen.
 *
 * Units: *_ms is milliseconds; *_at_ms is wall time since 1970; a plain *_ms is a length of time.
 * Strings end in NUL and hold what the wire held, at most the array's size less one; a longer one
 * does not decode. Spans are borrowed from the frame that was decoded: who keeps one copies it.
 * Task ids and counters that can pass 2^53 travel as decimal text, so that no language rounds them.
 *
 * Fields are only ever added, and added as optional ones (absent = zero, "" or empty).
 */
#ifndef ALD_PROTO_MESSAGES_H
#define ALD_PROTO_MESSAGES_H

#include "proto/msg_consume.h"
#include "proto/msg_control.h"
#include "proto/msg_courier.h"
#include "proto/msg_desk.h"
#include "proto/msg_feed.h"
#include "proto/msg_jobs.h"
#include "proto/msg_limits.h"
#include "proto/msg_providers.h"
#include "proto/msg_query.h"
#include "proto/msg_replay.h"
#include "proto/wire.h"

/* One schema a kind; two kinds may share a struct. All of them, ended by NULL: for tests, documents
 * and dispatch. */
extern const struct ald_schema *const ALD_SCHEMAS[];

#endif
