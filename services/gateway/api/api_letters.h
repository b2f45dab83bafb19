/* api_letters.h - what the routes of dead letters share. */
#ifndef ALD_GATEWAY_API_LETTERS_H
#define ALD_GATEWAY_API_LETTERS_H

#include "services/gateway/api/api_call.h"
#include "services/gateway/api/json_in.h"

/* Send the dlq a command about the letter of the path, and answer. letter is ask's field for its
 * id, which is filled. */
void letters_command(struct api_call *call, const struct ald_schema *schema, void *ask,
                     char letter[ALD_ULID_MAX]);

/* Answer with groups of letters; of what the query filters by only some can be told of groups. */
void letters_groups(struct api_call *call, const struct msg_letters *query);

#endif
