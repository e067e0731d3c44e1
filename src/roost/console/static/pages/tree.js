// The page Tree: the providers of one tree, who shares with it, and who holds something of it.

import { ApiError } from "../api.js";
import { holds, marksOf } from "../model/consumers.js";
import { ancestorsOf, changedProviders, classesOf, foldedAtFirst, treeLines } from "../model/tree.js";
import { Empty, Failed, Loading, useReading } from "../parts/conditions.js";
import { Choice, Page } from "../parts/page.js";
import { ProviderTree, TreeHeader } from "../parts/provider_tree.js";
import { Uuid, formatNumber } from "../parts/values.js";
import { change, link } from "../state.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { CONSUMERS_STEP, TreeConsumers, usePicked } from "./tree/consumers.js";
import { ProviderDetails } from "./tree/provider.js";
import { readBorrowers, readConsumers, readLenders, readTree, useReloading } from "./tree/reading.js";
import { Borrowers, Lenders, RAILS_MAX, lendingAggregates } from "./tree/sharing.js";
import { TreeStart } from "./tree/start.js";

/** @typedef {import("../model/tree.js").Provider} Provider */

/** On a narrow screen the drawer covers the tree, so that only what is selected is in it. */
const NARROW = "(max-width: 800px)";
/** Folds are in the address by the beginning of their UUIDs. */
const FOLD_LENGTH = 8;

/** @param {{parameters: URLSearchParams}} props */
export function TreePage({ parameters }) {
	const uuid = parameters.get("uuid") ?? "";
	return uuid ? html`<${TreeView} key=${uuid} uuid=${uuid} parameters=${parameters} />` : html`<${TreeStart} />`;
}

/** @param {{uuid: string, parameters: URLSearchParams}} props */
function TreeView({ uuid, parameters }) {
	const root = useRef("");
	const { value: providers, error, reload } = useReading((signal) => readTree(uuid, root.current, signal), [uuid]);
	if (providers?.length) root.current = providers[0].root_provider_uuid;
	const retry = error ? html`<button type="button" onClick=${reload}>try again</button>` : null;
	if (!providers) {
		return html`<${Page} title="Tree">${error ? html`<${Failed} error=${error} retry=${reload} />` : html`<${Loading} text="reading the tree" />`}</${Page}>`;
	}
	if (!providers.length || (error instanceof ApiError && error.status === 400)) {
		return html`<${Page} title="Tree"><${Empty} title="This tree is gone">
			Its root <code>${root.current}</code> was deleted while this page was open. <a href=${link("cloud")}>To the cloud</a>
		</${Empty}></${Page}>`;
	}
	return html`<${LoadedTree} providers=${providers} parameters=${parameters} reload=${reload} uuid=${uuid}
		warning=${error instanceof ApiError ? html`<p class="stale" role="status">What is shown may be old. ${error.detail} ${retry}</p>` : null} />`;
}

/** @param {{providers: Provider[], uuid: string, parameters: URLSearchParams, reload: () => void, warning: any}} props */
function LoadedTree({ providers, uuid, parameters, reload, warning }) {
	const rootUuid = providers[0].root_provider_uuid;
	const root = providers.find((each) => each.uuid === rootUuid) ?? providers[0];
	const resourceClass = parameters.get("class") ?? "";
	const selected = providers.find((each) => each.uuid === parameters.get("provider"));
	const classes = useMemo(() => classesOf(providers), [providers]);
	const shownClasses = useMemo(() => (classes.includes(resourceClass) ? [resourceClass] : null), [classes, resourceClass]);
	const lines = useMemo(() => treeLines(providers), [providers]);
	const folds = useFolds(lines, parameters, uuid, providers);
	const changed = useChanged(providers);
	const isNarrow = useMedia(NARROW);

	const count = Math.max(CONSUMERS_STEP, Number(parameters.get("shown")) || 0);
	const filters = { ...(selected ? { resource_provider: selected.uuid } : { tree: rootUuid }), resource_class: shownClasses?.[0] };
	const listed = useReading((signal) => readConsumers(filters, count, CONSUMERS_STEP, signal), [rootUuid, selected?.uuid, shownClasses, count, providers]);
	const picked = usePicked(parameters.get("consumer") ?? "", listed.value?.consumers, providers);
	const marks = useMemo(() => marksOf(picked.consumer), [picked.consumer]);
	const lenders = useReading((signal) => readLenders(providers, signal), [providers]);
	const borrowers = useReading((signal) => readBorrowers(providers, signal), [providers]);
	const rails = useMemo(() => lendingAggregates(lenders.value ?? [], providers).slice(0, RAILS_MAX), [lenders.value, providers]);

	const trees = new Set([rootUuid, ...(lenders.value ?? []).map((each) => each.root_provider_uuid)]);
	const known = new Set(providers.map((each) => each.uuid));
	useReloading((event) => trees.has(event.tree ?? "") || known.has(event.resource_provider ?? ""), reload);

	const consumers = html`<${TreeConsumers} listed=${listed} picked=${picked} selected=${selected} resourceClass=${shownClasses?.[0] ?? ""}
		providers=${providers} lenders=${lenders.value ?? []} count=${count} />`;
	const provider = selected && html`<${ProviderDetails} provider=${selected} providers=${providers} marks=${marks[selected.uuid]} resourceClass=${resourceClass} />`;
	const choose = (/** @type {string} */ chosen) => change({ provider: chosen === selected?.uuid ? null : chosen, shown: null });
	return html`<${Page} title=${`${root.name} · Tree`} filters=${html`
			<${Choice} label="class" value=${shownClasses ? resourceClass : ""} options=${[["", "all"], ...classes.map((each) => [each, each])]}
				onChange=${(/** @type {string} */ value) => change({ class: value })} />
			${folds.canFold && html`<button type="button" onClick=${folds.openAll}>unfold all</button><button type="button" onClick=${folds.foldAll}>fold all</button>`}
			<a href=${link("ask", askParameters(rootUuid, shownClasses?.[0] ?? classes[0]))}>ask for what fits here</a>
			<a href=${link("events", { tree: rootUuid })}>events</a>`}
		details=${isNarrow ? provider : html`<div class="tree-side">${provider}${consumers}</div>`}
		onClose=${selected ? () => change({ provider: null, shown: null }) : undefined}>
		${warning}
		<div class="tree-title">
			<h2 class="name">${root.name}</h2> <${Uuid} value=${rootUuid} />
			<span class="quiet">${formatNumber(providers.length)} provider${providers.length === 1 ? "" : "s"}</span>
		</div>
		<${TreeHeader} indent=${rails.length} />
		<${Lenders} lenders=${lenders.value ?? []} error=${lenders.error} rails=${rails} classes=${shownClasses} marks=${marks} providers=${providers} />
		<${ProviderTree} providers=${providers} marks=${marks} classes=${shownClasses} selected=${selected?.uuid} onSelect=${choose}
			folded=${folds.folded} onFold=${folds.fold} rails=${rails} changed=${changed} label=${`providers of ${root.name}`} />
		<${Legend} isMarked=${Boolean(picked.consumer && Object.keys(holds(picked.consumer)).length)} />
		${borrowers.value && html`<${Borrowers} borrowers=${borrowers.value} />`}
		${isNarrow && consumers}
	</${Page}>`;
}

