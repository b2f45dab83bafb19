/* event_json.h - an event as JSON, written in one way for all that show it: the API, its streams,
 * and the sinks of the settings.
 *
 * Ids are texts. A result is `result`: text, or the provider's own JSON when it is JSON; when it is
 * not UTF-8, or large and mostly control characters, it is `result_base64` and `result` is null. So
 * what is above ALD_EVENT_SMALL bytes is at most twice as long in JSON. Names are those of
 * docs/PROTOCOL.md; only the source of what expired, `manual` there, is `expired` here. Pure.
 */
#ifndef ALD_CONFIG_EVENT_JSON_H
#define ALD_CONFIG_EVENT_JSON_H

#include "common/base/json_out.h"
#include "proto/messages.h"

enum { ALD_EVENT_SMALL = 4096 };

/* The members of an event, into an object that is open. What consumers alone are told, how often
 * they had it, stands there when it was handed out to one. */
void ald_event_json(struct ald_json_out *out, const struct msg_event *event);

/* A value of strangers: raw when it is JSON and sound, else text, else null and, under the other
 * key, base64; see above. */
void ald_event_value(struct ald_json_out *out, const char *key, const char *key_base64,
                     struct ald_span value, bool is_json);

/* On the bus the tracker's own verdict and a person's hand are one source, `manual`. Of a task that
 * expired nobody's hand is to be looked for. */
const char *ald_event_source(const char *state, const char *source);

#endif
