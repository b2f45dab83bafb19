/* completion.h - what the completions of all shells are made of. Pure.
 *
 * completion.c: bash, zsh. completion_fish.c: fish.
 */
#ifndef ALD_CTL_COMPLETION_H
#define ALD_CTL_COMPLETION_H

#include "services/ctl/commands.h"

/* What a word may be besides words: a file, the name of a provider or of a consumer. */
#define COMPLETION_FILES "<files>"
#define COMPLETION_PROVIDERS "<providers>"
#define COMPLETION_CONSUMERS "<consumers>"

enum { COMPLETION_TEXT_MAX = 4096, COMPLETION_ALL = 1000 };

/* What the value of an option may be. */
void completion_value(const struct command *command, enum arg arg, struct ald_buf *out);
/* What the word in a place after a command may be, or with COMPLETION_ALL any of them. How many
 * places there are. */
size_t completion_words(const struct command *command, size_t place, struct ald_buf *out);
bool completion_takes(const struct command *command, enum arg arg);
/* Did a command before this one begin with the same word? And how long is that. */
bool completion_again(size_t at);
size_t completion_first(const struct command *command);

void completion_fish(struct ald_buf *out);

#endif
