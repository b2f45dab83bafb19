/* facade_ask.h - what a client of the facade asks for: a path and fields in, a question out.
 *
 * Two protocols. in.php and res.php: an action in a field, answers in plain text or, with json=1,
 * in JSON. createTask and getTaskResult: JSON. The names that have a meaning here are found in
 * whatever case; all others are the provider's and go there as they came.
 *
 * Pure; any thread.
 */
#ifndef ALD_GATEWAY_FACADE_ASK_H
#define ALD_GATEWAY_FACADE_ASK_H

#include "common/config/facts.h"
#include "services/gateway/facade/facade_fields.h"

enum { FACADE_IDS_MAX = 100, FACADE_VERB_MAX = 33 };

enum facade_protocol { FACADE_PLAIN, FACADE_TASKS, FACADE_PROTOCOLS };

enum facade_what {
    FACADE_SUBMIT,
    FACADE_GET,    /* answered from what is known of the tasks */
    FACADE_REPORT, /* what the client thinks of a task's answer */
    FACADE_PASS,   /* anything else that only the provider can answer */
    FACADE_WRONG   /* see wrong */
};

struct facade_ask {
    enum facade_protocol protocol;
    enum facade_what what;
    bool json;           /* answers are JSON */
    bool price;          /* ... and have a price */
    bool several;        /* ids=, joined by pipes; else one id */
    bool open_to_pages;  /* pages of any site may read the answer */
    struct ald_span key; /* the client's; borrowed from the fields */
    size_t id_count;
    uint64_t ids[FACADE_IDS_MAX]; /* 0: no id of a task */
    char verb[FACADE_VERB_MAX];   /* of a report, or of what is passed on */
    char pingback[ALD_URL_MAX];   /* "": none */
    const char *wrong;            /* with FACADE_WRONG: the protocol's word for it */
};

/* Is this a path of a facade? In whatever case, with or without slashes at its end. */
bool facade_path(const char *path, enum facade_protocol *out);

/* Read a request to such a path. read: what facade_fields_read said. */
void facade_ask_read(const char *path, const struct facade_fields *fields, bool read,
                     struct facade_ask *out);

/* Write what is to be submitted as {"params": {...}, "files": {...}}: everything but what is for
 * us. A buffer that is too small has failed. */
void facade_submission(const struct facade_ask *ask, const struct facade_fields *fields,
                       struct ald_buf *out);

/* Write what is to be passed on to the provider, as an object. id: the provider's own, in the place
 * of ours; NULL: leave all as it is. */
void facade_call_params(const struct facade_ask *ask, const struct facade_fields *fields,
                        const char *id, struct ald_buf *out);

#endif