/**
 * A request to begin with: a little of the class that is shown, or of the first one.
 * @param {string} rootUuid
 * @param {string | undefined} resourceClass
 */
function askParameters(rootUuid, resourceClass) {
	return { resources: resourceClass && `${resourceClass}:1`, in_tree: rootUuid };
}

/** What the colours of bars mean. @param {{isMarked: boolean}} props */
function Legend({ isMarked }) {
	const parts = [...(isMarked ? [["mark", "held by the consumer"]] : []), ["used", "used"], ["over", "over capacity"], ["reserved", "reserved"], ["free", "free"]];
	return html`<p class="legend small quiet">${parts.map(([kind, text]) => html`<span><span class=${`swatch strip-${kind}`}></span> ${text}</span>`)}
		<span>numbers: used / capacity × allocation ratio</span></p>`;
}

/**
 * Which providers are folded: some at first, in a large tree, and then as the address says.
 * @param {import("../model/tree.js").Line[]} lines
 * @param {URLSearchParams} parameters
 * @param {string} uuid
 * @param {Provider[]} providers
 */
function useFolds(lines, parameters, uuid, providers) {
	const short = (/** @type {string} */ each) => each.slice(0, FOLD_LENGTH);
	const list = (/** @type {string} */ name) => (parameters.get(name) ?? "").split(",").filter(Boolean);
	const folds = list("fold");
	const opens = list("open");
	const parents = lines.filter((line) => line.below > 0).map((line) => line.provider.uuid);
	const folded = useMemo(() => {
		const opened = new Set([uuid, parameters.get("provider") ?? ""].flatMap((each) => ancestorsOf(providers, each).map((provider) => provider.uuid)));
		const atFirst = foldedAtFirst(lines);
		const isFolded = (/** @type {string} */ each) =>
			folds.includes(short(each)) || (atFirst.has(each) && !opened.has(each) && !opens.includes("all") && !opens.includes(short(each)));
		return new Set(parents.filter((each) => isFolded(each) || (folds.includes("all") && each !== lines[0].provider.uuid && !opens.includes(short(each)))));
	}, [lines, folds.join(), opens.join(), uuid, parameters.get("provider")]);
	return {
		folded,
		canFold: parents.length > 1,
		fold: (/** @type {string} */ each, /** @type {boolean} */ isFolded) => {
			const others = (/** @type {string[]} */ names) => names.filter((name) => name !== short(each));
			const next = isFolded ? { fold: [...others(folds), short(each)], open: others(opens) } : { fold: others(folds), open: [...others(opens), short(each)] };
			change({ fold: next.fold.join(), open: next.open.join() }, { replace: true });
		},
		foldAll: () => change({ fold: "all", open: null }, { replace: true }),
		openAll: () => change({ fold: null, open: "all" }, { replace: true }),
	};
}

/** The providers that changed since they were drawn before. @param {Provider[]} providers */
function useChanged(providers) {
	const before = useRef(/** @type {Provider[] | null} */ (null));
	const round = useRef(0);
	return useMemo(() => {
		const uuids = before.current ? changedProviders(before.current, providers) : new Set();
		before.current = providers;
		round.current += 1;
		return { uuids, round: round.current };
	}, [providers]);
}

/** Whether the screen is as the query says. @param {string} query */
function useMedia(query) {
	const [matches, setMatches] = useState(() => matchMedia(query).matches);
	useEffect(() => {
		const list = matchMedia(query);
		const update = () => setMatches(list.matches);
		list.addEventListener("change", update);
		return () => list.removeEventListener("change", update);
	}, [query]);
	return matches;
}
