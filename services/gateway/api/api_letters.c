/* Dead letters over HTTP: list, show, replay one, drop. What repairs is in api_desk.c. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/api/api_letters.h"
#include "services/gateway/api/json_in.h"
#include "services/gateway/api/json_view.h"

enum { LETTERS_LIMIT = 100, LETTERS_LIMIT_MAX = 1000, LETTERS_OUTBOX_MS = 3000 };

static const int64_t LETTERS_TIME_MAX_MS = INT64_C(253402300800000); /* the year 10000 */

/* ---- lists: the dlq's letters, and those that still lie in the tracker's outbox ---- */

/* A page in the making. Both are asked for what lies below one cursor, the id of a letter, so that
 * a letter belongs to one page whichever of the two has it; the outbox first, so that one on its
 * way is in one of the two answers at least. */
struct letters_page {
    zmsg_t *dlq; /* NULL: it does not answer */
    const char *note;
    char low[ALD_POSITION_MAX]; /* what is below is not known from both; "" = all is */
    uint64_t limit;
    uint64_t shown;
    char last[ALD_ULID_MAX];
    bool cut;                        /* there were more than `limit` */
    struct msg_letter_view *waiting; /* of the outbox, newest first */
    size_t waiting_count;
    size_t next; /* of those */
};

static void letters_low(struct letters_page *page, const char *cursor)
{
    if (strcmp(cursor, page->low) > 0)
        ald_text_cut(page->low, sizeof page->low, ald_span_str(cursor));
}

static void letters_waiting(struct letters_page *page, zmsg_t *answer)
{
    page->waiting = calloc(zmsg_size(answer), sizeof *page->waiting);
    ALD_ASSERT(page->waiting);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_LETTER_VIEW, &page->waiting[page->waiting_count]))
            page->waiting_count++;
}

/* False: the tracker does not answer. */
static bool letters_ask_outbox(struct api_call *call, struct msg_letters *ask,
                               struct letters_page *page)
{
    struct msg_answer head = {0};
    zmsg_t *answer = NULL;
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_LETTERS, ask,
                                LETTERS_OUTBOX_MS, &answer);
    bool ok = rc == ALD_OK && api_read(zmsg_first(answer), &MSG_ANSWER, &head) &&
              strcmp(head.rc, "ok") == 0;
    if (ok) {
        letters_waiting(page, answer);
        letters_low(page, head.cursor);
    } else {
        page->note = "The tracker does not answer: letters that wait for the dlq are not shown.";
    }
    zmsg_destroy(&answer);
    return ok;
}

/* False: a problem was answered. */
static bool letters_ask(struct api_call *call, struct msg_letters *ask, struct letters_page *page)
{
    struct msg_answer head;
    bool outbox = letters_ask_outbox(call, ask, page);
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_LETTERS, &MSG_LETTERS, ask,
                                API_WAIT_MS, &page->dlq);
    if (rc != ALD_OK && outbox) {
        page->note = "The dlq does not answer: only letters that wait for it are shown.";
        return true;
    }
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_LETTERS, rc);
        return false;
    }
    if (!api_read(zmsg_first(page->dlq), &MSG_ANSWER, &head))
        head = (struct msg_answer){.rc = "io"};
    letters_low(page, head.cursor);
    if (strcmp(head.rc, "ok") == 0)
        return true;
    api_refused(call, head.rc, head.detail);
    return false;
}

static void letters_put(struct ald_json_out *out, struct letters_page *page,
                        const struct msg_letter_view *view)
{
    if (strcmp(view->letter, page->low) < 0)
        return; /* of a later page, where the other side's are, too */
    page->cut = page->cut || page->shown == page->limit;
    if (page->cut)
        return;
    ald_json_out_object(out, NULL);
    view_letter(out, view);
    ald_json_out_close_object(out);
    memcpy(page->last, view->letter, sizeof page->last);
    page->shown++;
}

/* Both lists as one, newest first; of a letter in both the dlq knows more. */
static void letters_merge(struct ald_json_out *out, struct letters_page *page)
{
    struct msg_letter_view view;
    for (zframe_t *frame = page->dlq ? zmsg_next(page->dlq) : NULL; frame;
         frame = zmsg_next(page->dlq)) {
        if (!api_read(frame, &MSG_LETTER_VIEW, &view))
            continue;
        while (page->next < page->waiting_count &&
               strcmp(page->waiting[page->next].letter, view.letter) > 0)
            letters_put(out, page, &page->waiting[page->next++]);
        if (page->next < page->waiting_count &&
            strcmp(page->waiting[page->next].letter, view.letter) == 0)
            page->next++;
        letters_put(out, page, &view);
    }
    while (page->next < page->waiting_count)
        letters_put(out, page, &page->waiting[page->next++]);
}

