import { planByteResponse, type ByteResponsePlan } from '../../domain/http/byte-response.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { CdnParts } from '../bytes/cdn-handler.ts';
import type { SelectedEntry } from '../bytes/entry-selector.ts';
import type { Serving, ServingState } from '../serving/serving.ts';
import type { FastHead } from './request-head.ts';
import type { ResponseHeads } from './response-heads.ts';

/** Objects up to this size are kept together with the head of their answer. */
const WHOLE_BYTES = 64 * 1024;
/** Most targets remembered at once. */
const MOST_TARGETS = 16_384;
/** The answers that are kept as they go out, by their place among the blocks of an object. */
const KEPT = { whole: -1, head: -2, notModified: -3 } as const;
const ANSWER_KINDS = ['whole', 'head', 'notModified'] as const satisfies readonly AnswerKind[];

/** What a target stands for while the same state is served. */
export interface Prepared extends SelectedEntry {
  readonly target: string;
  /** Under which its answers are kept. */
  readonly key: string;
  /** Those that are in memory and may still be changed. */
  readonly kept: Record<AnswerKind, KeptAnswer | null>;
  /** Whether the object could be opened since this was prepared. */
  isOpenable: boolean;
}

/** The plain 200 with its body, the same to HEAD, and the 304. */
export type AnswerKind = keyof typeof KEPT;

interface KeptAnswer {
  /** Weak, so that the cache alone decides how long it stays. */
  readonly bytes: WeakRef<Buffer>;
  readonly headLength: number;
  readonly dateAt: number;
  second: number;
}

/** A whole answer with the date of now, as it goes out. */
export interface ReadyAnswer {
  readonly kind: AnswerKind;
  readonly status: 200 | 304;
  readonly bytes: Buffer;
  readonly bodyBytes: number;
}

/** An answer that can be written as soon as its bytes are at hand. */
export interface FastPlan {
  readonly status: 200 | 206 | 304;
  readonly fields: readonly string[];
  /** Bytes of the object to send, none when `start` is `end`. */
  readonly start: number;
  readonly end: number;
}

/** Finds answers and makes their bytes. */
export interface PreparedAnswers {
  /** What a target stands for, if it may leave now; otherwise the full server has the answer. */
  find(target: string): Prepared | null;
  /** How a request for it is answered; `null` when that is not one of the plain answers. */
  plan(prepared: Prepared, head: FastHead): FastPlan | null;
  /** The answer to a request, if it is in memory as a whole. */
  ready(prepared: Prepared, head: FastHead): ReadyAnswer | null;
  /** The bytes of a small object, if its plain 200 is in memory. They never change. */
  body(prepared: Prepared): Buffer | null;
  /** Ends changes of the bytes that {@link ready} gave: the network has not taken them yet. */
  pin(prepared: Prepared, kind: AnswerKind): void;
  /** Keeps the answer to a request as a whole, if it is of a kind that is kept. */
  keep(
    prepared: Prepared,
    head: FastHead,
    answer: { readonly plan: FastPlan; readonly body: Buffer | undefined },
  ): void;
  /** The head of an answer with the date of now, the empty line included. */
  renderHead(plan: FastPlan): string;
}

/** What {@link createPreparedAnswers} needs. */
export interface PreparedAnswersDeps {
  readonly serving: Serving;
  readonly cdn: CdnParts;
  readonly clock: Clock;
  readonly heads: ResponseHeads;
}

