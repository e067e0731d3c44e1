// The answer below the cards: the verdict and its numbers, the funnel, what would help, and the candidates.

import { ApiError } from "../../api.js";
import { Funnel, shortenUuids } from "../../draw/funnel.js";
import { names } from "../../model/provider_names.js";
import { Failed, Loading } from "../../parts/conditions.js";
import { formatNumber, Word } from "../../parts/values.js";
import { useStore } from "../../state.js";
import { html } from "../../vendor/preact.js";
import { askLink, goAsk } from "./address.js";
import { CandidateList } from "./candidates.js";
import { ProviderInput } from "./fields.js";
import { ruleText } from "./texts.js";
import { Relaxations, Verdict } from "./verdict.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./address.js").Show} Show
 * @typedef {ReturnType<typeof import("./answers.js").useAnswers>} Answers
 */

/**
 * @param {{request: Request, answers: Answers, show: Show, onRelax: (request: Request) => void, onMore: () => void}} props
 */
export function Answer({ request, answers, show, onRelax, onMore }) {
	useStore(names);
	const { explanation, capacity, candidates, refusal, isOld } = answers;
	// The refusal stands beside its card; an old answer below it would be one to another question.
	if (refusal) return null;
	const explained = explanation.value;
	const selected = show.kind === "stage" ? Number(show.value) : null;
	return html`<div class=${`answer ${isOld ? "is-old" : ""}`} aria-busy=${isOld}>
		<div class="headline" role="status">
			${explained && html`<${Verdict} verdict=${explained.verdict} />`}
			${explained && html`<${Numbers} explanation=${explained} capacity=${capacity} />`}
			${explained && explained.verdict !== "fits" && html`<span class="summary said">${shortenUuids(explained.summary)}</span>`}
		</div>
		<div class="answer-columns">
			<section aria-labelledby="ask-why">
				<h2 id="ask-why">Why</h2>
				<${Trouble} error=${explanation.error} retry=${explanation.reload} />
				${!explained && !explanation.error && html`<${Loading} lines=${5} text="asking why" />`}
				${explained && html`
					<${Funnel} trees=${explained.trees} stages=${explained.stages} selected=${selected} isComplete=${explained.complete} say=${ruleText}
						href=${(/** @type {number} */ stage) => askLink(request, { kind: "stage", value: String(stage) })} />
					<${Relaxations} request=${request} relaxations=${explained.relaxations} onRelax=${onRelax} />
					<div class="one-tree"><span class="quiet small">Why not on</span>
						<${ProviderInput} id="ask-tree" label="a provider of the tree to ask about, by name or UUID" placeholder="host"
							onFound=${(/** @type {string} */ uuid) => goAsk(request, { kind: "tree", value: uuid })} /></div>`}
			</section>
			<section aria-labelledby="ask-where">
				<h2 id="ask-where"><${Word} of="candidate">Candidates</${Word}></h2>
				<${Trouble} error=${candidates.error} retry=${candidates.reload} />
				${!candidates.value && !candidates.error && html`<${Loading} lines=${5} text="looking for candidates" />`}
				${candidates.value && (candidates.value.candidates.length
					? html`<${CandidateList} request=${request} found=${candidates.value} onMore=${onMore} isLoading=${candidates.isLoading}
						selected=${show.kind === "candidate" ? show.value : ""} />`
					: html`<p class="quiet">None. ${(explained?.stages.length ?? 0) > 0 && "A bar of the funnel lists the trees that its rule lost."}</p>`)}
			</section>
		</div>
	</div>`;
}

/**
 * How many trees fit, and how many of it in all.
 * @param {{explanation: import("./answers.js").Explanation, capacity: Answers["capacity"]}} props
 */
function Numbers({ explanation, capacity }) {
	const { stages, trees, verdict, complete } = explanation;
	const fitting = verdict === "fits" ? (stages.length ? stages[stages.length - 1].trees.out : trees) : 0;
	const atLeast = verdict === "fits" && !complete ? "at least " : "";
	const said = verdict === "unknown" ? "it is unknown whether a tree fits" : `${fitting === 1 ? "tree fits" : "trees fit"} now`;
	const count = capacity.value;
	return html`<span class="numbers">
		${verdict !== "unknown" && html`${atLeast}<b>${formatNumber(fitting)}</b> `}${said}
		${count && html` · ${!count.complete && "at least "}<b>${formatNumber(count.count)}</b> such ${count.count === 1 ? "request" : "requests"} would fit in all`}
		${!count && capacity.error ? html` · <span class="quiet">${capacity.error instanceof ApiError ? capacity.error.detail : ""}</span>` : ""}
	</span>`;
}

/** An error, but for refusals of the request itself. @param {{error: unknown, retry: () => void}} props */
function Trouble({ error, retry }) {
	return error ? html`<${Failed} error=${error} retry=${retry} />` : null;
}
