'use strict';
// solve.cjs PACKAGE KEY WAY PARAMS: one call of a client of in.php, with its usual polling, and a
// line of JSON with what the program that uses the client gets: {"data"} or {"error"}.
const [name, key, way, given] = process.argv.slice(2);
const { Solver } = require(name);
const solver = new Solver(key, 250);
const params = JSON.parse(given);
const site = { pageurl: 'https://site.example/?a=1&b=c d', googlekey: '6LsiteKey+/=' };

const ways = {
  recaptcha: () => (name === '2captcha'
    ? solver.recaptcha(site.googlekey, site.pageurl, params)
    : solver.recaptcha({ ...site, ...params })),
  image: () => (name === '2captcha'
    ? solver.imageCaptcha('iVBORw0KGgo+/AA=', params)
    : solver.imageCaptcha({ body: 'iVBORw0KGgo+/AA=', ...params })),
  balance: async () => ({ data: await solver.balance() }),
  report: async () => {
    const solved = await ways.recaptcha();
    await solver.goodReport(solved.id);
    return solved;
  },
};

ways[way]().then(
  (answer) => console.log(JSON.stringify({ data: answer.data, id: answer.id })),
  (error) => console.log(JSON.stringify({ error: error.message, code: error.code })),
);
