/* Dead letters over HTTP: list, show, replay one, drop. */
#include <stdlib.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/gateway/api_call.h"
#include "services/gateway/json_in.h"
#include "services/gateway/json_view.h"

enum { LETTERS_LIMIT = 100, LETTERS_LIMIT_MAX = 1000, LETTERS_OUTBOX_MS = 3000 };

/* ---- lists: the dlq's letters, and those that still lie in the tracker's outbox ---- */

/* A page in the making. The outbox is asked first, so that a letter on its way is in one of the two
 * answers at least. */
struct letters_page {
    zmsg_t *dlq;    /* NULL: it does not answer */
    zmsg_t *outbox; /* NULL: not asked, or the tracker does not answer */
    struct msg_answer head;
    const char *note;
    struct msg_letter_view *waiting; /* of the outbox, newest first */
    size_t waiting_count;
};

static int letters_newer(const void *left, const void *right)
{
    const struct msg_letter_view *a = left;
    const struct msg_letter_view *b = right;
    return strcmp(b->letter, a->letter);
}

static void letters_waiting(struct letters_page *page)
{
    size_t most = zmsg_size(page->outbox);
    page->waiting = calloc(most, sizeof *page->waiting);
    ALD_ASSERT(page->waiting);
    for (zframe_t *frame = zmsg_first(page->outbox); frame; frame = zmsg_next(page->outbox))
        if (api_read(frame, &MSG_LETTER_VIEW, &page->waiting[page->waiting_count]))
            page->waiting_count++;
    if (page->waiting_count > 1)
        qsort(page->waiting, page->waiting_count, sizeof *page->waiting, letters_newer);
}

static void letters_ask_outbox(struct api_call *call, struct msg_letters *ask,
                               struct letters_page *page)
{
    struct msg_answer head = {0};
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_LETTERS, ask,
                                LETTERS_OUTBOX_MS, &page->outbox);
    if (rc == ALD_OK && api_read(zmsg_first(page->outbox), &MSG_ANSWER, &head) &&
        strcmp(head.rc, "ok") == 0) {
        letters_waiting(page);
        if (head.more)
            page->note = "More letters wait for the dlq than are shown.";
        return;
    }
    zmsg_destroy(&page->outbox);
    page->note = "The tracker does not answer: letters that wait for the dlq are not shown.";
}

/* False: a problem was answered. */
static bool letters_ask(struct api_call *call, struct msg_letters *ask, struct letters_page *page)
{
    if (ask->cursor[0] == '\0')
        letters_ask_outbox(call, ask, page);
    if (page->waiting_count > 0) /* one page has room for both */
        ask->limit = ask->limit > page->waiting_count ? ask->limit - page->waiting_count : 1;
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_LETTERS, &MSG_LETTERS, ask,
                                API_WAIT_MS, &page->dlq);
    if (rc != ALD_OK && page->outbox) {
        page->note = "The dlq does not answer: only letters that wait for it are shown.";
        return true;
    }
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_LETTERS, rc);
        return false;
    }
    if (!api_read(zmsg_first(page->dlq), &MSG_ANSWER, &page->head))
        page->head = (struct msg_answer){.rc = "io"};
    if (strcmp(page->head.rc, "ok") == 0)
        return true;
    api_refused(call, page->head.rc, page->head.detail);
    return false;
}

static void letters_put(struct json_out *out, const struct msg_letter_view *view)
{
    json_out_object(out, NULL);
    view_letter(out, view);
    json_out_close_object(out);
}

/* Both lists as one, newest first; of a letter in both the dlq knows more. */
static void letters_merge(struct json_out *out, const struct letters_page *page)
{
    struct msg_letter_view view;
    size_t next = 0;
    for (zframe_t *frame = page->dlq ? zmsg_next(page->dlq) : NULL; frame;
         frame = zmsg_next(page->dlq)) {
        if (!api_read(frame, &MSG_LETTER_VIEW, &view))
            continue;
        while (next < page->waiting_count && strcmp(page->waiting[next].letter, view.letter) > 0)
            letters_put(out, &page->waiting[next++]);
        if (next < page->waiting_count && strcmp(page->waiting[next].letter, view.letter) == 0)
            next++;
        letters_put(out, &view);
    }
    while (next < page->waiting_count)
        letters_put(out, &page->waiting[next++]);
}

