// What the Express peers of the benchmark have in common: a form posted to /callback/:provider is
// given to the peer, which says when it is kept; then the answer is 200. `/_kept` says how many are.
//
// Use: node NAME.cjs FOLDER [PORT OF ITS SERVER]. Prints `ready port=N`, ends with SIGTERM.
"use strict";
const express = require("express");

function serve({ keep, kept, expect = () => {} }) {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.post("/callback/:provider", express.urlencoded({ extended: false }), (req, res, next) => {
    Promise.resolve(keep(req.params.provider, req.body)).then(() => {
      res.type("text/plain").send("OK");
    }, next);
  });
  app.get("/_kept", (req, res, next) => {
    Promise.resolve(kept()).then((count) => res.json({ kept: count }), next);
  });
  // Tasks whose callbacks will come, where the peer remembers tasks at all.
  app.post("/_expect", (req, res) => {
    expect(Number(req.query.first), Number(req.query.count));
    res.send("OK");
  });
  const server = app.listen(0, "127.0.0.1", () => {
    console.log(`ready port=${server.address().port}`);
  });
  server.keepAliveTimeout = 60000;
}

module.exports = { serve, folder: process.argv[2], port: Number(process.argv[3]) };
