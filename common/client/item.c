#include "common/client/item.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

/* Show the program what message and frame hold. */
static void item_show(struct item *item)
{
    const struct msg_event *message = &item->message;
    item->event = (struct aldaba_event){.lane = message->lane,
                                        .seq = message->seq,
                                        .task = message->task,
                                        .position = item->position,
                                        .provider = message->provider,
                                        .provider_id = message->provider_id,
                                        .state = message->state,
                                        .source = message->source,
                                        .code = message->code,
                                        .key = message->key,
                                        .meta = message->meta,
                                        .trace = message->trace,
                                        .corrects = message->corrects,
                                        .result_type = message->result_type,
                                        .result = message->result.data,
                                        .result_bytes = message->result.len,
                                        .received_at_ms = message->received_ms,
                                        .published_at_ms = message->published_ms,
                                        .deliveries = message->deliveries,
                                        .redelivered = message->redelivered};
    if (!item->event.result)
        item->event.result = "";
}

static struct item *item_new(void)
{
    struct item *item = malloc(sizeof *item);
    if (!item)
        return NULL;
    item->next = NULL;
    item->bytes = NULL;
    item->position[0] = item->gap_before[0] = item->gap_why[0] = '\0';
    (void)zmq_msg_init(&item->frame);
    return item;
}

struct item *item_of(zmq_msg_t *frame)
{
    struct item *item = item_new();
    if (!item)
        return NULL;
    (void)zmq_msg_move(&item->frame, frame);
    if (ald_wire_decode(&MSG_EVENT, &item->message, bus_frame_span(&item->frame)) == ALD_OK) {
        item_show(item);
        return item;
    }
    (void)zmq_msg_move(frame, &item->frame);
    item_free(item);
    return NULL;
}

struct item *item_gap(const char *before, const char *why)
{
    struct item *item = item_new();
    if (!item)
        return NULL;
    memset(&item->message, 0, sizeof item->message);
    ald_text_cut(item->gap_before, sizeof item->gap_before, ald_span_str(before));
    ald_text_cut(item->gap_why, sizeof item->gap_why, ald_span_str(why));
    item_show(item);
    return item;
}

struct item *item_copy(const struct aldaba_event *event)
{
    const struct item *from = (const struct item *)(const void *)event;
    struct item *item = item_new();
    if (!item)
        return NULL;
    item->message = from->message;
    memcpy(item->position, from->position, sizeof item->position);
    size_t len = from->message.result.len;
    item->bytes = malloc(len ? len : 1);
    if (!item->bytes) {
        item_free(item);
        return NULL;
    }
    if (len > 0)
        memcpy(item->bytes, from->message.result.data, len);
    item->message.result = ald_span_of(item->bytes, len);
    item_show(item);
    return item;
}

void item_free(struct item *item)
{
    if (!item)
        return;
    (void)zmq_msg_close(&item->frame);
    free(item->bytes);
    free(item);
}

void item_place(struct item *item, const char *position)
{
    ald_text_cut(item->position, sizeof item->position, ald_span_str(position));
}

void item_push(struct item_list *list, struct item *item)
{
    item->next = NULL;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->count++;
    list->bytes += item->event.result_bytes;
}

struct item *item_pop(struct item_list *list)
{
    struct item *item = list->first;
    if (!item)
        return NULL;
    list->first = item->next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    list->bytes -= item->event.result_bytes;
    return item;
}

void item_list_free(struct item_list *list)
{
    for (struct item *item = item_pop(list); item; item = item_pop(list))
        item_free(item);
}

void item_drop_behind(struct item_list *list, uint64_t lane, uint64_t seq)
{
    struct item_list kept = {0};
    for (struct item *item = item_pop(list); item; item = item_pop(list)) {
        bool behind =
            item->event.lane > lane || (item->event.lane == lane && item->event.seq > seq);
        if (behind && item->gap_before[0] == '\0')
            item_free(item);
        else
            item_push(&kept, item);
    }
    *list = kept;
}
