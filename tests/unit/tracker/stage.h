/* stage.h - the tracker's acts over a real store, without a socket: what gateways, pollers and the
 * dlq say is a function call, and time stands where the test put it. One thread.
 *
 * Profiles: `two` (trust token), `bare` (trust id), `thin` (trust hint), `mute` (token, no poll);
 * each keeps four unproven arrivals, polls each 5 s, gives up after 600 s.
 */
#ifndef ALD_TESTS_TRACKER_STAGE_H
#define ALD_TESTS_TRACKER_STAGE_H

#include "services/tracker/tracker.h"
#include "tests/unit/store/folder.h"

enum { STAGE_HOUR = 3600000 };

struct stage {
    struct folder folder;
    struct ald_settings settings;
    ald_profiles_t *profiles;
    struct tracker tracker;
    uint64_t num;  /* of the gateway's last item */
    uint64_t more; /* keys given */
};

int stage_setup(void **state);
int stage_teardown(void **state);
/* kill -9 and a new start; with other profiles if yaml is not NULL. */
void stage_restart(struct stage *self, const char *yaml);
/* SIGHUP: these profiles are the settings' now. */
void stage_renew(struct stage *self, const char *yaml);
/* What a clean stop writes; the tracker goes on after it. */
void stage_stop(struct stage *self);
void stage_pass(int64_t ms);
/* All that clocks ask for, as in one tick. */
void stage_tick(struct stage *self);
/* A whole run of the index. */
void stage_index(struct stage *self);

/* The one gateway. */
struct sender *stage_gateway(struct stage *self);

/* A callback as its door would say it; fields left out have their usual values. */
struct stage_callback {
    uint64_t num;         /* 0 = the next */
    const char *provider; /* NULL: two */
    uint64_t task;        /* of a genuine token */
    uint64_t attempt;     /* the same */
    const char *proof;    /* NULL: token with a task, else none */
    const char *query;    /* such as "id=77&code=abc" */
    const char *fault;
    const char *peer;
    int64_t age_ms; /* since the door took it */
    bool spooled;
};

/* Each in a transaction of its own. stage_take returns the disposition, a static word. */
struct msg_ack stage_take(struct stage *self, const struct stage_callback *callback);
/* How many of all arrivals are kept with their message. */
unsigned stage_whole(struct stage *self);
uint64_t stage_register(struct stage *self, const char *provider, const char *provider_id);
const char *stage_attach(struct stage *self, uint64_t task, const char *provider_id); /* rc */
void stage_cancel(struct stage *self, uint64_t task);

/* Lease whatever is queued, and tell an outcome; then: see profile.h. Returns the task, 0 = none.
 */
uint64_t stage_poll(struct stage *self, const struct msg_outcome *outcome);

/* Judge the newest letter (or the one of this id) again, as the dlq holds it. */
struct stage_again {
    const char *letter; /* NULL: the newest */
    bool by_person, believe, buy, publish;
    bool edited;         /* the same bytes, as another revision */
    const char *query;   /* with this in them; NULL: the same */
    int64_t asked_at_ms; /* wall; 0 = now */
};
struct msg_ack stage_reinject(struct stage *self, const struct stage_again *again);
struct msg_ack stage_close(struct stage *self, const char *letter);
/* The newest letter's message as the outbox holds it; false: there is none. Borrowed till the next
 * call. */
bool stage_letter(struct stage *self, struct msg_letter *out);

/* The state and source of an ended task, such as "done callback"; "open"; "none". */
const char *stage_state(struct stage *self, uint64_t task);
int64_t stage_book(const struct stage *self, unsigned book);
int64_t stage_disposition(const struct stage *self, enum ald_disposition disposition);

#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, stage_setup, stage_teardown)

#endif
