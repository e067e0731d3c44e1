// The page Ask: does a request fit, where, and if not, why?

import { loadCatalog } from "../model/catalog.js";
import { emptyGroup, freeSuffix, hasResources, isEmpty, writeQuery } from "../model/request.js";
import { placeOfRefusal } from "../model/request_rules.js";
import { Page } from "../parts/page.js";
import { html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { Answer } from "./ask/answer.js";
import { goAsk, NOTHING, readAsk } from "./ask/address.js";
import { CANDIDATES_STEP, useAnswers } from "./ask/answers.js";
import { candidateKey, CandidateView } from "./ask/candidates.js";
import { GroupCard, Lists } from "./ask/cards.js";
import { Examples } from "./ask/examples.js";
import { LostTrees, TreeReasonView } from "./ask/lost_view.js";
import { CopyAs, PasteBox } from "./ask/paste.js";
import { WholeCard } from "./ask/whole.js";

/**
 * @typedef {import("../model/request.js").Request} Request
 * @typedef {import("./ask/address.js").Show} Show
 */

/** @param {{parameters: URLSearchParams}} props */
export function AskPage({ parameters }) {
	const { request, show } = readAsk(parameters);
	const query = writeQuery(request);
	const isAsked = hasResources(request) || request.others.length > 0;
	const [count, setCount] = useState({ query, candidates: CANDIDATES_STEP });
	const wanted = count.query === query ? count.candidates : CANDIDATES_STEP;
	const answers = useAnswers(request, wanted, isAsked);
	const edit = useEdit(show);
	const paste = useCallback((/** @type {Request} */ pasted) => goAsk(pasted), []);
	useEffect(() => void loadCatalog(), []);

	const refusal = isAsked ? answers.refusal : null;
	const place = refusal && placeOfRefusal(request, refusal.detail);
	const filters = html`
		<${PasteBox} onRequest=${paste} />
		${isAsked && html`
			<button type="button" class="ask-now" title="ask again now" onClick=${answers.askNow}>Ask</button>
			<a href="ask" title="begin with an empty request">clear</a>
			<${CopyAs} request=${request} fits=${answers.explanation.value?.verdict === "fits"} />`}`;
	return html`<${Page} title="Ask" filters=${filters} details=${isAsked && detailsOf({ request, show, answers, edit })} onClose=${() => goAsk(request)}>
		${refusal && !place && html`<p class="refusal said" role="alert">${refusal.detail}</p>`}
		<${Cards} request=${request} edit=${edit} refusal=${refusal?.detail} place=${place} />
		${isAsked && html`<${Answer} request=${request} answers=${answers} show=${show} onRelax=${edit}
			onMore=${() => setCount({ query, candidates: wanted + CANDIDATES_STEP })} />`}
		${!isAsked && !isEmpty(request) && html`<p class="quiet">Add a resource class: a request asks for an amount of at least one.</p>`}
		${isEmpty(request) && html`<${Examples} />`}
	</${Page}>`;
}

/**
 * Changes of the request are changes of the address. Several keys typed into one field are one step back.
 * @param {Show} show
 * @returns {import("./ask/cards.js").Edit}
 */
function useEdit(show) {
	const last = useRef({ key: "", href: "" });
	return (request, key = "") => {
		// Only where the address is still that of the last key.
		const replace = key !== "" && key === last.current.key && location.href === last.current.href;
		const before = location.href;
		// A tree is still of interest when the request has changed; stages and candidates are others.
		goAsk(request, show.kind === "tree" ? show : NOTHING, { replace });
		if (location.href !== before) last.current = { key, href: location.href };
	};
}

/**
 * @param {{request: Request, show: Show, answers: ReturnType<typeof useAnswers>, edit: import("./ask/cards.js").Edit}} props
 */
function detailsOf({ request, show, answers, edit }) {
	const explanation = answers.explanation.value;
	const found = answers.candidates.value;
	if (show.kind === "tree") {
		return html`<${TreeReasonView} key=${show.value} request=${request} uuid=${show.value} onRelax=${edit} round=${explanation} />`;
	}
	if (show.kind === "stage" && explanation) {
		const number = Number(show.value);
		const stage = explanation.stages[number];
		if (!stage) return null;
		// What was listed stays until the numbers change.
		const key = `${number} ${stage.text} ${stage.trees.in} ${stage.trees.out}`;
		return html`<${LostTrees} key=${key} request=${request} explanation=${explanation} number=${number} />`;
	}
	if (show.kind === "candidate" && found) {
		const candidate = found.candidates.find((each) => candidateKey(each) === show.value);
		if (!candidate) return html`<p class="quiet">This candidate is not among those shown: it may no longer fit.</p>`;
		return html`<${CandidateView} key=${show.value} candidate=${candidate} summaries=${found.summaries} round=${explanation} />`;
	}
	return null;
}

/**
 * @param {{request: Request, edit: import("./ask/cards.js").Edit, refusal?: string, place?: import("../model/request_rules.js").Place | null}} props
 */
function Cards({ request, edit, refusal, place }) {
	// Cards of groups that ask for nothing yet: they are not in the address.
	const [pending, setPending] = useState(/** @type {string[]} */ ([]));
	const suffixes = request.groups.map((group) => group.suffix);
	const blank = pending.filter((suffix) => !suffixes.includes(suffix));
	const shown = request.groups.length || blank.length ? blank : [""];
	const groups = [...request.groups, ...shown.map(emptyGroup)];
	const forget = (/** @type {string} */ suffix) => setPending(pending.filter((each) => each !== suffix));
	const add = (/** @type {string} */ suffix) => {
		setPending([...blank, suffix]);
		// The new card is there after the next draw.
		setTimeout(() => document.getElementById(`group${suffix}-class`)?.focus(), 50);
	};
	return html`<div class="cards">
		<${Lists} />
		${groups.map((group) => html`<${GroupCard} key=${group.suffix} request=${request} group=${group} edit=${edit}
			onRemove=${() => forget(group.suffix)} onRename=${(/** @type {string} */ to) => setPending([...pending.filter((each) => each !== group.suffix), to])}
			refusal=${place?.suffix === group.suffix ? refusal : undefined} />`)}
		<${WholeCard} request=${request} suffixes=${suffixes.filter(Boolean)} edit=${edit} refusal=${place?.suffix === null ? refusal : undefined}
			onAdd=${() => add(freeSuffix(request, blank))} onAddPlain=${groups.some((group) => !group.suffix) ? undefined : () => add("")} />
	</div>`;
}