static bool letters_query(struct api_call *call, struct msg_letters *ask, bool *group)
{
    uint64_t since_ms = 0;
    uint64_t until_ms = 0;
    const uint64_t latest = (uint64_t)LETTERS_TIME_MAX_MS;
    static const char states[] = "open, held, resolved, dropped";
    static const char reasons[] =
        "malformed, unauthenticated, unknown_task, unmapped_status, conflict, submit_failed, "
        "submit_uncertain, expired, consumer_rejected";
    const struct api_query_field fields[] = {
        {.name = "state",
         .kind = API_QUERY_WORD,
         .out = ask->state,
         .cap = sizeof ask->state,
         .words = states},
        {.name = "reason",
         .kind = API_QUERY_WORD,
         .out = ask->reason,
         .cap = sizeof ask->reason,
         .words = reasons},
        {.name = "provider",
         .kind = API_QUERY_TEXT,
         .out = ask->provider,
         .cap = sizeof ask->provider},
        {.name = "task", .kind = API_QUERY_TASK, .out = &ask->task},
        {.name = "limit", .kind = API_QUERY_NUMBER, .out = &ask->limit, .max = LETTERS_LIMIT_MAX},
        {.name = "cursor", .kind = API_QUERY_TEXT, .out = ask->cursor, .cap = sizeof ask->cursor},
        {.name = "since", .kind = API_QUERY_NUMBER, .out = &since_ms, .max = latest},
        {.name = "until", .kind = API_QUERY_NUMBER, .out = &until_ms, .max = latest},
        {.name = "q", .kind = API_QUERY_TEXT, .out = ask->q, .cap = sizeof ask->q},
        {.name = "consumer",
         .kind = API_QUERY_TEXT,
         .out = ask->consumer,
         .cap = sizeof ask->consumer},
        {.name = "group", .kind = API_QUERY_FLAG, .out = group},
    };
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return false;
    ask->since_ms = (int64_t)since_ms;
    ask->until_ms = (int64_t)until_ms;
    return true;
}

void api_letter_list(struct api_call *call)
{
    struct msg_letters ask = {0};
    struct letters_page page = {0};
    bool group = false;
    ask.limit = LETTERS_LIMIT;
    if (!letters_query(call, &ask, &group))
        return;
    if (group) {
        letters_groups(call, &ask);
        return;
    }
    if (ask.limit == 0)
        ask.limit = LETTERS_LIMIT_MAX;
    page.limit = ask.limit;
    if (letters_ask(call, &ask, &page)) {
        struct ald_json_out out = api_json(call);
        ald_json_out_object(&out, NULL);
        ald_json_out_array(&out, "letters");
        letters_merge(&out, &page);
        ald_json_out_close_array(&out);
        ald_json_out_text(&out, "cursor", page.cut ? page.last : page.low);
        if (page.note)
            ald_json_out_text(&out, "note", page.note);
        ald_json_out_close_object(&out);
        api_send(call, 200);
    }
    free(page.waiting);
    zmsg_destroy(&page.dlq);
}

/* ---- one letter ---- */

/* What was tried; and with it all else that happened. */
static void letters_history(struct ald_json_out *out, zmsg_t *answer)
{
    struct msg_attempt line;
    ald_json_out_array(out, "history");
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_ATTEMPT, &line) && line.attempt > 0)
            view_attempt(out, &line);
    ald_json_out_close_array(out);
    ald_json_out_array(out, "timeline");
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_ATTEMPT, &line))
            view_letter_line(out, &line);
    ald_json_out_close_array(out);
}

static void letters_judged(struct ald_json_out *out, zmsg_t *answer)
{
    struct msg_judged judged;
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_JUDGED, &judged))
            view_judged(out, &judged);
}

static void letters_send(struct api_call *call, zmsg_t *answer, const struct msg_answer *head,
                         bool history)
{
    struct ald_json_out out = api_json(call);
    struct msg_letter_view view;
    ald_json_out_object(&out, NULL);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (api_read(frame, &MSG_LETTER_VIEW, &view)) {
            view_letter(&out, &view);
            break;
        }
    }
    if (head->detail[0] != '\0')
        ald_json_out_text(&out, "note", head->detail);
    letters_judged(&out, answer);
    if (history)
        letters_history(&out, answer);
    ald_json_out_close_object(&out);
    api_send(call, 200);
}

/* Ask the dlq for one letter and answer with it. */
static void letters_one(struct api_call *call, struct msg_letter_ref *ask)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (ald_text_copy(ask->letter, sizeof ask->letter, ald_span_str(call->argument)) != ALD_OK) {
        api_problem(call, 404, "There is no such letter.");
        return;
    }
    if (api_ask(call, ALD_CHANNEL_LETTERS, &MSG_LETTER_SHOW, ask, API_WAIT_MS, &head, &answer))
        letters_send(call, answer, &head, true);
    zmsg_destroy(&answer);
}

