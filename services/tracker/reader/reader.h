/* reader.h - answers questions from a read-only handle on a thread of its own, so that a long list
 * never delays intake. Transactions there are short: a page at a time.
 *
 * Questions are get, list, letters, letter.show and fetch messages, and audit: all rows are counted
 * again, a page between two other questions, one count at a time. What the disk
 * can't know (a poll under way) or would have to be searched for (rows that are not indexed yet)
 * comes with them as a hint. Answers go back to
 * the asker through the loop's thread.
 */
#ifndef ALD_TRACKER_READER_H
#define ALD_TRACKER_READER_H

#include "services/tracker/tracker.h"

enum { READER_NOTES_MAX = 200 };

/* Numbers of rows that were not indexed when the question was put; they may be by now. */
struct reader_rows {
    size_t count;
    int64_t no[READER_NOTES_MAX];
};

struct reader_hint {
    uint64_t seq;   /* of the task's result, 0 = look in the index */
    bool polling;   /* a poll is under way */
    uint32_t polls; /* that left, as far as memory knows */
    char token[ALD_TOKEN_MAX];
    struct reader_rows arrivals; /* of the task */
    struct reader_rows notes;
};

/* Where the question came from, and so where its answer goes. */
enum reader_channel { READER_QUERY, READER_CONSUME, READER_CONSUMER };

/* A page for a durable consumer: events that come again, or what comes next. */
struct reader_pick {
    uint64_t seq;
    uint64_t deliveries; /* said in the event */
};

struct reader_pull {
    int64_t no;      /* of the consumer; echoed */
    uint64_t ticket; /* echoed */
    uint64_t lane;
    uint64_t picks; /* that follow it in memory; 0: what comes next */
    uint64_t after;
    uint64_t limit;
    uint64_t bytes; /* of results; the first goes whatever its size */
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
};

/* What comes back to consumers_page: a frame of this, one with the numbers of the events and then
 * of those that are not there any more, and the events. */
struct reader_page {
    int64_t no;
    uint64_t ticket;
    uint64_t picks;
    uint64_t after;
    uint64_t looked; /* up to here */
    uint64_t count;
    uint64_t missing; /* of the picks */
    enum ald_rc rc;
};

ALD_NODISCARD enum ald_rc reader_new(struct tracker *tracker, reader_t **out, struct ald_err *err);
void reader_destroy(reader_t **self_p);

/* Are as many questions under way as may be? Then who asks is told so: peers choose how many they
 * send. NULL is allowed. */
bool reader_full(const reader_t *self);

/* Ask, also when it is full: for those that waited, of which there is a number. who is taken; bytes
 * are copied; the answer goes out by query_send or feed_send, on the loop's thread. */
void reader_ask(reader_t *self, enum reader_channel channel, zframe_t **who_p,
                struct ald_span bytes, const struct reader_hint *hint);

/* Are the rows being counted? Then what is deleted makes it begin anew. NULL is allowed. */
bool reader_counts(const reader_t *self);

/* Ask for a page; picks are pull->picks, copied. The answer goes to consumers_page. */
void reader_ask_page(reader_t *self, const struct reader_pull *pull,
                     const struct reader_pick *picks);

#endif
