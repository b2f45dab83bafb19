/* settings.h - every setting of every daemon. One file serves them all, so all read one list; a
 * daemon uses its own section and the shared ones.
 *
 * Order, the later over the earlier: defaults, the file (path, else $ALDABA_CONFIG, else
 * /etc/aldaba/aldaba.yaml), the environment (ALDABA__GATEWAY__PUBLIC), flags (gateway.public=...).
 * Profiles stand under `providers:` or, one a file, in the folder providers.d beside the file; who
 * is told of each event, under `sinks:`.
 *
 * The meaning of each key is the help text of its row in settings_rows.c. Durations are ms.
 * Threads: none of its own; loaded settings may be read by any thread.
 */
#ifndef ALD_CONFIG_SETTINGS_H
#define ALD_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/setting.h"
#include "common/config/sinks.h"
#include "common/config/yaml.h"

enum { ALD_PATH_MAX = 512, ALD_ENDPOINT_MAX = 256, ALD_NAME_MAX = 33 };

struct ald_settings_docs;

struct ald_settings {
    struct {
        char run[ALD_PATH_MAX];
        char events[ALD_ENDPOINT_MAX];
        char query[ALD_ENDPOINT_MAX];
        char jobs[ALD_ENDPOINT_MAX];
        char feed[ALD_ENDPOINT_MAX];
        char consume[ALD_ENDPOINT_MAX];
        char letters[ALD_ENDPOINT_MAX];
        uint64_t max_item_bytes;
        int64_t heartbeat_ms;
    } bus;
    struct {
        char data[ALD_PATH_MAX];
        int64_t keep_results_ms;
        int64_t keep_evidence_ms;
        int64_t keep_letters_ms;
        uint64_t keep_submitted_bytes;
        uint64_t wal_max_bytes;
        int64_t max_lag_ms;
        uint64_t max_lag_bytes;
    } store;
    struct {
        char callback_keys[ALD_PATH_MAX];
    } security;
    struct {
        char name[ALD_NAME_MAX];
        char public[ALD_ENDPOINT_MAX];  /* address:port */
        char private[ALD_ENDPOINT_MAX]; /* address:port */
        char public_url[ALD_ENDPOINT_MAX];
        struct ald_texts trusted_proxies; /* addresses or CIDR blocks */
        char default_provider[ALD_NAME_MAX];
        int64_t threads;
        int64_t api_threads;
        int64_t api_waiters;
        uint64_t max_body_bytes;
        uint64_t intake_memory_bytes;
        int64_t request_timeout_ms;
        int64_t ack_min_ms;
        int64_t ack_max_ms;
        int64_t resend_after_ms;
        char spool[ALD_PATH_MAX]; /* never "" once loaded */
        uint64_t spool_max_bytes;
        struct ald_texts tokens;      /* resolved */
        struct ald_texts read_tokens; /* resolved */
        int64_t retry_after_ms;
        int64_t stop_delay_ms;
    } gateway;
    struct {
        char in_php[ALD_NAME_MAX];       /* "": there is none */
        char create_task[ALD_NAME_MAX];  /* the same */
        struct ald_texts keys;           /* resolved */
        struct ald_texts pingback_allow; /* addresses or CIDR blocks */
    } facade;
    struct {
        int64_t id;
        int64_t recover_grace_ms;
        int64_t last_poll_grace_ms;
        int64_t lease_ms;
        int64_t max_open;
        int64_t outbox_max;
        int64_t max_consumers;
        int64_t reader_threads;
        char sync[ALD_WORD_MAX];
    } tracker;
    struct {
        char name[ALD_NAME_MAX];
        int64_t max_in_flight;
        int64_t connections_per_host;
        int64_t timeout_ms;
        uint64_t max_answer_bytes;
    } poller;
    struct {
        int64_t first_after_ms;
        int64_t factor_percent;
        int64_t max_after_ms;
        int64_t jitter_percent;
        int64_t max_attempts;
        int64_t tick_ms;
        int64_t quota_count;
        uint64_t quota_bytes;
    } dlq;
    struct {
        char level[ALD_NAME_MAX];
    } log;

    char file[ALD_PATH_MAX];          /* what was read; "" = there was none */
    const struct ald_node *providers; /* name -> profile; NULL = none; borrowed until free */
    ald_sinks_t *sinks;               /* never NULL; another one after each reload */
    struct ald_settings_docs *docs;   /* what providers lives in */
};

/* Load. path NULL: $ALDABA_CONFIG, else the default file, which alone may be missing. flags are
 * `key=value`. ALD_OK: out is filled, ald_settings_free it. ALD_INVALID: errors say all that is
 * wrong, with the providers, too, and a file that says nothing is; out is empty and needs no free.
 */
ALD_NODISCARD enum ald_rc ald_settings_load(const char *path, const char *const *flags,
                                            size_t flag_count, struct ald_errors *errors,
                                            struct ald_settings *out);
void ald_settings_free(struct ald_settings *self);

/* Read the secrets of the sinks, too. ALD_INVALID: errors say why; they are as they were. */
ALD_NODISCARD enum ald_rc ald_settings_sinks(struct ald_settings *self, struct ald_errors *errors);

/* Where a setting is written in the file, for whoever finds fault with it. NULL: it is not in it.
 * Borrowed until free. */
const struct ald_node *ald_settings_node(const struct ald_settings *self, const char *key);

/* Write the settings and the providers, with their defaults, as YAML, secrets masked. */
void ald_settings_print(const struct ald_settings *self, struct ald_buf *out);

/* The table, for help texts and a schema. */
const struct ald_setting_table *ald_settings_table(void);

#endif
