/* Rates over the last minutes. The lines differ by their dashes, not by colour alone, and the table
 * beside them says the same in numbers. */
import {html, useEffect, useRef} from "./htm-preact-3.1.1.js";
import {rate} from "./format.js";

export const NETS = [
    {name: "callback", label: "Callback", dash: [], of: (s) => s.results.callback + s.results.late},
    {name: "poll", label: "Poll", dash: [8, 4], of: (s) => s.results.poll},
    {name: "replay", label: "Replay", dash: [2, 3], of: (s) => s.results.replay},
];

const KEPT = 600;    // points: ten minutes of one a second
const OVER_MS = 5000; // a rate is that of so long

/* Add a status to points: {at (s), seen: [counts], rates: [a second, or null]}. */
export function pointsAdd(points, status, nowMs) {
    if (!status.results)
        return points;
    const last = points[points.length - 1];
    const seen = NETS.map((net) => net.of(status));
    const from = points.find((point) => point.at * 1000 > nowMs - OVER_MS - 500) || last;
    const passed = from ? nowMs / 1000 - from.at : 0;
    const rates = seen.map((number, i) => from && passed > 0.5 && number >= from.seen[i]
        ? (number - from.seen[i]) / passed : null);
    return [...points, {at: nowMs / 1000, seen, rates}].slice(-KEPT);
}

function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(width) {
    const grid = {stroke: colour("--line"), width: 1};
    const axis = {stroke: colour("--soft"), grid, ticks: grid, font: "12px system-ui"};
    return {
        width, height: 200, cursor: {show: false}, legend: {show: false},
        scales: {y: {range: (_, __, most) => [0, Math.max(1, most * 1.1)]}},
        axes: [{...axis, values: (_, ticks) => ticks.map((at) =>
                    new Date(at * 1000).toTimeString().slice(0, 8)), space: 90},
               {...axis, size: 48}],
        series: [{}, ...NETS.map((net, i) => ({
            label: net.label, stroke: colour(`--net-${i + 1}`), width: 2, dash: net.dash,
            points: {show: false},
        }))],
    };
}

function columns(points) {
    return [points.map((point) => point.at),
            ...NETS.map((_, i) => points.map((point) => point.rates[i]))];
}

function Key({net, i}) {
    return html`<svg width="36" height="10" aria-hidden="true"><line x1="0" y1="5" x2="36" y2="5"
        class=${`net-${i + 1}`} stroke-width="2" stroke-dasharray=${net.dash.join(" ")} /></svg>`;
}

export function Rates({points, theme}) {
    const place = useRef(null);
    const plot = useRef(null);
    useEffect(() => {
        const draw = () => {
            plot.current?.destroy();
            plot.current = new window.uPlot(options(place.current.clientWidth), columns(points),
                                            place.current);
        };
        draw();
        const dark = matchMedia("(prefers-color-scheme: dark)");
        const sized = new ResizeObserver(() =>
            plot.current?.setSize({width: place.current.clientWidth, height: 200}));
        sized.observe(place.current);
        dark.addEventListener("change", draw);
        return () => {
            dark.removeEventListener("change", draw);
            sized.disconnect();
            plot.current?.destroy();
            plot.current = null;
        };
    }, [theme]);
    useEffect(() => plot.current?.setData(columns(points)), [points]);
    const now = points[points.length - 1]?.rates || [];
    return html`<div class="rates">
        <div class="plot" ref=${place} role="img"
            aria-label="Results a second over the last ten minutes; the table has the numbers of now">
        </div>
        <table class="legend"><caption>Results a second, by what brought them</caption><tbody>
        ${NETS.map((net, i) => html`<tr key=${net.name}><td><${Key} net=${net} i=${i} /></td>
            <th scope="row">${net.label}</th><td class="number" data-net=${net.name}>${rate(now[i])}</td>
            </tr>`)}
        </tbody></table></div>`;
}
