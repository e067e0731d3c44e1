// What preact.js exports, for `tsc`. The file of the package has no types of its own that stand alone,
// so the part that the console uses is written down here. It is in no wheel.

export type Key = string | number;
export type Ref<T> = { current: T | null } | ((instance: T | null) => void);

export interface VNode<P = {}> {
	type: ComponentType<P> | string;
	props: P & { children?: ComponentChildren };
	key: Key | null | undefined;
}

export type ComponentChild = VNode<any> | object | string | number | bigint | boolean | null | undefined;
export type ComponentChildren = ComponentChild[] | ComponentChild;
export type RenderableProps<P> = P & Readonly<{ children?: ComponentChildren }>;
export type FunctionComponent<P = {}> = (props: RenderableProps<P>) => ComponentChildren;
export type ComponentType<P = {}> = FunctionComponent<P> | (new (props: P, context?: any) => Component<P, any>);

export abstract class Component<P = {}, S = {}> {
	constructor(props?: P, context?: any);
	props: RenderableProps<P>;
	state: Readonly<S>;
	context: any;
	base?: Element | Text;
	setState<K extends keyof S>(
		state: ((previous: Readonly<S>, props: Readonly<P>) => Pick<S, K> | Partial<S> | null) | Pick<S, K> | Partial<S> | null,
		callback?: () => void,
	): void;
	forceUpdate(callback?: () => void): void;
	abstract render(props?: RenderableProps<P>, state?: Readonly<S>, context?: any): ComponentChildren;
	componentDidMount?(): void;
	componentDidUpdate?(previousProps: Readonly<P>, previousState: Readonly<S>): void;
	componentWillUnmount?(): void;
	componentDidCatch?(error: any): void;
	shouldComponentUpdate?(nextProps: Readonly<P>, nextState: Readonly<S>): boolean;
}

export interface Context<T> {
	Provider: FunctionComponent<{ value: T }>;
	Consumer: FunctionComponent<{ children: (value: T) => ComponentChildren }>;
}

/** A template gives one node; several roots or plain text give what they are. */
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
export function h<P>(
	type: ComponentType<P> | string,
	props: (P & { key?: Key; ref?: Ref<any> }) | Record<string, unknown> | null,
	...children: ComponentChildren[]
): VNode<any>;
export function render(vnode: ComponentChild, parent: Element | Document | ShadowRoot | DocumentFragment, replace?: Element | Text): void;
export function createContext<T>(value: T): Context<T>;

export type Inputs = ReadonlyArray<unknown>;
export type StateUpdater<S> = (value: S | ((previous: S) => S)) => void;
export interface MutableRef<T> {
	current: T;
}

export function useState<S>(initial: S | (() => S)): [S, StateUpdater<S>];
export function useState<S = undefined>(): [S | undefined, StateUpdater<S | undefined>];
export function useReducer<S, A>(reducer: (state: S, action: A) => S, initial: S): [S, (action: A) => void];
export function useReducer<S, A, I>(
	reducer: (state: S, action: A) => S,
	initial: I,
	make: (initial: I) => S,
): [S, (action: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: Inputs): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: Inputs): void;
export function useRef<T>(initial: T): MutableRef<T>;
export function useRef<T>(initial: T | null): MutableRef<T | null>;
export function useRef<T = undefined>(): MutableRef<T | undefined>;
export function useImperativeHandle<T>(ref: Ref<T>, make: () => T, inputs?: Inputs): void;
export function useMemo<T>(make: () => T, inputs: Inputs | undefined): T;
export function useCallback<T extends Function>(callback: T, inputs: Inputs): T;
export function useContext<T>(context: Context<T>): T;
export function useDebugValue<T>(value: T, format?: (value: T) => unknown): void;
export function useErrorBoundary(callback?: (error: any) => void | Promise<void>): [any, () => void];
