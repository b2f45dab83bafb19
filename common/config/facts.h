/* facts.h - a message of a provider's as facts, and what it was judged to mean. Plain values, no
 * functions but those of names. Any thread. */
#ifndef ALD_CONFIG_FACTS_H
#define ALD_CONFIG_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/span.h"
#include "proto/msg_limits.h"

enum ald_then {
    ALD_THEN_UNKNOWN, /* nothing matched: never terminal */
    ALD_THEN_ACCEPTED,
    ALD_THEN_DONE,
    ALD_THEN_FAILED,
    ALD_THEN_LOST,
    ALD_THEN_PENDING,
    ALD_THEN_HINT, /* poll now, believe nothing */
    ALD_THEN_IGNORE,
    ALD_THEN_CODE,          /* see class */
    ALD_THEN_FETCH,         /* the end is known, the result takes another request */
    ALD_THEN_DONE_AT_SUBMIT /* the answer to the submission is the result */
};

enum ald_class {
    ALD_CLASS_NONE,
    ALD_CLASS_PENDING,
    ALD_CLASS_TRANSIENT,
    ALD_CLASS_CONFIG,
    ALD_CLASS_PERMANENT,
    ALD_CLASS_FAILED,
    ALD_CLASS_LOST,
    ALD_CLASS_UNKNOWN
};

enum ald_scope { ALD_SCOPE_TASK, ALD_SCOPE_ACCOUNT, ALD_SCOPE_IP, ALD_SCOPE_PROXY };

enum ald_stage { ALD_STAGE_SUBMIT, ALD_STAGE_POLL, ALD_STAGE_CALLBACK, ALD_STAGE_FETCH };

enum { ALD_STAGES = 4, ALD_FACT_HEADERS_MAX = 64 };

/* A header of a message, without the colon. */
struct ald_fact_header {
    struct ald_span name;
    struct ald_span value;
};

/* One message to judge. Absent parts are empty; http 0 means 200. Text is not decoded yet. */
struct ald_facts {
    unsigned http;
    const struct ald_fact_header *headers; /* at most ALD_FACT_HEADERS_MAX */
    size_t header_count;
    struct ald_span query;
    struct ald_span content_type;
    struct ald_span body;
};

struct ald_verdict {
    enum ald_then then;
    enum ald_class cls; /* with ALD_THEN_CODE, else NONE */
    enum ald_scope scope;
    bool block;       /* the scope waits for wait_ms, not the task alone */
    bool resubmit;    /* with class FAILED: a new submission may succeed */
    bool alert;       /* by a code that somebody should hear of */
    int64_t wait_ms;  /* 0 = the schedule's */
    int64_t grace_ms; /* lost counts only this long after the task was made */
    char id[129];     /* "" = none */
    char code[257];   /* verbatim, cut to fit */
    char cost[33];
    char rule[33];                /* which rule fired, for people */
    const char *code_row;         /* name of the row of the code table that counted; NULL: none */
    char detail[257];             /* what the provider says beside the code, cut to fit */
    char poll_url[ALD_URL_MAX];   /* "" = none; where this task is polled */
    char result_url[ALD_URL_MAX]; /* "" = none; where its result is fetched */
    struct ald_span result;       /* into scratch or the facts */
    bool result_json;             /* raw JSON, not text */
};

const char *ald_then_name(enum ald_then then);
const char *ald_class_name(enum ald_class cls);
const char *ald_scope_name(enum ald_scope scope);
ALD_NODISCARD bool ald_then_find(const char *word, enum ald_then *out);
ALD_NODISCARD bool ald_class_find(const char *word, enum ald_class *out);
ALD_NODISCARD bool ald_scope_find(const char *word, enum ald_scope *out);

#endif