void api_letter_list(struct api_call *call)
{
    struct msg_letters ask = {0};
    struct letters_page page = {0};
    char task[24];
    (void)api_argument(call, "reason", ask.reason, sizeof ask.reason);
    (void)api_argument(call, "provider", ask.provider, sizeof ask.provider);
    (void)api_argument(call, "state", ask.state, sizeof ask.state);
    (void)api_argument(call, "cursor", ask.cursor, sizeof ask.cursor);
    if (api_argument(call, "task", task, sizeof task) &&
        ald_task_id_parse(ald_span_str(task), &ask.task) != ALD_OK) {
        api_problem(call, 400, "The argument task is not an id.");
        return;
    }
    ask.limit = api_number(call, "limit", LETTERS_LIMIT, LETTERS_LIMIT_MAX);
    if (letters_ask(call, &ask, &page)) {
        struct json_out out = api_json(call);
        json_out_object(&out, NULL);
        json_out_array(&out, "letters");
        letters_merge(&out, &page);
        json_out_close_array(&out);
        json_out_text(&out, "cursor", page.head.cursor);
        if (page.note)
            json_out_text(&out, "note", page.note);
        json_out_close_object(&out);
        api_send(call, 200);
    }
    free(page.waiting);
    zmsg_destroy(&page.outbox);
    zmsg_destroy(&page.dlq);
}

/* ---- one letter ---- */

static void letters_history(struct json_out *out, zmsg_t *answer)
{
    struct msg_attempt attempt;
    json_out_array(out, "history");
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_ATTEMPT, &attempt))
            view_attempt(out, &attempt);
    json_out_close_array(out);
}

static void letters_send(struct api_call *call, zmsg_t *answer, const struct msg_answer *head,
                         bool history)
{
    struct json_out out = api_json(call);
    struct msg_letter_view view;
    json_out_object(&out, NULL);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (api_read(frame, &MSG_LETTER_VIEW, &view)) {
            view_letter(&out, &view);
            break;
        }
    }
    if (head->detail[0] != '\0')
        json_out_text(&out, "note", head->detail);
    if (history)
        letters_history(&out, answer);
    json_out_close_object(&out);
    api_send(call, 200);
}

/* Ask about one letter and answer with it. */
static void letters_one(struct api_call *call, const struct ald_schema *schema,
                        struct msg_letter_ref *ask, bool history)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (ald_text_copy(ask->letter, sizeof ask->letter, ald_span_str(call->argument)) != ALD_OK) {
        api_problem(call, 404, "There is no such letter.");
        return;
    }
    if (api_ask(call, ALD_CHANNEL_LETTERS, schema, ask, API_WAIT_MS, &head, &answer))
        letters_send(call, answer, &head, history);
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

void api_letter_show(struct api_call *call)
{
    struct msg_letter_ref ask = {0};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (ald_text_copy(ask.letter, sizeof ask.letter, ald_span_str(call->argument)) == ALD_OK &&
        !letters_known(call, ALD_CHANNEL_LETTERS, &ask, &head, &answer) &&
        letters_known(call, ALD_CHANNEL_QUERY, &ask, &head, &answer))
        ald_text_cut(head.detail, sizeof head.detail, ald_span_str("It waits for the dlq."));
    if (answer)
        letters_send(call, answer, &head, true);
    else
        letters_one(call, &MSG_LETTER_SHOW, &ask, true);
    zmsg_destroy(&answer);
}

static bool letters_read(struct api_call *call, struct msg_letter_ref *ask)
{
    const struct json_in_field fields[] = {
        {"believe", JSON_IN_BOOL, &ask->believe, 0},
        {"by", JSON_IN_TEXT, ask->by, sizeof ask->by},
    };
    struct ald_err err = {0};
    if (!api_body(call))
        return false;
    if (json_in_read(ald_buf_span(&call->worker->body), fields, ALD_COUNT(fields), &err) == ALD_OK)
        return true;
    api_problem(call, 400, err.text);
    return false;
}

void api_letter_replay(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    if (letters_read(call, &ask))
        letters_one(call, &MSG_LETTER_REPLAY, &ask, false);
}

void api_letter_drop(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    if (letters_read(call, &ask))
        letters_one(call, &MSG_LETTER_DROP, &ask, false);
}
