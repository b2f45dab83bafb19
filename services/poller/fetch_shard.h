/* fetch_shard.h - a part of fetch.h's requests with its connections: a multi handle of libcurl on a
 * watch. Several are quicker than one: libcurl looks at each connection of a multi handle when a
 * request begins and again when it ends.
 *
 * For fetch.c. Threads: the loop's.
 */
#ifndef ALD_POLLER_FETCH_SHARD_H
#define ALD_POLLER_FETCH_SHARD_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

#include "services/poller/watch.h"

enum { FETCH_SHARD = 256 /* requests of a shard; libcurl walks through all of them */ };

struct fetch_shard {
    watch_t *watch; /* its descriptors are watched with tag */
    unsigned tag;
    CURLM *multi;
    size_t under_way;
    int64_t due_ms; /* monotonic: libcurl wants to be called; INT64_MAX = it does not */
};

/* It stays where it is. most: connections, idle ones included. False: libcurl refuses. */
bool fetch_shard_open(struct fetch_shard *self, watch_t *watch, unsigned tag, size_t most);
void fetch_shard_close(struct fetch_shard *self);

/* Call libcurl: descriptors are as ready as this, or its time has come. */
void fetch_shard_ready(struct fetch_shard *self, int fd, struct watch_ready ready);
void fetch_shard_timeout(struct fetch_shard *self);

/* The first that has room: few requests stay together and find each other's connections. */
struct fetch_shard *fetch_shard_choose(struct fetch_shard *shards, size_t count);

#endif
