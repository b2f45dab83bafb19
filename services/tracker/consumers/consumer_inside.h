/* consumer_inside.h - what the parts of the consumer share. Private to consumer*.c. */
#ifndef ALD_TRACKER_CONSUMER_INSIDE_H
#define ALD_TRACKER_CONSUMER_INSIDE_H

#include "services/tracker/consumers/consumer.h"

enum consumer_state { CONSUMER_SETTLED, CONSUMER_LEASED, CONSUMER_WAITING };

/* Who had an entry last, where it is no instance: it was given back. */
enum { CONSUMER_NOBODY = 255 };

/* Where the first entry at or above seq is, or would be. */
size_t consumer_find(const struct consumer *self, uint64_t seq);
/* Add an entry above all others. */
void consumer_append(struct consumer *self, const struct consumer_entry *entry);

/* An entry leaves its state for another one; holder: who has it then. */
void consumer_move(struct consumer *self, struct consumer_entry *entry, enum consumer_state state,
                   uint8_t holder);
/* Forget what is settled at the beginning. */
void consumer_trim(struct consumer *self);

/* An entry waits, not before due_ms. */
void consumer_wait(struct consumer *self, struct consumer_entry *entry, uint8_t holder,
                   int64_t due_ms);
void consumer_next(struct consumer *self, int64_t due_ms);

#endif
