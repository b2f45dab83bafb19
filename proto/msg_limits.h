/* msg_limits.h - how long the texts of messages may be: sizes of char arrays, the NUL included. The
 * most bytes of spans stand in fields.h.
 */
#ifndef ALD_PROTO_MSG_LIMITS_H
#define ALD_PROTO_MSG_LIMITS_H

enum {
    ALD_PROVIDER_MAX = 33,      /* profile name: [a-z0-9-]{1,32} */
    ALD_PROVIDER_ID_MAX = 129,  /* the provider's own id of a task, to the letter */
    ALD_URL_MAX = 1024,         /* an address that a provider gave */
    ALD_KEPT_PARAMS_MAX = 4096, /* a task's parameters that polls need; their most bytes */
    ALD_KEY_MAX = 129,          /* idempotency key, the caller's */
    ALD_CONSUMER_MAX = 65,      /* a consumer: [a-z0-9._-]{1,64} */
    ALD_META_MAX = 1025,        /* caller's note, echoed in the event */
    ALD_CODE_MAX = 257,         /* a provider's error code or text, verbatim */
    ALD_ULID_MAX = 27,          /* 26 characters of a ULID */
    ALD_WORD_MAX = 33,          /* a state, class, reason, disposition ... from a closed list */
    ALD_TEXT_MAX = 257,         /* a sentence for people */
    ALD_TRACE_MAX = 56,         /* a caller's traceparent (common/base/trace.h); "" = none */
    ALD_POSITION_MAX = 129,     /* a position in the feed, opaque to clients */
    ALD_PEER_MAX = 46,          /* an address as text */
    ALD_QUERY_MAX = 256 * 1024, /* bytes of query string */
    ALD_CALLBACK_URL_MAX = 441, /* base, provider, token, trace */
    ALD_BASE_MAX = 257,         /* of callback URLs */
    ALD_SUBMISSION_MAX = 960 * 1024, /* bytes of a submission's parameters and files */
    ALD_PUSHED_MAX = 16 << 20,       /* bytes of an event that is pushed to a sink, encoded */
    ALD_PAGE_EVENTS_MAX = 1000,      /* events that are handed out at once */
    ALD_PAGE_BYTES_MAX = 16 << 20, /* and bytes of their results; the first goes whatever it has */
    ALD_ITEM_MAX = 80 << 20        /* bytes of an item, above what the largest bus.max_item can
                                    * come to with all that stands around a body: what was let in
                                    * is taken by everybody, whatever the setting is by then */
};

/* The longest time that somebody may ask for: ten years, so that the moment after it is below 2^53
 * milliseconds, as all numbers of messages are. */
#define ALD_LONGEST_MS INT64_C(315360000000)

#endif
