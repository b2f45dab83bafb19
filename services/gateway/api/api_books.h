/* api_books.h - the figures of all daemons, for the routes that show them. */
#ifndef ALD_GATEWAY_API_BOOKS_H
#define ALD_GATEWAY_API_BOOKS_H

#include "services/gateway/api/api_call.h"

/* Ask all daemons, and put what GET /v1/status answers: an object. */
void books_status(struct api_call *call, struct ald_json_out *out);

#endif
