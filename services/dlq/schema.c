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

/* letters.pile, piles  live letters by reason, cause and provider; pile 0 = closed.
 * letters.replay       the bulk replay that asked for the attempt that is planned or under way.
 * originals.at, who    of revisions above 1: who edited it.
 * replays              bulk replays, ended ones too; bound and cursor are letters.
 * replay_counts        what came of their letters.
 *
 * A program of version 1 may still write the file. It leaves `pile` and `replay` as they are, which
 * shelf_open puts right. */
static const char schema_2[] =
    "ALTER TABLE letters ADD COLUMN consumer TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE letters ADD COLUMN pile BIGINT NOT NULL DEFAULT 0;"
    "ALTER TABLE letters ADD COLUMN replay TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE originals ADD COLUMN at BIGINT NOT NULL DEFAULT 0;"
    "ALTER TABLE originals ADD COLUMN who TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE attempts ADD COLUMN replay TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX letters_pile ON letters(pile, letter) WHERE pile > 0;"
    "CREATE INDEX letters_replay ON letters(replay) WHERE replay <> '';"
    "CREATE TABLE piles(pile BIGINT NOT NULL PRIMARY KEY, reason TEXT NOT NULL,"
    " cause TEXT NOT NULL, provider TEXT NOT NULL, count BIGINT NOT NULL,"
    " UNIQUE(reason, cause, provider));"
    "CREATE TABLE replays(replay TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL,"
    " live BIGINT NOT NULL, reason TEXT NOT NULL, provider TEXT NOT NULL,"
    " letter_state TEXT NOT NULL, task BIGINT NOT NULL, since BIGINT NOT NULL,"
    " until BIGINT NOT NULL, q TEXT NOT NULL, consumer TEXT NOT NULL, rate BIGINT NOT NULL,"
    " believe BIGINT NOT NULL, dry_run BIGINT NOT NULL, who TEXT NOT NULL, made BIGINT NOT NULL,"
    " begun BIGINT NOT NULL, ended BIGINT NOT NULL, bound TEXT NOT NULL, cursor TEXT NOT NULL,"
    " total BIGINT NOT NULL, scanned BIGINT NOT NULL, seen BIGINT NOT NULL,"
    " replayed BIGINT NOT NULL, answered BIGINT NOT NULL, skipped BIGINT NOT NULL);"
    "CREATE INDEX replays_live ON replays(live, replay);"
    "CREATE TABLE replay_counts(replay TEXT NOT NULL, result TEXT NOT NULL, reason TEXT NOT NULL,"
    " why TEXT NOT NULL, count BIGINT NOT NULL, PRIMARY KEY(replay, result, reason, why));";

const struct ald_store_step schema_steps[SCHEMA_STEPS] = {
    {.version = 1, .min_reader = 1, .sql = schema_1},
    {.version = 2, .min_reader = 1, .sql = schema_2},
};
