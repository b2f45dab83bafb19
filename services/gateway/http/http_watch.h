/* http_watch.h - ends the waits of a listener's threads for clients that are late.
 *
 * A thread serves one connection at a time. What it may wait for is a head and a body. When no
 * thread is free their times shrink, so that many clients that send nothing hold up the others for
 * a short time only.
 *
 * A wait is cut by a signal that ends the system call below it; a thread that does not wait is
 * never hit. Knows neither HTTP nor the library.
 * Threads: a watch is of its thread; http_crew_tick is called by another one.
 */
#ifndef ALD_GATEWAY_HTTP_WATCH_H
#define ALD_GATEWAY_HTTP_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The longest waits when no thread is free. A client that has something to say sends its head with
 * the first packet after the handshake; a body may need some round trips. */
enum { HTTP_CROWD_HEAD_MS = 250, HTTP_CROWD_BODY_MS = 1000 };

/* Once no thread has been free for so long, whoever gets one has stood in the queue, and his head
 * has come meanwhile. */
enum { HTTP_CROWD_LONG_MS = 1000, HTTP_CROWD_LONG_HEAD_MS = 50 };

enum http_watch_state { HTTP_WATCH_FREE, HTTP_WATCH_HEAD, HTTP_WATCH_BODY, HTTP_WATCH_BUSY };

/* One thread, made of zeros. The fields are guarded by lock, so that a signal never hits a thread
 * that has gone on to something else. */
struct http_watch {
    struct http_watch *next;
    struct http_crew *crew;
    pthread_t thread;
    pthread_mutex_t lock;
    enum http_watch_state state;
    int64_t since_ms; /* of this wait, as the tick has seen it first; 0 = not yet */
    int64_t until_ms; /* monotonic */
    bool cut;         /* this wait was ended by us */
};

/* The threads of a listener. */
struct http_crew {
    pthread_mutex_t lock;
    struct http_watch *first;
    int64_t head_ms;
    int64_t crowd_ms; /* since when no thread is free; 0: one is */
    void (*on_stir)(void *stirred);
    void *stirred;
    atomic_bool asleep; /* nobody ticks until a thread waits */
};

/* head_ms: the longest wait for a head, counted from the first tick that sees it. on_stir: after a
 * tick that returned false a thread begins to wait, so tick again; called on that thread. NULL:
 * ticks come all the time. */
void http_crew_init(struct http_crew *self, int64_t head_ms, void (*on_stir)(void *stirred),
                    void *stirred);
/* All threads have left. */
void http_crew_free(struct http_crew *self);
/* Add the calling thread, which has no connection. *watch is zeros and stays where it is. */
void http_crew_join(struct http_crew *self, struct http_watch *watch);
void http_crew_leave(struct http_crew *self, struct http_watch *watch);
/* Cut off whose time is up. Call it many times a second as long as it returns true: a thread waits
 * for its client, or none is free. */
bool http_crew_tick(struct http_crew *self, int64_t now_ms);

/* Has none of them a connection? */
bool http_crew_idle(struct http_crew *self);

/* The thread has no connection. */
void http_watch_free(struct http_watch *self);
/* It has one, and waits for a head. */
void http_watch_head(struct http_watch *self);
/* Wait for a body, or what is left of it. */
void http_watch_body(struct http_watch *self, int64_t until_ms);
/* The wait is over, the thread is busy. true: it was cut off. */
bool http_watch_done(struct http_watch *self);

#endif
