#include "common/config/settings_rows.h"

#include <stddef.h>

#include "common/config/settings.h"

#define FIELD(name) offsetof(struct ald_settings, name), sizeof(((struct ald_settings *)0)->name)
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const char *const SETTINGS_FOREIGN[] = {"providers", "sinks", NULL};

/* key, kind, field, default, least, most, flags, words, help */
static const struct ald_setting SETTINGS_ROWS[] = {
    {"bus.run", ALD_SETTING_PATH, FIELD(bus.run), "/run/aldaba", 0, 0, 0, NULL,
     "Folder of the sockets between the daemons."},
    {"bus.events", ALD_SETTING_TEXT, FIELD(bus.events), "", 0, 0, 0, NULL,
     "Endpoint of the channel events; empty: ipc:// in bus.run."},
    {"bus.query", ALD_SETTING_TEXT, FIELD(bus.query), "", 0, 0, 0, NULL,
     "Endpoint of the channel query; empty: ipc:// in bus.run."},
    {"bus.jobs", ALD_SETTING_TEXT, FIELD(bus.jobs), "", 0, 0, 0, NULL,
     "Endpoint of the channel jobs; empty: ipc:// in bus.run."},
    {"bus.feed", ALD_SETTING_TEXT, FIELD(bus.feed), "", 0, 0, 0, NULL,
     "Endpoint of the channel feed; empty: ipc:// in bus.run."},
    {"bus.consume", ALD_SETTING_TEXT, FIELD(bus.consume), "", 0, 0, 0, NULL,
     "Endpoint of the channel consume; empty: ipc:// in bus.run."},
    {"bus.letters", ALD_SETTING_TEXT, FIELD(bus.letters), "", 0, 0, 0, NULL,
     "Endpoint of the channel letters; empty: ipc:// in bus.run."},
    {"bus.max_item", ALD_SETTING_BYTES, FIELD(bus.max_item_bytes), "64MiB", 1 * MIB, 64 * MIB, 0,
     NULL,
     "Largest body that is let in; larger ones are refused at the door. What is in passes on and "
     "is "
     "read when it is lowered."},
    {"bus.heartbeat", ALD_SETTING_DURATION, FIELD(bus.heartbeat_ms), "1s", 100, 60 * SECOND, 0,
     NULL, "How often idle connections are probed; silent for three of them, a peer is gone."},
    {"store.data", ALD_SETTING_PATH, FIELD(store.data), "/var/lib/aldaba", 0, 0, 0, NULL,
     "Folder of the stores."},
    {"store.keep_results", ALD_SETTING_DURATION, FIELD(store.keep_results_ms), "30d", 1 * SECOND,
     3650 * DAY, ALD_SETTING_RELOAD, NULL, "How long ended tasks and their results are kept."},
    {"store.max_lag", ALD_SETTING_DURATION, FIELD(store.max_lag_ms), "60d", 1 * SECOND, 3650 * DAY,
     ALD_SETTING_RELOAD, NULL,
     "How long results are kept, past store.keep_results, for a durable consumer that has not "
     "settled them."},
    {"store.max_lag_bytes", ALD_SETTING_BYTES, FIELD(store.max_lag_bytes), "4GiB", 1 * MIB,
     1024 * GIB, ALD_SETTING_RELOAD, NULL,
     "How many bytes of results are kept behind the newest one for such a consumer."},
    {"store.keep_evidence", ALD_SETTING_DURATION, FIELD(store.keep_evidence_ms), "7d", 1 * SECOND,
     3650 * DAY, ALD_SETTING_RELOAD, NULL, "How long the bytes of arrivals and answers are kept."},
    {"store.keep_letters", ALD_SETTING_DURATION, FIELD(store.keep_letters_ms), "30d", 1 * SECOND,
     3650 * DAY, ALD_SETTING_RELOAD, NULL,
     "How long closed dead letters are kept; open ones stay."},
    {"store.keep_submitted", ALD_SETTING_BYTES, FIELD(store.keep_submitted_bytes), "256MiB", 0,
     64 * GIB, ALD_SETTING_RELOAD, NULL,
     "Most that is kept of what was submitted, so that a person can have a task made anew: of "
     "letters "
     "all of it, of tasks that have not ended half of it; beyond it is not kept."},
    {"store.wal_max", ALD_SETTING_BYTES, FIELD(store.wal_max_bytes), "256MiB", 1 * MIB, 64 * GIB, 0,
     NULL, "Size of the write-ahead log at which a checkpoint is forced."},
    {"security.callback_keys", ALD_SETTING_PATH, FIELD(security.callback_keys), "", 0, 0, 0, NULL,
     "File of the keys that sign callback URLs; empty: callback.key in store.data, made at the "
     "first start."},
    {"gateway.name", ALD_SETTING_TEXT, FIELD(gateway.name), "", 0, 0, 0, NULL,
     "Name of this gateway, for several on one machine."},
    {"gateway.public", ALD_SETTING_ADDRESS, FIELD(gateway.public), "127.0.0.1:7780", 0, 0, 0, NULL,
     "Address and port that providers call back."},
    {"gateway.private", ALD_SETTING_ADDRESS, FIELD(gateway.private), "127.0.0.1:7781", 0, 0, 0,
     NULL, "Address and port of the API."},
    {"gateway.public_url", ALD_SETTING_TEXT, FIELD(gateway.public_url), "", 0, 0, 0, NULL,
     "How providers reach the public listener: the base of callback URLs."},
    {"gateway.trusted_proxies", ALD_SETTING_LIST, FIELD(gateway.trusted_proxies), "", 0, 0,
     ALD_SETTING_BLOCKS, NULL, "Addresses, or blocks of them, whose X-Forwarded-For is believed."},
    {"gateway.default_provider", ALD_SETTING_TEXT, FIELD(gateway.default_provider), "", 0, 0, 0,
     NULL, "The profile that /callback without a name means."},
    {"gateway.threads", ALD_SETTING_INT, FIELD(gateway.threads), "128", 1, 1024, 0, NULL,
     "Threads of the public listener."},
    {"gateway.api_threads", ALD_SETTING_INT, FIELD(gateway.api_threads), "24", 2, 1024, 0, NULL,
     "Threads of the private listener."},
    {"gateway.api_waiters", ALD_SETTING_INT, FIELD(gateway.api_waiters), "16", 0, 1024, 0, NULL,
     "Private threads that may wait in long polls and event streams."},
    {"gateway.max_body", ALD_SETTING_BYTES, FIELD(gateway.max_body_bytes), "4MiB", 1 * KIB,
     512 * MIB, 0, NULL, "Largest request body where no profile says otherwise."},
    {"gateway.intake_memory", ALD_SETTING_BYTES, FIELD(gateway.intake_memory_bytes), "64MiB",
     1 * MIB, 64 * GIB, 0, NULL, "Bodies held in memory at once; beyond it providers get 503."},
    {"gateway.request_timeout", ALD_SETTING_DURATION, FIELD(gateway.request_timeout_ms), "5s", 100,
     10 * MINUTE, 0, NULL, "How long a request may take to arrive."},
    {"gateway.ack_min", ALD_SETTING_DURATION, FIELD(gateway.ack_min_ms), "250ms", 1, 60 * SECOND, 0,
     NULL, "Shortest wait for the tracker before a callback is spooled."},
    {"gateway.ack_max", ALD_SETTING_DURATION, FIELD(gateway.ack_max_ms), "1500ms", 1, 60 * SECOND,
     0, NULL, "Longest wait for the tracker before a callback is spooled."},
    {"gateway.resend_after", ALD_SETTING_DURATION, FIELD(gateway.resend_after_ms), "10s", 100,
     1 * HOUR, 0, NULL, "When an unanswered item is sent again on a live connection."},
    {"gateway.spool", ALD_SETTING_PATH, FIELD(gateway.spool), "", 0, 0, 0, NULL,
     "Folder of callbacks that wait for the tracker, one for each gateway; empty: spool in "
     "store.data, or spool-NAME of a gateway with a name."},
    {"gateway.spool_max", ALD_SETTING_BYTES, FIELD(gateway.spool_max_bytes), "10GiB", 1 * MIB,
     1024 * 1024 * MIB, 0, NULL, "Largest size of the spool; beyond it providers get 503."},
    {"gateway.tokens", ALD_SETTING_LIST, FIELD(gateway.tokens), "", 0, 0, ALD_SETTING_MASKED, NULL,
     "Bearer tokens of the API; without any it binds to loopback only."},
    {"gateway.read_tokens", ALD_SETTING_LIST, FIELD(gateway.read_tokens), "", 0, 0,
     ALD_SETTING_MASKED, NULL, "Bearer tokens of the API that change nothing: they only read."},
    {"gateway.retry_after", ALD_SETTING_DURATION, FIELD(gateway.retry_after_ms), "5s", 1 * SECOND,
     1 * HOUR, 0, NULL, "What Retry-After says with a 503."},
    {"gateway.stop_delay", ALD_SETTING_DURATION, FIELD(gateway.stop_delay_ms), "0s", 0, 15 * SECOND,
     0, NULL,
     "How long callbacks are still taken after the order to stop, with /readyz at 503: the time "
     "that a proxy in front needs to turn to another gateway."},
    {"facade.in_php", ALD_SETTING_TEXT, FIELD(facade.in_php), "", 0, 0, 0, NULL,
     "The provider that /in.php and /res.php of the private listener stand for; empty: there are "
     "no "
     "such paths."},
    {"facade.create_task", ALD_SETTING_TEXT, FIELD(facade.create_task), "", 0, 0, 0, NULL,
     "The provider that /createTask and /getTaskResult stand for; empty: there are no such paths."},
    {"facade.keys", ALD_SETTING_LIST, FIELD(facade.keys), "", 0, 0, ALD_SETTING_MASKED, NULL,
     "What clients of these paths may send as their key; it goes no further."},
    {"facade.pingback_allow", ALD_SETTING_LIST, FIELD(facade.pingback_allow), "", 0, 0,
     ALD_SETTING_BLOCKS, NULL,
     "Addresses, or blocks of them, that a client's own pingback or callbackUrl may lead to; "
     "others "
     "are not called."},
    {"tracker.id", ALD_SETTING_INT, FIELD(tracker.id), "0", 0, 31, 0, NULL,
     "Number of this tracker, part of the ids of its tasks."},
    {"tracker.recover_grace", ALD_SETTING_DURATION, FIELD(tracker.recover_grace_ms), "10m", 0,
     24 * HOUR, 0, NULL,
     "After a start, how long the gateways' spools are waited for before a task may expire."},
    {"tracker.last_poll_grace", ALD_SETTING_DURATION, FIELD(tracker.last_poll_grace_ms), "10m", 0,
     24 * HOUR, 0, NULL,
     "After a task's deadline, how long a last answer of the provider is waited for."},
    {"tracker.lease", ALD_SETTING_DURATION, FIELD(tracker.lease_ms), "60s", 100, 1 * HOUR, 0, NULL,
     "How long a poller may keep a job before another gets it; longer where the profile's requests "
     "may take longer."},
    {"tracker.max_open", ALD_SETTING_INT, FIELD(tracker.max_open), "2000000", 1, 100000000, 0, NULL,
     "Tasks under way at once; beyond it new ones are refused."},
    {"tracker.outbox_max", ALD_SETTING_INT, FIELD(tracker.outbox_max), "100000", 1, 100000000, 0,
     NULL,
     "Dead letters that wait for the dlq; beyond it callbacks without proof are answered 503."},
    {"tracker.max_consumers", ALD_SETTING_INT, FIELD(tracker.max_consumers), "256", 0, 10000,
     ALD_SETTING_RELOAD, NULL, "Durable consumers there may be; beyond it none is opened."},
    {"tracker.reader_threads", ALD_SETTING_INT, FIELD(tracker.reader_threads), "1", 1, 16, 0, NULL,
     "Threads that answer questions from the store."},
    {"tracker.sync", ALD_SETTING_WORD, FIELD(tracker.sync), "auto", 0, 0, 0, "auto beside in_place",
     "Where a commit is synced: on a thread beside the next one, or in its place; auto: beside "
     "where there are more than two processors."},
    {"poller.name", ALD_SETTING_TEXT, FIELD(poller.name), "", 0, 0, 0, NULL,
     "Name of this poller, for several on one machine."},
    {"poller.max_in_flight", ALD_SETTING_INT, FIELD(poller.max_in_flight), "2000", 1, 20000, 0,
     NULL, "Requests under way at once."},
    {"poller.connections_per_host", ALD_SETTING_INT, FIELD(poller.connections_per_host), "2000", 1,
     20000, 0, NULL, "Connections to one host."},
    {"poller.timeout", ALD_SETTING_DURATION, FIELD(poller.timeout_ms), "5m", 100, 1 * HOUR, 0, NULL,
     "The longest that a request may take, whatever its profile says."},
    {"poller.max_answer", ALD_SETTING_BYTES, FIELD(poller.max_answer_bytes), "64MiB", 1 * KIB,
     512 * MIB, 0, NULL, "The largest answer that is read, whatever its profile says."},
    {"dlq.first_after", ALD_SETTING_DURATION, FIELD(dlq.first_after_ms), "5m", 1, 30 * DAY,
     ALD_SETTING_RELOAD, NULL, "Wait before the first re-injection of a letter."},
    {"dlq.factor", ALD_SETTING_PERCENT, FIELD(dlq.factor_percent), "200%", 100, 1000,
     ALD_SETTING_RELOAD, NULL, "Each wait as a share of the one before."},
    {"dlq.max_after", ALD_SETTING_DURATION, FIELD(dlq.max_after_ms), "6h", 1, 30 * DAY,
     ALD_SETTING_RELOAD, NULL, "Longest wait between re-injections."},
    {"dlq.jitter", ALD_SETTING_PERCENT, FIELD(dlq.jitter_percent), "20%", 0, 100,
     ALD_SETTING_RELOAD, NULL, "How far a wait may be moved by chance."},
    {"dlq.max_attempts", ALD_SETTING_INT, FIELD(dlq.max_attempts), "8", 0, 1000, ALD_SETTING_RELOAD,
     NULL, "Re-injections by schedule; then a letter is held for a person."},
    {"dlq.tick", ALD_SETTING_DURATION, FIELD(dlq.tick_ms), "1s", 10, 1 * MINUTE, 0, NULL,
     "How often due letters are looked for."},
    {"dlq.quota_count", ALD_SETTING_INT, FIELD(dlq.quota_count), "10000", 1, 100000000,
     ALD_SETTING_RELOAD, NULL, "Unproven letters kept for each provider; the oldest go first."},
    {"dlq.quota_bytes", ALD_SETTING_BYTES, FIELD(dlq.quota_bytes), "64MiB", 1 * KIB,
     1024 * 1024 * MIB, ALD_SETTING_RELOAD, NULL,
     "Bytes of unproven letters kept for each provider."},
    {"log.level", ALD_SETTING_WORD, FIELD(log.level), "info", 0, 0, ALD_SETTING_RELOAD,
     "error warn info debug", "What is logged."},
};

const struct ald_setting_table ALD_SETTINGS_TABLE = {
    .rows = SETTINGS_ROWS, .count = ALD_COUNT(SETTINGS_ROWS), .foreign = SETTINGS_FOREIGN};
