/* top.h - the live view: what one look found, and a page of lines from two of them.
 *
 * Pure: answers of the API in, lines out. The terminal, the keys and the clock are top.c's. What
 * came from outside is escaped when it is taken.
 */
#ifndef ALD_CTL_TOP_H
#define ALD_CTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/config/extract.h"

enum {
    TOP_PROVIDERS_MAX = 256,
    TOP_TEXT_MAX = 96,
    TOP_WHY_MAX = 200,
    TOP_REASONS_MAX = 16,
    TOP_NETS = 4,
    TOP_COLUMNS_MIN = 40,
    TOP_ROWS_MIN = 8
};

/* Counters whose differences are rates. */
enum top_net { TOP_CALLBACK, TOP_POLL, TOP_REPLAY, TOP_SUBMIT };
extern const char *const TOP_NET_NAMES[TOP_NETS];

struct top_provider {
    char name[TOP_TEXT_MAX];
    char state[TOP_TEXT_MAX]; /* asked, paused, blocked, in trouble */
    bool well;
    int64_t open, queued, polling, late, due_ms; /* due_ms: wall, 0 = nothing is due */
    char budget[TOP_TEXT_MAX];
    char why[TOP_TEXT_MAX];
};

struct top_look {
    bool there;            /* the gateway answered */
    char why[TOP_WHY_MAX]; /* else why not */
    int64_t mono_ms;       /* when */
    int64_t wall_ms;
    bool tracker, dlq; /* they answer */
    int64_t run_ms;    /* of the tracker */
    int64_t pollers;
    int64_t received;      /* arrivals, ever */
    int64_t ended;         /* tasks, ever */
    int64_t asked;         /* polls that were answered, ever */
    int64_t net[TOP_NETS]; /* results by where they came from, ever */
    int64_t open, accepted, submitting, pending, polling, parked;
    int64_t oldest_at_ms; /* wall; 0 = none is open */
    char oldest[TOP_TEXT_MAX];
    char head[TOP_TEXT_MAX];
    char unbalanced[TOP_TEXT_MAX]; /* "" the tracker's books balance */
    int64_t spool_items, spool_oldest_ms, spool_damaged;
    bool spool_stuck;
    int64_t letters_open, letters_held, letters_oldest_ms, outbox;
    struct {
        char name[TOP_TEXT_MAX / 2];
        int64_t count;
    } reason[TOP_REASONS_MAX];
    size_t reasons;
    bool consumers_told;
    size_t consumers;
    int64_t lag; /* the largest */
    char laggard[TOP_TEXT_MAX];
    size_t providers;
    struct top_provider provider[TOP_PROVIDERS_MAX];
};

/* Take an answer; what is not in it stays as it is. status: GET /v1/status. */
void top_take_status(struct top_look *self, struct ald_json answer);
void top_take_providers(struct top_look *self, struct ald_json answer);
void top_take_consumers(struct top_look *self, struct ald_json answer);

/* How the page is to be. */
struct top_view {
    unsigned rows, columns; /* of the terminal; 0 rows: as long as it gets */
    bool color;
    bool paused;
    bool help;
    size_t chosen; /* provider */
    const char *url;
    const char *every; /* as it was said */
    bool keys;         /* name them in the last line */
};

/* Events of a kind per second; below 0: it can't be told, as there is no look before or the counter
 * went back. */
double top_rate(const struct top_look *before, const struct top_look *now, int64_t was, int64_t is);

/* Write the page: lines, each with an end, none wider than the terminal, at most `rows`. before may
 * be NULL. */
void top_page(const struct top_view *view, const struct top_look *before,
              const struct top_look *now, struct ald_buf *out);

/* The same facts as one line of JSON. */
void top_json(const struct top_look *before, const struct top_look *now, struct ald_buf *out);

#endif