/** Makes an empty memory of answers; all of it is dropped whenever something else is served. */
export function createPreparedAnswers(deps: PreparedAnswersDeps): PreparedAnswers {
  const { serving, cdn, clock, heads } = deps;
  const { cache } = cdn;
  const targets = new Map<string, Prepared>();
  let served: ServingState | null = null;

  const drop = (prepared: Prepared, kind: AnswerKind): void => {
    if (prepared.kept[kind] === null) return;
    cache.drop(prepared.key, KEPT[kind]);
    prepared.kept[kind] = null;
  };

  const forget = (prepared: Prepared): void => {
    targets.delete(prepared.target);
    for (const kind of ANSWER_KINDS) drop(prepared, kind);
  };

  const prepare = (target: string): Prepared | null => {
    let selected: SelectedEntry;
    try {
      selected = cdn.select(target);
    } catch {
      // Whatever it is, the full server finds the same and has the words for it.
      return null;
    }
    const prepared: Prepared = {
      ...selected,
      target,
      // Several targets may share an object and still differ in their heads.
      key: `answer ${target}`,
      kept: { whole: null, head: null, notModified: null },
      isOpenable: false,
    };
    targets.set(target, prepared);
    const [oldest] = targets.size > MOST_TARGETS ? targets.values() : [];
    if (oldest !== undefined) forget(oldest);
    return prepared;
  };

  const renderHead = ({ status, fields }: FastPlan): string => heads.render(status, fields);

  /** A kept answer with the date of now. Once a second the cache is asked whether it is still kept, and told of the use. */
  const current = (prepared: Prepared, kind: AnswerKind): { bytes: Buffer; headLength: number } | null => {
    const answer = prepared.kept[kind];
    if (answer === null) return null;
    const { second, date } = heads.now();
    const bytes = answer.bytes.deref();
    if (
      bytes === undefined ||
      (answer.second !== second && cache.get(prepared.key, KEPT[kind]) === undefined)
    ) {
      prepared.kept[kind] = null;
      return null;
    }
    if (answer.second !== second) {
      bytes.write(date, answer.dateAt, 'latin1');
      answer.second = second;
    }
    return { bytes, headLength: answer.headLength };
  };

  return {
    renderHead,
    body: (prepared) => {
      const whole = current(prepared, 'whole');
      return whole === null ? null : whole.bytes.subarray(whole.headLength);
    },
    find: (target) => {
      const state = serving.state();
      if (state !== served) {
        for (const prepared of targets.values()) forget(prepared);
        served = state;
      }
      const prepared = targets.get(target) ?? prepare(target);
      if (prepared === null) return null;
      // The verdict comes first, on every request; and a date that lies ahead has rules of its own.
      const now = clock.now() / 1000;
      if (serving.servable(prepared.release).ok && prepared.representation.lastModified < Math.floor(now)) {
        return prepared;
      }
      forget(prepared);
      return null;
    },
    plan: ({ representation }, { method, fields }) => {
      const { range, ifRange, ifNoneMatch } = fields;
      const planned = planByteResponse(
        {
          method,
          headers: { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch },
          nowSeconds: Math.floor(clock.now() / 1000),
          boundary: () => '',
        },
        representation,
      );
      return fastPlan(planned);
    },
    ready: (prepared, head) => {
      const kind = kindOf(prepared, head);
      // What HEAD says is only true of an object that can be read.
      if (kind === null || (kind === 'head' && !prepared.isOpenable && prepared.kept.whole === null))
        return null;
      const answer = current(prepared, kind);
      if (answer === null) return null;
      const { bytes, headLength } = answer;
      return {
        kind,
        status: kind === 'notModified' ? 304 : 200,
        bytes,
        bodyBytes: bytes.length - headLength,
      };
    },
    pin: drop,
    keep: (prepared, head, { plan, body }) => {
      const kind = kindOf(prepared, head);
      // Another state may be served by now; what belongs to the last one is not kept.
      if (kind === null || prepared.kept[kind] !== null || targets.get(prepared.target) !== prepared) return;
      if (kind === 'whole' && (body === undefined || body.length > WHOLE_BYTES)) return;
      const text = renderHead(plan);
      const bytes = Buffer.allocUnsafeSlow(text.length + (body?.length ?? 0));
      bytes.write(text, 0, 'latin1');
      body?.copy(bytes, text.length);
      if (kind === 'whole') cache.drop(prepared.entry.blake3, 0);
      cache.put(prepared.key, KEPT[kind], bytes);
      prepared.kept[kind] = {
        bytes: new WeakRef(bytes),
        headLength: text.length,
        dateAt: text.indexOf('\r\nDate: ') + '\r\nDate: '.length,
        second: heads.now().second,
      };
    },
  };
}

/** Which of the answers that are kept answers a request, or `null` for none. */
function kindOf({ representation }: Prepared, { method, fields }: FastHead): AnswerKind | null {
  const { range, ifNoneMatch } = fields;
  if (range !== undefined) return null;
  if (ifNoneMatch !== undefined) return ifNoneMatch === representation.etag ? 'notModified' : null;
  return method === 'GET' ? 'whole' : 'head';
}

function fastPlan({ status, headers, parts, tail }: ByteResponsePlan): FastPlan | null {
  if ((status !== 200 && status !== 206 && status !== 304) || parts.length > 1 || tail !== '') return null;
  const [part] = parts;
  return {
    status,
    fields: status === 304 ? headers : [...headers, 'X-Content-Type-Options', 'nosniff'],
    start: part?.start ?? 0,
    end: part?.end ?? 0,
  };
}
