/* desk.h - what the commands of the desk share: desk.c and desk_*.c. */
#ifndef ALD_CTL_DESK_H
#define ALD_CTL_DESK_H

#include "services/ctl/ctl.h"

/* Ask about one letter. CTL_OK or an exit code, said why. */
int desk_ask(struct ctl *ctl, const char *method, const char *id, const char *tail,
             const char *body, struct ald_json *out);

/* An option that is a time, as milliseconds since 1970; 0 when it is not given. "2h" is so long
 * ago. False: it is no time, and that was said. */
bool desk_time(const struct args *args, enum arg arg, int64_t *out);

/* Append a text as a JSON string; "?" for what is no UTF-8. */
void desk_string(struct ald_buf *out, struct ald_span text);

/* Append what was said of the letters: --believe, --buy, --publish and --dry-run as members. */
void desk_words(const struct args *args, struct ald_buf *body);

/* What a replay does to letters, for a question. */
const char *desk_replay_verb(const struct args *args);

/* Begin the body of a command with who gives it; the caller goes on with a comma or closes it. */
void desk_body(const struct args *args, struct ald_buf *out);

#endif
