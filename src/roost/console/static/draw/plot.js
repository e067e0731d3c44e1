// A small plot of lines over the last minutes, around uPlot. Colours are those of the theme.

import { isDark, theme } from "../state.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/** @typedef {import("../vendor/uPlot.js")} UPlot */
/** @typedef {new (options: import("../vendor/uPlot.js").Options, data: any, place: HTMLElement) => UPlot} UPlotClass */
/**
 * @typedef {{name: string, variable: string, points: (number | null)[], isFilled?: boolean, isTrouble?: boolean}} PlotLine
 *   `variable`: the CSS variable with its colour; `points`: null where nothing is known; `isTrouble`: not drawn as long as it is 0
 */

const HEIGHT = 96;
const SPAN_SECONDS = 300;
const FONT = "11px system-ui, sans-serif";

/** @param {string} variable @returns {string} */
const colour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();

/** @type {Promise<UPlotClass> | null} */
let loading = null;

/** uPlot is a script, not a module, and large: it is loaded when there is something to plot. */
function loadLibrary() {
	loading ??= new Promise((resolve, reject) => {
		const script = document.createElement("script");
		script.src = new URL("../vendor/uPlot.js", import.meta.url).href;
		script.onload = () => resolve(/** @type {any} */ (globalThis).uPlot);
		script.onerror = () => {
			loading = null;
			reject(new Error("The library for plots could not be loaded."));
		};
		document.head.append(script);
	});
	return loading;
}

/** The same moment is marked in all plots. */
const SYNC = "roost";

/**
 * The values where the pointer is, or the last ones, stand above the lines.
 * @param {{title: string, explanation?: string, times: number[], lines: PlotLine[], format: (value: number) => string}} props `times` in seconds
 */
export function Plot({ title, explanation, times, lines, format }) {
	const box = useRef(/** @type {HTMLElement | null} */ (null));
	const plot = useRef(/** @type {UPlot | null} */ (null));
	const start = useRef(() => {});
	const [pointed, setPointed] = useState(/** @type {number | null} */ (null));
	const shown = useRef({ times, lines, format });
	shown.current = { times, lines, format };

	useEffect(() => {
		const place = /** @type {HTMLElement} */ (box.current);
		let isGone = false;
		const size = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: HEIGHT }));
		const begin = (/** @type {UPlotClass} */ UPlot) => {
			if (isGone || plot.current) return;
			const { times: first, lines: drawn } = shown.current;
			plot.current = new UPlot(optionsFor(drawn, place.clientWidth, () => shown.current, setPointed), toData(first, drawn), place);
			size.observe(place);
		};
		// Until it is there, the numbers are. If the service has just stopped, the next points try again.
		start.current = () => void loadLibrary().then(begin, () => undefined);
		start.current();
		const repaint = () => plot.current?.redraw(false, true);
		const system = matchMedia("(prefers-color-scheme: dark)");
		system.addEventListener("change", repaint);
		const end = theme.subscribe(() => requestAnimationFrame(repaint));
		return () => {
			isGone = true;
			size.disconnect();
			system.removeEventListener("change", repaint);
			end();
			plot.current?.destroy();
			plot.current = null;
		};
	}, []);
	useEffect(() => (plot.current ? plot.current.setData(toData(times, lines)) : start.current()), [times.length, times[times.length - 1]]);

	const index = pointed !== null && pointed < times.length ? pointed : times.length - 1;
	const say = (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? "–" : format(value));
	const summary = lines.map((line) => `${line.name} ${say(line.points[times.length - 1])}, at most ${say(largest([line]))}`).join("; ");
	return html`<figure class="plot">
		<figcaption title=${explanation}>
			<span class="title">${title}</span>
			${lines.map((line) => html`<span class="value" key=${line.name}><span class="quiet small key" style=${{ borderColor: `var(${line.variable})` }}>${line.name}</span> <span class="mono">${say(line.points[index])}</span></span>`)}
		</figcaption>
		<div class="canvas" ref=${box} role="img" aria-label=${`${title} over the last five minutes: ${summary}`}></div>
	</figure>`;
}

/** @param {PlotLine[]} lines */
function largest(lines) {
	const known = lines.flatMap((line) => line.points).filter((value) => value !== null);
	return known.length ? Math.max(.../** @type {number[]} */ (known)) : null;
}

/**
 * @param {number[]} times
 * @param {PlotLine[]} lines
 * @returns {any}
 */
const toData = (times, lines) => [times, ...lines.map((line) => (line.isTrouble && !largest([line]) ? times.map(() => null) : line.points))];

/**
 * @param {PlotLine[]} lines
 * @param {number} width
 * @param {() => {times: number[], lines: PlotLine[], format: (value: number) => string}} current
 * @param {(index: number | null) => void} onPoint
 * @returns {import("../vendor/uPlot.js").Options}
 */
function optionsFor(lines, width, current, onPoint) {
	const end = () => current().times.slice(-1)[0] ?? Date.now() / 1000;
	const axis = { font: FONT, stroke: () => colour("--quiet"), ticks: { show: false }, grid: { stroke: () => colour("--line"), width: 1 } };
	return {
		width,
		height: HEIGHT,
		padding: [8, 16, 0, 0],
		legend: { show: false },
		cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 }, sync: { key: SYNC } },
		scales: {
			x: { time: true, range: () => [end() - SPAN_SECONDS, end()] },
			y: { range: () => [0, roundUp(largest(current().lines) ?? 0)] },
		},
		axes: [
			{ ...axis, size: 20, space: 60, gap: 2, values: (_, splits) => splits.map(clock) },
			{ ...axis, size: 48, space: 24, gap: 4, values: (_, splits) => splits.map((value) => current().format(value).replace(/\.0(?!\d)/, "")) },
		],
		series: [
			{},
			...lines.map((line) => ({
				label: line.name,
				stroke: () => colour(line.variable),
				// A hint of the colour, in both themes.
				fill: line.isFilled ? () => `${colour(line.variable)}${isDark() ? "30" : "20"}` : undefined,
				width: 1.5,
				points: { show: false },
			})),
		],
		hooks: { setCursor: [(/** @type {UPlot} */ plot) => onPoint(plot.cursor.idx ?? null)] },
	};
}

/** The next of 1, 2, 5, 10, 20, ...: the scale changes seldom. @param {number} value */
function roundUp(value) {
	if (!(value > 0)) return 1;
	const power = 10 ** Math.floor(Math.log10(value));
	return power * (/** @type {number} */ ([1, 2, 5, 10].find((step) => step * power >= value)));
}

/** @param {number} seconds */
function clock(seconds) {
	const time = new Date(seconds * 1000);
	return `${String(time.getHours()).padStart(2, "0")}:${String(time.getMinutes()).padStart(2, "0")}`;
}
