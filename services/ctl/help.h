/* help.h - what a person reads about commands: their table and their manual as text for a terminal.
 * Pure.
 */
#ifndef ALD_CTL_HELP_H
#define ALD_CTL_HELP_H

#include "services/ctl/args.h"

/* All commands, a line each. */
void help_all(const struct command *commands, size_t count, struct ald_buf *out);
/* Those whose first word this is. */
void help_group(const struct command *commands, size_t count, const char *group,
                struct ald_buf *out);
/* One: what it does, options, examples, exit codes. */
void help_one(const struct command *one, struct ald_buf *out);

#endif
