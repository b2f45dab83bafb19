/* vault.h - what the tracker keeps on disk: tasks, arrivals, results, letters, and the counters of
 * the books, in one store with one writer.
 *
 * Written for appending. A callback's transaction adds an arrival and a result at the end of their
 * tables and touches nothing else; which task has which rows is indexed later, in runs of many rows
 * sorted by task (vault_index_begin). Until then they are in memory as well (gather.h), and so is
 * what is open (pending.h); both are read back at start.
 *
 * Errors are sticky: after the first one, reads find nothing, writes do nothing, and vault_commit
 * reports it. The caller then throws away all that it remembers and opens the vault again. One
 * owner: the reader thread has a read-only store of its own (reader.h).
 */
#ifndef ALD_TRACKER_VAULT_H
#define ALD_TRACKER_VAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/store/store.h"
#include "proto/messages.h"
#include "proto/words.h"
#include "services/tracker/vault/books.h"
#include "services/tracker/vault/gather.h"
#include "services/tracker/vault/graves.h"

struct vault {
    ald_store_t *store;
    enum ald_rc rc; /* the first error since vault_open, ALD_OK while all is well */
    struct books books;
    uint64_t lane;
    uint64_t last_seq;                            /* of results, in this lane */
    uint64_t last_task;                           /* highest id that was there when it was opened */
    int64_t last_arrival, last_note, last_outbox; /* no of the newest one */
    int64_t outbox;                               /* letters that lie in the outbox */
    int64_t spare_bytes; /* of what was submitted and is kept for a person (vault_again.h) */
    gather_t *gather;    /* rows that are not indexed, as far as the run has not come to them */
    int64_t indexed_seq; /* results up to here are in the index; of the rest, any may be */
    int64_t indexed_arrival, indexed_note;
    int64_t run_seq; /* indexed_seq is this when the run is through */
    int64_t run_arrival, run_note;
    uint64_t hidden_seq;    /* results up to here are being purged: nobody is given them any more */
    graves_t *graves;       /* those that are gathered, or of which some are left */
    uint64_t graves_owed;   /* first one that somebody was owed when they were; UINT64_MAX = none */
    int64_t purged_arrival; /* arrivals up to here were looked at by purging in this run */
    int64_t run_ms;         /* service time, as of the last beat */
    uint64_t result_bytes;  /* of results so far; as it was last written, at which seq */
    uint64_t sum_bytes, sum_seq;
};

/* A row of tasks. Texts are borrowed from the statement or the caller. */
struct vault_task {
    uint64_t id;
    struct ald_span provider;
    struct ald_span provider_id;
    struct ald_span key;
    struct ald_span meta;
    struct ald_span trace; /* the caller's traceparent */
    int64_t made_ms;       /* service time */
    int64_t created_ms;    /* wall */
    int64_t stale_after_ms;
    int64_t give_up_after_ms;
};

/* A row of arrivals. */
struct vault_arrival {
    int64_t no;
    int64_t sender;
    uint64_t num;
    uint64_t task;
    enum ald_disposition disposition;
    enum ald_proof proof;
    int64_t at_ms;           /* wall: when the door took it */
    int64_t made_ms;         /* service time */
    struct ald_span ref;     /* "provider/provider_id" that a parked one waits for */
    struct ald_span letter;  /* "" or the letter it lies in */
    struct ald_span message; /* an encoded msg_callback; empty when only counted */
    uint64_t bytes;          /* of the message; read by vault_each_parked alone */
};

struct vault_result {
    uint64_t seq;
    uint64_t task;
    struct ald_span provider;
    enum ald_state state;
    enum ald_source source;
    struct ald_span code;
    struct ald_span result;
    bool result_json;
    struct ald_span digest;
    int64_t received_ms;
    int64_t published_ms;
    int64_t arrival; /* 0 = none */
    struct ald_span trace;
    uint64_t corrects; /* number of the result that this one takes the place of; 0 = a task's end */
};

/* What a later callback must know of an ended task: its result, or the last correction of it. */
struct vault_end {
    enum ald_state state;
    char digest[65];
    char provider_id[ALD_PROVIDER_ID_MAX];
    uint64_t seq;
    bool called;       /* by a callback */
    uint64_t corrects; /* the event that this one took the place of; 0 = none */
};

/* sync_beside: commits settle later, as store.h says. */
struct vault_options {
    const char *data; /* the folder */
    uint64_t wal_max_bytes;
    bool sync_beside;
};

