/* log.h - one line an event on stderr, as key=value pairs that both people and programs read.
 *
 *   ts=2026-01-31T23:59:59.123Z level=warn svc=gateway ev=spool.full provider=two text="no room"
 *
 * The caller writes the pairs after ev= with a format. Words of our own go in as they are; what
 * came from outside goes through ald_q, which quotes it. Whatever the arguments hold, a line stays
 * one line and carries nothing that steers a terminal; only ald_q also keeps a value from looking
 * like further pairs. Secrets and results are not logged: give their length.
 * Under systemd (JOURNAL_STREAM is set) each line begins with <N>, its priority.
 * Threads: a line is one write(2), so lines of threads do not mix. Call ald_log_init before
 * threads.
 */
#ifndef ALD_BASE_LOG_H
#define ALD_BASE_LOG_H

#include <stdbool.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum ald_level { ALD_ERROR, ALD_WARN, ALD_INFO, ALD_DEBUG };

enum { ALD_LOG_LINE_MAX = 2048, ALD_QUOTE_MAX = 320 };

/* Name the service that svc= says (cut at 31 characters) and look for the journal. */
void ald_log_init(const char *svc);

/* Log what is as grave as level or graver; ALD_INFO at first. May be called at any time. */
void ald_log_level_set(enum ald_level level);

/* The same by its word: error, warn, info or debug. ALD_INVALID: another word, nothing changed. */
enum ald_rc ald_log_level_word(const char *word);

/* Whether a line of level would be written, for callers whose arguments are costly. */
bool ald_log_on(enum ald_level level);

/* Log event ev with the pairs that fmt makes; fmt may be "". A line longer than ALD_LOG_LINE_MAX
 * is cut, its open quote is closed and cut=true ends it. errno is kept. */
void ald_log(enum ald_level level, const char *ev, const char *fmt, ...) ALD_PRINTF(3, 4);

/* Room for one quoted value. */
struct ald_quote {
    char text[ALD_QUOTE_MAX];
};

/* Make a value of text: bare when it is plain, else in double quotes and escaped; cut with "..."
 * when it is too long. NULL gives "". Returns room->text, borrowed from room. */
const char *ald_q(struct ald_quote *room, const char *text);
const char *ald_q_span(struct ald_quote *room, struct ald_span text);

/* The same with room that lasts to the end of the block around it. */
#define ALD_Q(text) ald_q(&(struct ald_quote){{0}}, (text))
#define ALD_Q_SPAN(span) ald_q_span(&(struct ald_quote){{0}}, (span))

#endif
