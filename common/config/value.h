/* value.h - where in a message a value stands, as a profile says it, and how it is taken out.
 *
 * A place is compiled once from YAML and then only looked at. What is found is borrowed from the
 * message and decoded when it is asked for. It decides nothing. Threads: a compiled value may be
 * read by any thread; a struct ald_said belongs to one judgement.
 */
#ifndef ALD_CONFIG_VALUE_H
#define ALD_CONFIG_VALUE_H

#include "common/config/extract.h"
#include "common/config/form.h"
#include "common/config/load.h"
#include "common/config/profile.h"

enum { ALD_PLACES_MAX = 8, ALD_MEMO_MAX = 16, ALD_MEMBERS_MAX = 32, ALD_WORDS_MAX = 128 };

enum ald_place_kind {
    ALD_PLACE_JSON,   /* by pointer */
    ALD_PLACE_AFTER,  /* the text behind a prefix */
    ALD_PLACE_TEXT,   /* all of it */
    ALD_PLACE_HEADER, /* by name, in any case */
    ALD_PLACE_FORM,   /* a field of the body; of a JSON body its member */
    ALD_PLACE_QUERY,
    ALD_PLACE_EITHER, /* form, else query */
    ALD_PLACE_HTTP    /* the status */
};

struct ald_place {
    enum ald_place_kind kind;
    const char *name; /* pointer, prefix or name; pointers are interned */
};

/* The first place that holds something counts. count 0: the profile asks for nothing. */
struct ald_value {
    unsigned count;
    struct ald_place place[ALD_PLACES_MAX];
    bool else_token; /* without it the callback's URL says which task it is */
};

/* How a callback's body is read. */
enum ald_body { ALD_BODY_AUTO, ALD_BODY_FORM, ALD_BODY_JSON };

/* A message under judgement. */
struct ald_said {
    const struct ald_facts *facts;
    struct ald_span text; /* the body without byte order mark and outer white space */
    struct ald_json json; /* its first value; NONE when it does not begin with one */
    enum ald_plus plus;
    enum ald_body body;
    bool malformed; /* a field could not be decoded */
    char status[12];
    unsigned memos; /* pointers looked up already */
    struct {
        const char *pointer;
        struct ald_json value;
    } memo[ALD_MEMO_MAX];
    bool walked; /* the members of the outermost object are in the table */
    bool plain;  /* all of them, and their names hold no escapes */
    unsigned members;
    struct {
        struct ald_span key; /* without its quotes */
        struct ald_json value;
    } member[ALD_MEMBERS_MAX];
};

/* What stands at a place. */
struct ald_found {
    bool there;
    bool encoded;         /* raw is a field of a form */
    struct ald_json json; /* kind NONE: raw is it */
    struct ald_span raw;
};

/* Compile a VALUE. False: said why. */
bool ald_value_load(struct ald_load *load, const struct ald_node *node, struct ald_value *out);

/* One place of a map that may have other keys: *node becomes the child that names it.
 * False: it names none (nothing was said) or more than one (said). */
bool ald_place_load(struct ald_load *load, const struct ald_node *map, struct ald_place *out);

/* Begin to read a message. */
void ald_said_begin(const struct ald_facts *facts, enum ald_plus plus, enum ald_body body,
                    struct ald_said *out);

struct ald_found ald_place_find(struct ald_said *said, const struct ald_place *place);

/* The first that is there and not an empty text. */
struct ald_found ald_value_find(struct ald_said *said, const struct ald_value *value);

/* Append what was found as text: strings and fields decoded, numbers to the letter.
 * False: it has none, or out is too small; a field that can't be decoded makes the message
 * malformed. */
bool ald_found_text(struct ald_said *said, const struct ald_found *found, struct ald_buf *out);

/* Is it a text without a byte? Arrays, objects and numbers are not. */
bool ald_found_empty(const struct ald_found *found);

/* The status; a message that names none came with 200. */
static inline unsigned ald_facts_status(const struct ald_facts *facts)
{
    return facts->http == 0 ? 200 : facts->http;
}

/* Lines of `Name: value` as headers, at most ALD_FACT_HEADERS_MAX of them. Returns how many. */
size_t ald_headers_read(struct ald_span lines, struct ald_fact_header *out);

/* A header's value by its name, in any case. */
bool ald_facts_header(const struct ald_facts *facts, const char *name, struct ald_span *out);

#endif
