#include "services/dlq/schema.h"

/* letters   one row a letter, without its message, so that changing a state writes little.
 *           live: open or held. due, closed, sending, closing: 0 = none, and not in the index.
 * originals the message as it came; revision 1 is never changed or replaced.
 * attempts  outcome '' = under way.
 * senders   whose letters these are, and how far each has settled its numbers.
 * tallies   struct tally; with strangers, unproven live letters, a provider.
 * facts, names: single values. */
static const char schema_1[] =
    "CREATE TABLE letters(letter TEXT NOT NULL PRIMARY KEY, sender TEXT NOT NULL,"
    " num BIGINT NOT NULL, reason TEXT NOT NULL, cause TEXT NOT NULL, provider TEXT NOT NULL,"
    " task BIGINT NOT NULL, provider_id TEXT NOT NULL, proof TEXT NOT NULL, state TEXT NOT NULL,"
    " live BIGINT NOT NULL, outcome TEXT NOT NULL, made BIGINT NOT NULL, closed BIGINT NOT NULL,"
    " due BIGINT NOT NULL, attempts BIGINT NOT NULL, revision BIGINT NOT NULL,"
    " pinned BIGINT NOT NULL, by_person BIGINT NOT NULL, who TEXT NOT NULL,"
    " believe BIGINT NOT NULL, bytes BIGINT NOT NULL, sending BIGINT NOT NULL,"
    " closing BIGINT NOT NULL, stranger BIGINT NOT NULL);"
    "CREATE INDEX letters_due ON letters(due) WHERE due > 0;"
    "CREATE UNIQUE INDEX letters_sending ON letters(sending) WHERE sending > 0;"
    "CREATE UNIQUE INDEX letters_closing ON letters(closing) WHERE closing > 0;"
    "CREATE INDEX letters_live ON letters(live, letter);"
    "CREATE INDEX letters_state ON letters(state, letter);"
    "CREATE INDEX letters_task ON letters(task, letter) WHERE task > 0;"
    "CREATE INDEX letters_closed ON letters(closed) WHERE closed > 0;"
    "CREATE INDEX letters_stranger ON letters(provider, letter) WHERE live = 1 AND stranger = 1;"
    "CREATE TABLE originals(letter TEXT NOT NULL, revision BIGINT NOT NULL, bytes BLOB NOT NULL,"
    " sum BLOB NOT NULL, PRIMARY KEY(letter, revision));"
    "CREATE TABLE attempts(letter TEXT NOT NULL, attempt BIGINT NOT NULL,"
    " revision BIGINT NOT NULL, at BIGINT NOT NULL, who TEXT NOT NULL, outcome TEXT NOT NULL,"
    " detail TEXT NOT NULL, PRIMARY KEY(letter, attempt));"
    "CREATE TABLE senders(sender TEXT NOT NULL PRIMARY KEY, floor BIGINT NOT NULL);"
    "CREATE TABLE tallies(reason TEXT NOT NULL, state TEXT NOT NULL, count BIGINT NOT NULL,"
    " PRIMARY KEY(reason, state));"
    "CREATE TABLE strangers(provider TEXT NOT NULL PRIMARY KEY, count BIGINT NOT NULL,"
    " bytes BIGINT NOT NULL);"
    "CREATE TABLE facts(name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);"
    "CREATE TABLE names(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);";

const struct ald_store_step schema_steps[SCHEMA_STEPS] = {
    {.version = 1, .min_reader = 1, .sql = schema_1},
};
