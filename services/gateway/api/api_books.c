/* Status, the balance of the books. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/words.h"
#include "services/gateway/api/api_books.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/api/audit.h"
#include "services/gateway/api/json_view.h"
#include "services/gateway/ledger.h"

enum {
    BOOKS_TRIES = 6, /* what moves while it is read is read again */
    BOOKS_PAUSE_MS = 150,
    BOOKS_DEEP_MS = 540000
};

/* Add the figures of an answer. False: the daemon did not give any; *why says what it did. */
static bool books_ask(struct api_call *call, const char *channel, const struct ald_schema *schema,
                      void *msg, const char *group, struct audit *books, enum ald_rc *why)
{
    zmsg_t *answer = NULL;
    struct msg_answer head;
    struct msg_figure figure;
    *why = caller_ask(call->api->caller, channel, schema, msg, API_WAIT_MS, &answer);
    if (*why == ALD_OK &&
        (!api_read(zmsg_first(answer), &MSG_ANSWER, &head) || strcmp(head.rc, "ok") != 0))
        *why = ALD_IO;
    for (zframe_t *frame = *why == ALD_OK ? zmsg_next(answer) : NULL; frame;
         frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_FIGURE, &figure))
            continue;
        bool ours = strcmp(figure.group, "gateway") == 0;
        audit_add(books, group ? group : ours ? "gateways" : NULL, &figure);
    }
    zmsg_destroy(&answer);
    return *why == ALD_OK;
}

static void books_door(struct audit *books)
{
    static const struct {
        enum ledger_count count;
        const char *name;
    } names[] = {
        {LEDGER_ANSWERED, "answered"},   {LEDGER_ACKNOWLEDGED, "acknowledged"},
        {LEDGER_SPOOLED, "spooled"},     {LEDGER_UNANSWERED, "unanswered"},
        {LEDGER_REFUSED, "refused"},     {LEDGER_FORGED, "forged"},
        {LEDGER_NOBODY, "no_profile"},   {LEDGER_UNREADABLE, "unreadable"},
        {LEDGER_OVERSIZED, "oversized"}, {LEDGER_CUT, "cut"},
    };
    for (size_t i = 0; i < ALD_COUNT(names); i++)
        audit_add_value(books, "gateway", names[i].name, (int64_t)ledger_read(names[i].count));
}

static void books_spool(struct api_call *call, struct audit *books)
{
    struct api *api = call->api;
    audit_add_value(books, "spool", "items", atomic_load(&api->spool_items));
    audit_add_value(books, "spool", "oldest_ms", atomic_load(&api->spool_oldest_ms));
    audit_add_value(books, "spool", "damaged", atomic_load(&api->spool_damaged));
    audit_add_value(books, "spool", "oversized", atomic_load(&api->spool_oversized));
    audit_add_value(books, "spool", "writable", atomic_load(&api->writable));
}

/* The figures as members of the object that is open, a group together wherever it came from. */
static void books_view(struct ald_json_out *out, const struct audit *books)
{
    struct view_figures view = {.out = out};
    for (size_t i = 0; i < books->count; i++) {
        const char *group = books->figures[i].group;
        if (i > 0 && strcmp(books->figures[i - 1].group, group) == 0)
            continue; /* with that one */
        bool shown = false;
        for (size_t k = 0; k < i && !shown; k++)
            shown = strcmp(books->figures[k].group, group) == 0;
        for (size_t k = i; k < books->count && !shown; k++)
            if (strcmp(books->figures[k].group, group) == 0)
                view_figure(&view, &books->figures[k]);
        view_figures_end(&view);
    }
}

/* In the books the tracker's own verdict counts as a person's hand. Of tasks that expired nobody's
 * is to be looked for: they are told apart. */
static void books_split(struct audit *books)
{
    const int64_t expired = audit_value(books, "tasks", "expired");
    for (size_t i = 0; i < books->count; i++)
        if (strcmp(books->figures[i].group, "results") == 0 &&
            strcmp(books->figures[i].name, ald_source_name(ALD_SOURCE_MANUAL)) == 0) {
            books->figures[i].value -= expired;
            audit_add_value(books, "results", "expired", expired);
            return;
        }
}

