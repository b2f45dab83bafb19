/* yaml.h - a YAML file as a tree of texts, with the place of every word.
 *
 * Strict: duplicate keys are errors, aliases are refused unless asked for, and everything has a
 * bound. What it refuses it tells with its place, and reads on where it can. Values may name
 * environment variables: ${VAR}, ${VAR:-default}, ${VAR:?message}, and $$ is a dollar. Only
 * upper-case names are variables; ${lower} is a template for whoever reads the value and stays as
 * it is. Keys are taken as written.
 *
 * It does not type values: `yes`, `1` and `null` are texts to the reader of the tree.
 * Threads: a loaded tree may be read by any thread.
 */
#ifndef ALD_CONFIG_YAML_H
#define ALD_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum {
    ALD_YAML_FILE_MAX = 4 << 20,
    ALD_YAML_NODES_MAX = 10000,
    ALD_YAML_DEPTH_MAX = 64,
    ALD_ERRORS_MAX = 100
};

enum ald_node_kind { ALD_NODE_SCALAR, ALD_NODE_LIST, ALD_NODE_MAP };

struct ald_node {
    enum ald_node_kind kind;
    bool quoted;            /* a scalar written in quotes or as a block */
    bool template;          /* a ${lower} was left in the text */
    bool variable;          /* it was written as ${VAR}, and nothing else was */
    bool expanded;          /* something in the text comes from a variable: errors do not show it */
    const char *key;        /* of a child of a map, else NULL */
    const char *text;       /* of a scalar, else "" */
    const char *file;       /* where it was written */
    unsigned line, column;  /* from 1; of the key for a child of a map */
    size_t count;           /* children */
    struct ald_node *first; /* child, in the order of the file */
    struct ald_node *last;
    struct ald_node *next; /* sibling */
};

/* All that is wrong, one `file:line:column: sentence` a line. */
struct ald_errors {
    size_t count;        /* also of those beyond the bound, which are not kept */
    struct ald_buf text; /* NUL-terminated view through ald_errors_text */
};

void ald_errors_init(struct ald_errors *self);
void ald_errors_free(struct ald_errors *self);

/* Add a sentence about a node; at may be NULL when there is no place to name. A text that comes
 * from a variable may be a secret in the wrong place: what the sentence quotes of it is blotted
 * out. */
void ald_errors_add(struct ald_errors *self, const struct ald_node *at, const char *format, ...)
    ALD_PRINTF(3, 4);

/* The lines, each ending in a newline; "" when there are none. Borrowed until the next add. */
const char *ald_errors_text(struct ald_errors *self);

/* Put the lines in the order of files, lines and columns, those without a place first. */
void ald_errors_sort(struct ald_errors *self);

typedef struct ald_yaml ald_yaml_t;

enum {
    ALD_YAML_ALIASES = 1,         /* allow aliases: each becomes a copy; a cycle is an error */
    ALD_YAML_PROFILE_ALIASES = 2, /* the same below the outermost key `providers` alone */
    ALD_YAML_GO_ON = 4 /* give with ALD_INVALID what was read, if it was read to its end: who reads
                          it finds what else is wrong */
};

/* Read a file. ALD_OK: *out is the caller's. ALD_NOTFOUND, ALD_IO, ALD_TOOBIG, ALD_INVALID: errors
 * say why, *out is NULL, but for ALD_YAML_GO_ON. An empty file is an empty map. */
ALD_NODISCARD enum ald_rc ald_yaml_load(const char *path, unsigned flags, struct ald_errors *errors,
                                        ald_yaml_t **out);

/* The same from memory; name stands for the file. */
ALD_NODISCARD enum ald_rc ald_yaml_parse(const char *name, struct ald_span text, unsigned flags,
                                         struct ald_errors *errors, ald_yaml_t **out);
void ald_yaml_destroy(ald_yaml_t **self_p);

/* The outermost node. Borrowed until destroy. */
const struct ald_node *ald_yaml_root(const ald_yaml_t *self);

/* A new node owned by self, for trees put together from several files. key and text are copied and
 * may be NULL; at, which may be NULL, gives the place. NULL: the bound on nodes is reached. */
struct ald_node *ald_yaml_make(ald_yaml_t *self, enum ald_node_kind kind, const char *key,
                               const char *text, const struct ald_node *at);

/* Append child to parent. child must not have a parent yet; both must live equally long. */
void ald_node_append(struct ald_node *parent, struct ald_node *child);

/* The child of a map by its key. NULL: none, or map is NULL or no map. */
const struct ald_node *ald_node_find(const struct ald_node *map, const char *key);

/* The same by a path of keys with dots between them. */
const struct ald_node *ald_node_at(const struct ald_node *map, const char *path);

/* True for a scalar that says nothing: empty, ~ or null, not quoted. */
bool ald_node_null(const struct ald_node *node);

#endif
