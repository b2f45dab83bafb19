'use strict';
// A preload: node --require ./redirect.cjs. What the program sends to https://HOST for a HOST in
// $REDIRECT_HOSTS goes, without TLS, to $REDIRECT_PORT of this machine instead. Nothing of the
// request changes but the connection that it takes; fetch alone names the new host.
const https = require('node:https');
const net = require('node:net');

const hosts = new Set(process.env.REDIRECT_HOSTS.split(','));
const port = Number(process.env.REDIRECT_PORT);

// A connection that would have been encrypted is a plain one.
const secure = https.Agent.prototype.createConnection;
https.Agent.prototype.createConnection = function connect(options, ...rest) {
  if (!hosts.has(options.host)) return secure.call(this, options, ...rest);
  return net.connect({ host: '127.0.0.1', port });
};

const plainFetch = globalThis.fetch;
globalThis.fetch = function fetch(input, init) {
  const url = new URL(input instanceof Request ? input.url : input);
  if (!hosts.has(url.hostname)) return plainFetch(input, init);
  const here = `http://127.0.0.1:${port}${url.pathname}${url.search}`;
  return plainFetch(input instanceof Request ? new Request(here, input) : here, init);
};
