#include "services/tracker/inbox.h"

#include <string.h>

#include "common/base/text.h"

static void inbox_end_run(struct inbox *self)
{
    if (self->run.count == 0)
        return;
    if (self->run.count == 1)
        self->run.count = 0; /* the usual form */
    ald_frame_put(self->answers[self->count - 1], &MSG_ACK, &self->run);
    self->run.count = 0;
}

void inbox_begin(struct inbox *self, zframe_t **who_p, const char *instance, uint64_t batch)
{
    ALD_ASSERT(self->count < INBOX_MESSAGES);
    inbox_end_run(self);
    struct msg_acks head = {.batch = batch};
    ald_text_cut(head.instance, sizeof head.instance, ald_span_str(instance));
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, who_p);
    ald_frame_put(answer, &MSG_ACKS, &head);
    self->answers[self->count++] = answer;
}

static bool inbox_goes_on(const struct msg_ack *run, const struct msg_ack *ack)
{
    return run->count > 0 && run->count < ALD_ACK_COUNT_MAX && ack->num == run->num + run->count &&
           strcmp(ack->disposition, run->disposition) == 0 &&
           strcmp(ack->reason, run->reason) == 0 && ack->task == run->task &&
           strcmp(ack->cause, run->cause) == 0;
}

void inbox_ack(struct inbox *self, const struct msg_ack *ack)
{
    if (inbox_goes_on(&self->run, ack)) {
        self->run.count++;
        return;
    }
    inbox_end_run(self);
    self->run = *ack;
    self->run.count = 1;
}

void inbox_send(struct inbox *self, ald_sock_t *sock)
{
    inbox_end_run(self);
    for (size_t i = 0; i < self->count; i++)
        if (ALD_SOCK_SEND("inbox.ack", sock, &self->answers[i]) != ALD_OK)
            zmsg_destroy(&self->answers[i]); /* it is gone, and will ask again */
    self->count = 0;
}

void inbox_forget(struct inbox *self)
{
    for (size_t i = 0; i < self->count; i++)
        zmsg_destroy(&self->answers[i]);
    self->count = 0;
    self->run.count = 0;
}

void inbox_welcome(ald_sock_t *sock, zframe_t **who_p, const struct msg_welcome *welcome)
{
    zmsg_t *answer = zmsg_new();
    zmsg_append(answer, who_p);
    ald_frame_put(answer, &MSG_WELCOME, welcome);
    if (ALD_SOCK_SEND("inbox.welcome", sock, &answer) != ALD_OK)
        zmsg_destroy(&answer);
}
