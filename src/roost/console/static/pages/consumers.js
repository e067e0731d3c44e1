// The page Consumers: who holds what, by project, user, type and age; and the orphans of an audit.

import { AGES, GROUPINGS, matches, toQuery } from "../model/consumers.js";
import { Empty, Failed, Loading, useReading } from "../parts/conditions.js";
import { Choice, Page, TextChoice } from "../parts/page.js";
import { formatNumber } from "../parts/values.js";
import { change, go } from "../state.js";
import { html, useMemo, useRef } from "../vendor/preact.js";
import { AuditChoice, NoReport, useAudit, useDrop } from "./consumers/audit.js";
import { ConsumerDetails } from "./consumers/details.js";
import { ConsumerTable } from "./consumers/table.js";
import { readConsumers, useReloading } from "./tree/reading.js";

/** @typedef {import("../model/consumers.js").Consumer} Consumer */

const STEP = 200;
/** The list is read again at most so often while others write. */
const RELOAD_MS = 2000;

const AGE_NAMES = /** @type {Record<string, string>} */ ({ "1h": "1 hour", "1d": "1 day", "7d": "7 days", "30d": "30 days", "90d": "90 days", "1y": "1 year" });
/** @type {ReadonlySet<string>} */
const NOBODY = new Set();
const FILTERS = ["project", "user", "type", "class", "provider", "age"];

/** @param {{parameters: URLSearchParams}} props */
export function ConsumersPage({ parameters }) {
	const filters = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name) ?? ""]));
	const isOrphansOnly = Boolean(parameters.get("orphans"));
	const audit = useAudit();
	const isDropping = useDrop(audit.take);
	const count = Math.max(STEP, Number(parameters.get("shown")) || 0);
	const key = FILTERS.map((name) => filters[name]).join("\n");
	const reading = useReading(async (signal) => {
		if (isOrphansOnly) return { key, consumers: /** @type {Consumer[]} */ ([]), hasMore: false };
		return { key, ...(await readConsumers(toQuery(filters, Date.now()), count, STEP, signal)) };
	}, [key, count, isOrphansOnly]);
	useReloading((event) => !isOrphansOnly && event.kind === "allocations", reading.reload, RELOAD_MS);

	const orphans = audit.report?.orphans;
	const consumers = useMemo(
		() => (isOrphansOnly ? (orphans ?? []).filter((each) => matches(each, filters, Date.now())) : (reading.value?.consumers ?? [])),
		[isOrphansOnly, orphans, reading.value, key],
	);
	const orphanUuids = useMemo(() => new Set((orphans ?? []).map((each) => each.uuid)), [orphans]);
	const changed = useChanged(consumers, key + isOrphansOnly + count);
	const selected = parameters.get("consumer") ?? "";
	const grouping = parameters.get("group") ?? "";
	const listed = consumers.find((each) => each.uuid === selected);

	const content = () => {
		if (isOrphansOnly && !orphans) return html`<${NoReport} take=${audit.take} />`;
		if (!isOrphansOnly && reading.error) return html`<${Failed} error=${reading.error} retry=${reading.reload} />`;
		if (!isOrphansOnly && reading.value?.key !== key) return html`<${Loading} text="reading consumers" />`;
		if (!consumers.length) return html`<${NoConsumers} isFiltered=${FILTERS.some((name) => filters[name]) || isOrphansOnly} />`;
		const hasMore = !isOrphansOnly && reading.value?.hasMore;
		return html`
			<p class="consumer-count small quiet">${hasMore ? "the first " : ""}${formatNumber(consumers.length)} ${isOrphansOnly ? "orphan" : "consumer"}${consumers.length === 1 ? "" : "s"}${grouping && hasMore ? "; sums are of these" : ""}</p>
			<${ConsumerTable} consumers=${consumers} grouping=${grouping} selected=${selected} orphans=${isOrphansOnly ? NOBODY : orphanUuids} changed=${changed} />
			${hasMore && html`<p><button type="button" onClick=${() => change({ shown: String(count + STEP) }, { replace: true })}>read ${STEP} more</button></p>`}`;
	};
	return html`<${Page} title="Consumers" filters=${html`<${Filters} filters=${filters} grouping=${grouping} consumers=${consumers} />
			<${AuditChoice} audit=${audit} isOrphansOnly=${isOrphansOnly} />`}
		details=${selected && html`<${ConsumerDetails} key=${selected} uuid=${selected} listed=${listed} isOrphan=${orphanUuids.has(selected)} />`}
		onClose=${() => change({ consumer: null })}>
		<div class=${isDropping ? "is-dropping" : ""}>${audit.problem && html`<p class="failed-report over" role="alert">${audit.problem}</p>`}${content()}</div>
	</${Page}>`;
}

