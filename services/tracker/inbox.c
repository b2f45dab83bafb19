#include "services/tracker/inbox.h"

#include "common/base/text.h"

zmsg_t *inbox_begin(struct inbox *self, zframe_t **who_p, const char *instance, uint64_t batch)
{
    if (self->count == INBOX_MESSAGES)
        return NULL;
    struct msg_acks head = {.batch = batch};
    ald_text_cut(head.instance, sizeof head.instance, ald_span_str(instance));
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, who_p);
    ald_frame_put(answer, &MSG_ACKS, &head);
    self->answers[self->count++] = answer;
    return answer;
}

void inbox_ack(zmsg_t *answer, const struct msg_ack *ack)
{
    ald_frame_put(answer, &MSG_ACK, ack);
}

void inbox_send(struct inbox *self, ald_sock_t *sock)
{
    for (size_t i = 0; i < self->count; i++)
        if (ald_sock_send(sock, &self->answers[i]) != ALD_OK)
            zmsg_destroy(&self->answers[i]); /* it is gone, and will ask again */
    self->count = 0;
}

void inbox_forget(struct inbox *self)
{
    for (size_t i = 0; i < self->count; i++)
        zmsg_destroy(&self->answers[i]);
    self->count = 0;
}

void inbox_welcome(ald_sock_t *sock, zframe_t **who_p, const struct msg_welcome *welcome)
{
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, who_p);
    ald_frame_put(answer, &MSG_WELCOME, welcome);
    if (ald_sock_send(sock, &answer) != ALD_OK)
        zmsg_destroy(&answer);
}
