/* Prints what the C tables say, a JSON object a line, for test_protocol.py: every field of every
 * schema, and the closed lists of words. All words are plain ASCII without quotes, so none needs an
 * escape. */
#include <inttypes.h>
#include <stdio.h>

#include "common/config/profile.h"
#include "proto/channels.h"
#include "proto/messages.h"
#include "proto/token.h"
#include "proto/words.h"
#include "services/dlq/letters.h"

static const char *type_word(enum ald_field_kind kind)
{
    switch (kind) {
    case ALD_FIELD_TEXT:
        return "text";
    case ALD_FIELD_U64:
        return "u64";
    case ALD_FIELD_I64:
        return "i64";
    case ALD_FIELD_BOOL:
        return "bool";
    case ALD_FIELD_ID:
        return "id";
    case ALD_FIELD_SPAN:
        return "bytes";
    }
    return "";
}

/* The most bytes on the wire; 0 for what has none. */
static size_t most_bytes(const struct ald_field *field)
{
    return field->kind == ALD_FIELD_TEXT ? field->size - 1 : field->size;
}

static void print_schema(const struct ald_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        printf("{\"kind\":\"%s\",\"version\":%u,\"key\":\"%s\",\"type\":\"%s\",\"limit\":%zu,"
               "\"required\":%s}\n",
               schema->kind, schema->version, field->key, type_word(field->kind), most_bytes(field),
               field->required ? "true" : "false");
    }
}

static void print_word(const char *list, const char *word)
{
    printf("{\"list\":\"%s\",\"word\":\"%s\"}\n", list, word);
}

static void print_proto_words(void)
{
    for (int i = 0; i < ALD_STATE_COUNT; i++)
        print_word("states", ald_state_name((enum ald_state)i));
    for (int i = 0; i < ALD_DISP_ANSWERS; i++)
        print_word("dispositions", ald_disposition_name((enum ald_disposition)i));
    for (int i = ALD_REASON_NONE + 1; i < ALD_REASON_COUNT; i++)
        print_word("reasons", ald_reason_name((enum ald_reason)i));
    for (int i = 0; i < ALD_SOURCE_COUNT; i++)
        print_word("sources", ald_source_name((enum ald_source)i));
    for (int i = 0; i < ALD_PROOF_COUNT; i++)
        print_word("proofs", ald_proof_name((enum ald_proof)i));
}

static void print_other_words(void)
{
    for (int i = 0; i < LETTER_STATES; i++)
        print_word("letter states", letter_state_name((enum letter_state)i));
    for (int i = 0; i <= ALD_THEN_CODE; i++)
        print_word("verdicts", ald_then_name((enum ald_then)i));
    for (int i = 0; i <= ALD_CLASS_UNKNOWN; i++)
        print_word("classes", ald_class_name((enum ald_class)i));
    for (int i = 0; i <= ALD_SCOPE_PROXY; i++)
        print_word("scopes", ald_scope_name((enum ald_scope)i));
    static const char *const channels[] = {
        ALD_CHANNEL_EVENTS,  ALD_CHANNEL_QUERY,   ALD_CHANNEL_JOBS,    ALD_CHANNEL_FEED,
        ALD_CHANNEL_CONSUME, ALD_CHANNEL_LETTERS, ALD_CHANNEL_CONTROL,
    };
    for (size_t i = 0; i < ALD_COUNT(channels); i++)
        print_word("channels", channels[i]);
    print_word("topics", ALD_TOPIC_RESULT);
    print_word("topics", ALD_TOPIC_HEAD);
}

int main(void)
{
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++)
        print_schema(ALD_SCHEMAS[i]);
    print_proto_words();
    print_other_words();
    printf("{\"token\":%d}\n", ALD_TOKEN_MAX - 1);
    return 0;
}
