/* channels.h - where the conversations happen.
 *
 * Endpoints are `ipc://<run>/<name>` unless the settings (bus.*) name others. Every frame that is
 * not a routing id is one message of messages.h. docs/PROTOCOL.md tells the conversations.
 *
 *   events   DEALER -> ROUTER  tracker binds  hello/welcome, batch/acks: callbacks, re-injections
 *   query    DEALER -> ROUTER  tracker binds  questions and commands, one answer each
 *   jobs     DEALER -> ROUTER  tracker binds  ready/leases, batch/acks of outcomes
 *   feed     SUB    <- XPUB    tracker binds  hints: [topic][event]; [head.][head] each second
 *   consume  DEALER -> ROUTER  tracker binds  fetch/events; durable consumers
 *   letters  DEALER -> ROUTER  dlq binds      hello/welcome, batch/acks of letters; the desk
 *   control  DEALER -> ROUTER  each daemon    health, metrics, drain
 */
#ifndef ALD_PROTO_CHANNELS_H
#define ALD_PROTO_CHANNELS_H

#define ALD_CHANNEL_EVENTS "events"
#define ALD_CHANNEL_QUERY "query"
#define ALD_CHANNEL_JOBS "jobs"
#define ALD_CHANNEL_FEED "feed"
#define ALD_CHANNEL_CONSUME "consume"
#define ALD_CHANNEL_LETTERS "letters"
/* control-tracker, control-dlq, control-poller-<name>, control-gateway or control-gateway-<name> */
#define ALD_CHANNEL_CONTROL "control"

/* First frame of a hint: result.<provider>.<state>. - each level ends in a dot, so that a prefix
 * subscription to one provider does not catch another whose name begins alike. */
#define ALD_TOPIC_RESULT "result."
#define ALD_TOPIC_HEAD "head."

#endif