/* Open or create <data>/tracker.db, recover, and read the counters. */
ALD_NODISCARD enum ald_rc vault_open(struct vault *self, const struct vault_options *options,
                                     struct ald_err *err);
void vault_close(struct vault *self);

/* The store options of tracker.db, for the reader's own handle. path must outlive the call. */
struct ald_store_options vault_store_options(const char *path, bool read_only);

/* One transaction a batch. commit writes the books' changes with it; it is on disk once it has
 * settled (store.h). settle waits for that. */
void vault_begin(struct vault *self);
ALD_NODISCARD enum ald_rc vault_commit(struct vault *self);
ALD_NODISCARD enum ald_rc vault_settle(struct vault *self);
bool vault_settled(const struct vault *self); /* or it never will be */

/* Small named facts. */
int64_t vault_meta(struct vault *self, const char *name);
void vault_meta_set(struct vault *self, const char *name, int64_t value);

/* Until when an account is blocked, in service time: a restart must not ask a provider that has
 * just told us to stay away. */
int64_t vault_block(struct vault *self, const char *provider);
void vault_block_set(struct vault *self, const char *provider, int64_t until_ms);

/* Tasks. */
void vault_task_add(struct vault *self, const struct vault_task *task);
void vault_task_attach(struct vault *self, uint64_t id, const char *provider,
                       const char *provider_id);
/* What its caller gave with a task; "" without a row. */
struct vault_words {
    char key[ALD_KEY_MAX];
    char meta[ALD_META_MAX];
    char trace[ALD_TRACE_MAX];
};
void vault_task_words(struct vault *self, uint64_t id, struct vault_words *out);
/* The task that a provider's id names, 0 = none. Also of tasks that have ended or are purged. */
uint64_t vault_ref_find(struct vault *self, const char *provider, const char *provider_id);
/* Idempotency keys: true if there is one; task and digest (65 bytes) are filled. */
bool vault_key_find(struct vault *self, const char *key, uint64_t *task, char *digest);
void vault_key_add(struct vault *self, const char *key, uint64_t task, const char *digest,
                   int64_t at_ms);
/* Is there a row of this task? Was there one, purged not long ago? */
bool vault_task_known(struct vault *self, uint64_t id);
bool vault_task_buried(struct vault *self, uint64_t id);

/* Arrivals. add sets no; the books count it. */
void vault_arrival_add(struct vault *self, struct vault_arrival *arrival);
/* Move an arrival out of parked or dead. letter may be "". */
void vault_arrival_move(struct vault *self, int64_t no, enum ald_disposition from,
                        enum ald_disposition to, uint64_t task, const char *letter);
/* It has come to be known which task an arrival is about. */
void vault_arrival_about(struct vault *self, int64_t no, uint64_t task);
/* Read one; message is copied to buf, the other texts are empty. False: no such row. */
bool vault_arrival_get(struct vault *self, int64_t no, struct vault_arrival *out,
                       struct ald_buf *buf);
/* How many arrivals of a task are indexed, counted up to most. */
uint32_t vault_arrivals_of(struct vault *self, uint64_t task, uint32_t most);
typedef void vault_arrival_fn(void *context, const struct vault_arrival *arrival);
/* Every arrival after no (without its message), and every parked one. */
void vault_each_arrival(struct vault *self, int64_t after, vault_arrival_fn *fn, void *context);
void vault_each_parked(struct vault *self, vault_arrival_fn *fn, void *context);

/* Results. add sets seq and published_ms; the books count it. */
void vault_result_add(struct vault *self, struct vault_result *result);
/* How an ended task ended. seq: where its result is if the caller knows, else 0. False: it has no
 * result here. */
bool vault_end_find(struct vault *self, uint64_t task, uint64_t seq, struct vault_end *out);
/* Did an event that `end` took the place of say this? Those that are kept, 16 back. */
bool vault_end_was(struct vault *self, const struct vault_end *end, enum ald_state state,
                   const char *digest);

/* A line for a task's timeline. */
void vault_note(struct vault *self, uint64_t task, int64_t at_ms, const char *what,
                const char *text);
/* Call fn with the polls noted of each task that may be open, once or twice: those that left for
 * the provider, and of these the ones that are not held against it: hinted, or answered with a
 * block. */
struct vault_polls {
    uint64_t task;
    uint32_t polls, hinted;
    int64_t last_ms; /* when the last of them was over, by its poller's clock */
};
typedef void vault_polls_fn(void *context, const struct vault_polls *polls);
void vault_each_polled(struct vault *self, vault_polls_fn *fn, void *context);

#endif