void books_status(struct api_call *call, struct ald_json_out *out)
{
    struct audit all = {0};
    struct audit *books = &all;
    struct msg_status tracker = {0};
    struct msg_status dlq = {0};
    enum ald_rc why = ALD_OK;
    bool tracker_there =
        books_ask(call, ALD_CHANNEL_QUERY, &MSG_STATUS, &tracker, NULL, books, &why);
    bool dlq_there = books_ask(call, ALD_CHANNEL_LETTERS, &MSG_STATUS, &dlq, "dlq", books, &why);
    books_door(books);
    books_spool(call, books);
    books_split(books);
    api_notes(call, books);
    ald_json_out_object(out, NULL);
    ald_json_out_array(out, "away");
    if (!tracker_there)
        ald_json_out_text(out, NULL, "tracker");
    if (!dlq_there)
        ald_json_out_text(out, NULL, "dlq");
    ald_json_out_close_array(out);
    books_view(out, books);
    ald_json_out_close_object(out);
    audit_free(books);
}

void api_status(struct api_call *call)
{
    struct ald_json_out out = api_json(call);
    books_status(call, &out);
    api_send(call, 200);
}

static enum ald_rc books_read(struct api_call *call, struct audit *books)
{
    struct msg_audit tracker = {0};
    struct msg_status dlq = {0};
    enum ald_rc why = ALD_OK;
    audit_clear(books);
    if (!books_ask(call, ALD_CHANNEL_QUERY, &MSG_AUDIT, &tracker, NULL, books, &why))
        return why;
    if (!books_ask(call, ALD_CHANNEL_LETTERS, &MSG_STATUS, &dlq, "dlq", books, &why))
        audit_say(books, "the dlq does not answer: open letters were not compared");
    books_door(books);
    books_spool(call, books);
    audit_check(books);
    return ALD_OK;
}

static void books_send(struct api_call *call, struct audit *books)
{
    books_split(books);
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    ald_json_out_bool(&out, "balanced", books->problem_count == 0);
    ald_json_out_array(&out, "problems");
    for (size_t i = 0; i < books->problem_count; i++)
        ald_json_out_text(&out, NULL, books->problems[i]);
    ald_json_out_close_array(&out);
    books_view(&out, books);
    ald_json_out_close_object(&out);
    api_send(call, 200);
}

/* The tracker counts all of its rows again. False: a problem was answered. */
static bool books_recount(struct api_call *call, struct audit *books)
{
    struct msg_audit ask = {.deep = true};
    struct msg_answer head;
    struct msg_figure figure;
    zmsg_t *answer = NULL;
    if (!api_ask(call, ALD_CHANNEL_QUERY, &MSG_AUDIT, &ask, BOOKS_DEEP_MS, &head, &answer))
        return false;
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_FIGURE, &figure))
            continue;
        if (figure.text[0] != '\0')
            audit_say(books, "counted again: %s", figure.text);
        audit_add(books, NULL, &figure);
    }
    zmsg_destroy(&answer);
    return true;
}

/* The ledgers lie in several processes: a letter between two of them is in both for a moment. So a
 * balance that fails is looked at again before it is told. */
void api_audit(struct api_call *call)
{
    bool deep = false;
    const struct api_query_field fields[] = {
        {.name = "deep", .kind = API_QUERY_FLAG, .out = &deep}};
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return;
    struct audit all = {0};
    struct audit *books = &all;
    enum ald_rc rc = books_read(call, books);
    for (int i = 1; i < BOOKS_TRIES && rc == ALD_OK && books->problem_count > 0; i++) {
        const struct timespec pause = {.tv_nsec = BOOKS_PAUSE_MS * 1000000L};
        (void)nanosleep(&pause, NULL);
        rc = books_read(call, books);
    }
    if (rc != ALD_OK)
        api_unasked(call, ALD_CHANNEL_QUERY, rc);
    else if (!deep || books_recount(call, books))
        books_send(call, books);
    audit_free(books);
}
