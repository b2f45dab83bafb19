/* turn.h - what the thread inside does for the two kinds of subscription. All under the handle's
 * lock.
 */
#ifndef ALD_CLIENT_TURN_H
#define ALD_CLIENT_TURN_H

#include "common/client/handle.h"

/* A message that came on `consume`: its head, and the events behind it, decoded. */
struct page {
    bool is_answer;
    struct msg_answer answer;     /* is_answer */
    struct msg_consumer consumer; /* behind an answer, if its name is not "" */
    struct msg_events events;     /* not is_answer */
    struct item_list items;       /* taken from by who uses them */
    bool spoilt;                  /* an event could not be read */
};

/* Do what is due. */
void durable_turn(aldaba_t *self, int64_t now_ms);
void live_turn(aldaba_t *self, int64_t now_ms);
/* When the next thing is due; INT64_MAX: nothing is. */
int64_t durable_wakes_ms(const aldaba_t *self);
int64_t live_wakes_ms(const aldaba_t *self);
/* What was under way on `consume` will not be answered. */
void durable_lost(aldaba_t *self);
void live_lost(aldaba_t *self);
/* A message came. */
void durable_page(aldaba_t *self, struct page *page, int64_t now_ms);
void live_page(aldaba_t *self, struct page *page, int64_t now_ms);
/* A hint, which is taken; where the feed stands; the feed's connection came or went. */
void live_hint(aldaba_t *self, struct item *item);
void live_head(aldaba_t *self, const struct msg_head *head);
void live_feed_changed(aldaba_t *self);

#endif
