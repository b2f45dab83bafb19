'use strict';
// predict.cjs TOKEN WEBHOOK INPUT: make a prediction whose webhook goes to aldaba, and print it.
const Replicate = require('replicate');
const [auth, webhook, input] = process.argv.slice(2);
const replicate = new Replicate({ auth });

replicate.predictions.create({
  version: 'v', input: JSON.parse(input), webhook, webhook_events_filter: ['completed'],
}).then(
  (prediction) => console.log(JSON.stringify(prediction)),
  (error) => { console.log(error.message); process.exitCode = 1; },
);
