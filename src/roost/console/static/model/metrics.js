// The text of /metrics as values, and what two readings of it say about the time in between.

/**
 * One series: its labels and its value. Labels are in an object without a prototype, since their names
 * come from elsewhere.
 * @typedef {{labels: Record<string, string>, value: number}} Sample
 * @typedef {Map<string, Sample[]>} Metrics the samples by the name of the metric
 * @typedef {(labels: Record<string, string>) => boolean} Where
 * @typedef {[bound: number, count: number][]} Buckets cumulative, by upper bound
 */

/** More than any service has. What comes after them is not read. */
const SAMPLES_MAX = 50_000;

const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|(?=\}))/y;
const VALUE = /\s*([+-]?(?:inf|nan|[0-9][0-9.e+-]*))(?:\s+-?[0-9]+)?\s*$/iy;

/**
 * Prometheus' text format. A line that makes no sense is skipped.
 * @param {string} text
 * @returns {Metrics}
 */
export function parseMetrics(text) {
	/** @type {Metrics} */
	const metrics = new Map();
	let count = 0;
	for (const line of text.split("\n")) {
		const [name, sample] = parseLine(line) ?? [];
		if (!name || !sample) continue;
		const samples = metrics.get(name);
		if (samples) samples.push(sample);
		else metrics.set(name, [sample]);
		count += 1;
		if (count === SAMPLES_MAX) break;
	}
	return metrics;
}

/**
 * @param {string} line
 * @returns {[string, Sample] | null}
 */
function parseLine(line) {
	const name = match(NAME, line, 0);
	if (!name) return null;
	let position = name[0].length;
	/** @type {Record<string, string>} */
	const labels = Object.create(null);
	if (line[position] === "{") {
		position += 1;
		for (let label = match(LABEL, line, position); label; label = match(LABEL, line, position)) {
			labels[label[1]] = label[2].replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
			position += label[0].length;
		}
		while (line[position] === " ") position += 1;
		if (line[position] !== "}") return null;
		position += 1;
	} else if (line[position] !== " " && line[position] !== "\t") return null;
	const found = match(VALUE, line, position);
	return found && [name[0], { labels, value: toNumber(found[1]) }];
}

/** @param {RegExp} pattern @param {string} line @param {number} position */
function match(pattern, line, position) {
	pattern.lastIndex = position;
	return pattern.exec(line);
}

/** @param {string} text */
function toNumber(text) {
	if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
	return Number(text);
}

const everything = () => true;

/**
 * The sum of the series that match; null if there is none.
 * @param {Metrics} metrics
 * @param {string} name
 * @param {Where} [where]
 */
export function total(metrics, name, where = everything) {
	const values = (metrics.get(name) ?? []).filter((sample) => where(sample.labels) && Number.isFinite(sample.value));
	return values.length ? values.reduce((sum, sample) => sum + sample.value, 0) : null;
}

/**
 * Values of a gauge by one of its labels.
 * @param {Metrics} metrics
 * @param {string} name
 * @param {string} label
 * @returns {Map<string, number>}
 */
export function byLabel(metrics, name, label) {
	const values = new Map();
	for (const sample of metrics.get(name) ?? []) {
		if (sample.labels[label] !== undefined && Number.isFinite(sample.value)) values.set(sample.labels[label], sample.value);
	}
	return values;
}

/**
 * Whether the service was started anew between two readings: a counter has become smaller.
 * @param {Metrics} before
 * @param {Metrics} after
 */
export function hasRestarted(before, after) {
	for (const [name, samples] of before) {
		if (!/^roost_.*_(total|count|bucket)$/.test(name)) continue;
		const now = new Map((after.get(name) ?? []).map((sample) => [keyOf(sample.labels), sample.value]));
		if (samples.some((sample) => sample.value > (now.get(keyOf(sample.labels)) ?? 0))) return true;
	}
	return false;
}

/**
 * How much counters grew between two readings. A series that was not there before began at 0.
 * @param {Metrics} before
 * @param {Metrics} after
 * @param {string} name
 * @param {Where} [where]
 */
export function growth(before, after, name, where = everything) {
	return (total(after, name, where) ?? 0) - (total(before, name, where) ?? 0);
}

/**
 * What a histogram counted between two readings, over all series that match.
 * @param {Metrics | null} before null: since the service began
 * @param {Metrics} after
 * @param {string} name without `_bucket`
 * @param {Where} [where]
 * @returns {Buckets}
 */
export function bucketGrowth(before, after, name, where = everything) {
	/** @type {Map<number, number>} */
	const counts = new Map();
	const add = (/** @type {Metrics} */ metrics, /** @type {number} */ sign) => {
		for (const { labels, value } of metrics.get(`${name}_bucket`) ?? []) {
			if (labels.le === undefined || !where(labels)) continue;
			const bound = toNumber(labels.le);
			if (!Number.isNaN(bound) && Number.isFinite(value)) counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
		}
	};
	add(after, 1);
	if (before) add(before, -1);
	return [...counts].sort(([first], [second]) => first - second);
}

/**
 * The value below which a share of the observations lie, by linear interpolation within a bucket, as
 * Prometheus' histogram_quantile does it. Null without observations.
 * @param {number} share 0.95 for p95
 * @param {Buckets} buckets
 */
export function quantile(share, buckets) {
	const count = buckets.length ? buckets[buckets.length - 1][1] : 0;
	if (!(count > 0)) return null;
	const rank = share * count;
	const found = buckets.findIndex(([, cumulative]) => cumulative >= rank);
	const [bound, cumulative] = buckets[found];
	const [lower, below] = found > 0 ? buckets[found - 1] : [0, 0];
	// Above the last bound nothing is known but that bound.
	if (!Number.isFinite(bound)) return found > 0 ? lower : null;
	if (cumulative === below) return bound;
	return lower + (bound - lower) * ((rank - below) / (cumulative - below));
}

/** @param {Record<string, string>} labels */
function keyOf(labels) {
	return JSON.stringify(Object.entries(labels).sort(([first], [second]) => (first < second ? -1 : 1)));
}
