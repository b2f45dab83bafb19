/* request_inside.h - the pieces that requests are written by, shared by request.c and
 * request_submit.c. Nobody else includes it. Pure; any thread.
 */
#ifndef ALD_CONFIG_REQUEST_INSIDE_H
#define ALD_CONFIG_REQUEST_INSIDE_H

#include "common/config/request.h"

enum { REQUEST_BOUNDARY_MAX = 40 };

/* All return ALD_OK, or what ald_profile_request says. */
enum ald_rc request_url(const struct ald_template *url, const struct ald_request_in *in,
                        struct ald_buf *out);
enum ald_rc request_headers(const struct ald_request_form *form, const struct ald_request_in *in,
                            struct ald_buf *out);
/* A text, not encoded. */
enum ald_rc request_plain(const struct ald_template *self, const struct ald_request_in *in,
                          struct ald_buf *out);
/* name=value&name=value; before: a character in front, \0 = none. */
enum ald_rc request_pairs(const struct ald_param *params, const struct ald_request_in *in,
                          char before, struct ald_buf *out);
/* The members of a map or list, without brackets. *more: something stands before them. */
enum ald_rc request_json_members(const struct ald_param *params, bool map,
                                 const struct ald_request_in *in, bool *more, struct ald_buf *out);
void request_json_text(struct ald_span text, struct ald_buf *out);
/* Parts of multipart/form-data, without the end. */
enum ald_rc request_parts(const struct ald_param *params, const char *boundary,
                          const struct ald_request_in *in, struct ald_buf *out);

/* The n-th boundary to try. False: enough of it. */
bool request_boundary(unsigned n, char out[REQUEST_BOUNDARY_MAX]);
/* Does it stand in the body just so often? */
bool request_bounds(struct ald_span body, const char *boundary, size_t count);

#endif
