/* sinks.h - `sinks:` of the settings: addresses that each event is posted to, signed by Standard
 * Webhooks. Who keeps their places is the tracker; who posts is the poller.
 *
 * Secrets are read when asked for, as the poller alone needs them. A loaded list does not change;
 * another takes its place when the settings are read again. Threads: none of its own; a loaded list
 * may be read by any thread.
 */
#ifndef ALD_CONFIG_SINKS_H
#define ALD_CONFIG_SINKS_H

#include "common/config/setting.h"
#include "common/config/webhook.h"
#include "common/config/yaml.h"
#include "proto/msg_limits.h"

enum { ALD_SINKS_MAX = 64 };

struct ald_sink {
    char name[ALD_CONSUMER_MAX];
    char url[ALD_URL_MAX];
    char provider[ALD_PROVIDER_MAX]; /* filter; "" = all */
    char state[ALD_WORD_MAX];        /* the same */
    char from[ALD_POSITION_MAX];     /* where a new one begins: new or all */
    int64_t timeout_ms;
    int64_t max_in_flight;
    int64_t max_deliver;
    int64_t first_after_ms; /* wait before the second try of an event */
    int64_t max_after_ms;   /* the longest such wait, and between probes of one that is down */
    struct ald_secret_list secrets; /* empty when they were not resolved */
};

typedef struct ald_sinks ald_sinks_t;

/* Read the map of sinks by their names; NULL, or nothing in it: there are none. Errors are
 * appended, all of them. resolve false: the form of secrets is checked, and they stay empty.
 * ALD_OK: *out is the caller's. ALD_INVALID: errors say why, *out is NULL. */
ALD_NODISCARD enum ald_rc ald_sinks_load(const struct ald_node *sinks, bool resolve,
                                         struct ald_errors *errors, ald_sinks_t **out);
/* Wipes the secrets, too. */
void ald_sinks_destroy(ald_sinks_t **self_p);

/* A list of NULL has none. What they give is borrowed until destroy. */
size_t ald_sinks_count(const ald_sinks_t *self);
const struct ald_sink *ald_sinks_at(const ald_sinks_t *self, size_t index);
const struct ald_sink *ald_sinks_find(const ald_sinks_t *self, const char *name);

/* Write `sinks:` as YAML with its defaults, secrets masked; nothing when there are none. What
 * ald_sinks_load would refuse is left at its default. */
void ald_sinks_print(const struct ald_node *sinks, struct ald_buf *out);

/* The table, for a schema and for manual pages; `secret` and `secrets` are beside it. */
const struct ald_setting_table *ald_sinks_table(void);

#endif