/* Does the daemon on this channel know the letter? True: *answer is ours, with the letter. */
static bool letters_known(struct api_call *call, const char *channel, struct msg_letter_ref *ask,
                          struct msg_answer *head, zmsg_t **answer)
{
    enum ald_rc rc =
        caller_ask(call->api->caller, channel, &MSG_LETTER_SHOW, ask, LETTERS_OUTBOX_MS, answer);
    if (rc == ALD_OK && api_read(zmsg_first(*answer), &MSG_ANSWER, head) &&
        strcmp(head->rc, "ok") == 0)
        return true;
    zmsg_destroy(answer);
    return false;
}

static bool letters_waits(struct api_call *call, struct msg_letter_ref *ask)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    bool waits = letters_known(call, ALD_CHANNEL_QUERY, ask, &head, &answer);
    zmsg_destroy(&answer);
    return waits;
}

void api_letter_show(struct api_call *call)
{
    struct msg_letter_ref ask = {0};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    const struct api_query_field fields[] = {
        {.name = "revision", .kind = API_QUERY_NUMBER, .out = &ask.revision, .max = UINT32_MAX}};
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return;
    if (ald_text_copy(ask.letter, sizeof ask.letter, ald_span_str(call->argument)) == ALD_OK &&
        !letters_known(call, ALD_CHANNEL_LETTERS, &ask, &head, &answer) &&
        letters_known(call, ALD_CHANNEL_QUERY, &ask, &head, &answer))
        ald_text_cut(head.detail, sizeof head.detail, ald_span_str("It waits for the dlq."));
    if (answer)
        letters_send(call, answer, &head, true);
    else
        letters_one(call, &ask);
    zmsg_destroy(&answer);
}

enum letters_end { LETTERS_TOLD, LETTERS_ON_ITS_WAY, LETTERS_UNKNOWN };

/* Tell the dlq what to do with one letter and answer, unless it does not know the letter. */
static enum letters_end letters_tell(struct api_call *call, const struct ald_schema *schema,
                                     void *ask)
{
    struct msg_answer head = {0};
    struct msg_letter_ref waiting = {0};
    zmsg_t *answer = NULL;
    enum letters_end end = LETTERS_TOLD;
    enum ald_rc rc =
        caller_ask(call->api->caller, ALD_CHANNEL_LETTERS, schema, ask, API_WAIT_MS, &answer);
    if (rc == ALD_OK && !api_read(zmsg_first(answer), &MSG_ANSWER, &head))
        head = (struct msg_answer){.rc = "io"};
    ald_text_cut(waiting.letter, sizeof waiting.letter, ald_span_str(call->argument));
    if (rc != ALD_OK)
        api_unasked(call, ALD_CHANNEL_LETTERS, rc);
    else if (strcmp(head.rc, "ok") == 0)
        letters_send(call, answer, &head, false);
    else if (strcmp(head.rc, "notfound") == 0)
        end = letters_waits(call, &waiting) ? LETTERS_ON_ITS_WAY : LETTERS_UNKNOWN;
    else
        api_refused(call, head.rc, head.detail);
    zmsg_destroy(&answer);
    return end;
}

/* A person's command about one letter. What waits in the outbox the dlq does not know yet: that is
 * not "there is none", but "not yet". Both may have missed one that went over just then, so the dlq
 * is asked twice. */
void letters_command(struct api_call *call, const struct ald_schema *schema, void *ask,
                     char letter[ALD_ULID_MAX])
{
    enum letters_end end = LETTERS_UNKNOWN;
    if (ald_text_copy(letter, ALD_ULID_MAX, ald_span_str(call->argument)) == ALD_OK)
        for (unsigned i = 0; i < 2 && end == LETTERS_UNKNOWN; i++)
            end = letters_tell(call, schema, ask);
    if (end == LETTERS_ON_ITS_WAY)
        api_problem(call, 503, "The letter is on its way to the dlq; nothing was done. Try again.");
    else if (end == LETTERS_UNKNOWN)
        api_problem(call, 404, "There is no such letter.");
}

void api_letter_replay(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    bool dry_run = false;
    const struct json_in_field fields[] = {
        {"believe", JSON_IN_BOOL, &ask.believe, 0}, {"buy", JSON_IN_BOOL, &ask.buy, 0},
        {"publish", JSON_IN_BOOL, &ask.publish, 0}, {"by", JSON_IN_TEXT, ask.by, sizeof ask.by},
        {"dry_run", JSON_IN_BOOL, &dry_run, 0},
    };
    if (api_members(call, fields, ALD_COUNT(fields)))
        letters_command(call, dry_run ? &MSG_LETTER_JUDGE : &MSG_LETTER_REPLAY, &ask, ask.letter);
}

void api_letter_drop(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    const struct json_in_field fields[] = {
        {"believe", JSON_IN_BOOL, &ask.believe, 0},
        {"buy", JSON_IN_BOOL, &ask.buy, 0},
        {"publish", JSON_IN_BOOL, &ask.publish, 0},
        {"by", JSON_IN_TEXT, ask.by, sizeof ask.by},
    };
    if (api_members(call, fields, ALD_COUNT(fields)))
        letters_command(call, &MSG_LETTER_DROP, &ask, ask.letter);
}