/** @param {{filters: Record<string, string>, grouping: string, consumers: Consumer[]}} props */
function Filters({ filters, grouping, consumers }) {
	const values = (/** @type {(consumer: Consumer) => string[]} */ read) => [...new Set(consumers.flatMap(read))].sort().slice(0, 100);
	const choose = (/** @type {string} */ name) => (/** @type {string} */ value) => change({ [name]: value, shown: null });
	const held = values((each) => Object.values(each.allocations).flatMap((allocation) => Object.keys(allocation.resources)));
	return html`
		<${TextChoice} label="project" value=${filters.project} list=${values((each) => [each.project_id])} width="11em" onChange=${choose("project")} />
		<${TextChoice} label="user" value=${filters.user} list=${values((each) => [each.user_id])} width="9em" onChange=${choose("user")} />
		<${TextChoice} label="type" value=${filters.type} list=${values((each) => [each.consumer_type ?? "unknown"])} width="8em" onChange=${choose("type")} />
		<${TextChoice} label="class" value=${filters.class} list=${held} width="9em" onChange=${choose("class")} />
		<${Choice} label="unchanged for" value=${filters.age} options=${[["", "any time"], ...Object.keys(AGES).map((age) => [age, AGE_NAMES[age]])]} onChange=${choose("age")} />
		<${Choice} label="group by" value=${grouping} options=${[["", "nothing"], ...Object.keys(GROUPINGS).map((each) => [each, each])]}
			onChange=${(/** @type {string} */ value) => change({ group: value })} />
		${filters.provider && html`<span class="chip">of provider <code>${filters.provider.slice(0, 8)}</code>
			<button type="button" class="icon" aria-label="of all providers" onClick=${() => change({ provider: null })}>✕</button></span>`}`;
}

/** @param {{isFiltered: boolean}} props */
function NoConsumers({ isFiltered }) {
	if (isFiltered) {
		return html`<div class="empty"><h2>No consumer is like this</h2>
			<p>Nobody who holds something matches all of these choices.</p>
			<button type="button" onClick=${() => go("consumers")}>drop all choices</button></div>`;
	}
	return html`<${Empty} title="Nobody holds anything yet" command="roost demo">
		This page lists who holds what: instances, migrations, volumes, by project, user, type and age. A small data centre to try it with:
	</${Empty}>`;
}

/**
 * The consumers that are new or different since the same list was drawn before.
 * @param {Consumer[]} consumers
 * @param {string} key of the list
 */
function useChanged(consumers, key) {
	const before = useRef({ key: "", texts: /** @type {Map<string, string>} */ (new Map()), round: 0 });
	return useMemo(() => {
		const texts = new Map(consumers.map((each) => [each.uuid, JSON.stringify(each)]));
		const isSame = before.current.key === key && before.current.texts.size > 0;
		const uuids = new Set(isSame ? [...texts.keys()].filter((uuid) => before.current.texts.get(uuid) !== texts.get(uuid)) : []);
		before.current = { key, texts, round: before.current.round + 1 };
		return { uuids, round: before.current.round };
	}, [consumers]);
}
