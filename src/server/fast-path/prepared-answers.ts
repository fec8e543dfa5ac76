import { blockSpan } from '../../domain/blocks.ts';
import { planByteResponse, type ByteResponsePlan } from '../../domain/byte-response.ts';
import { renderHttpDate } from '../../domain/http-date.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CdnParts, SelectedEntry } from '../cdn/cdn-handler.ts';
import { READ_BYTES } from '../cdn/verified-object.ts';
import type { Serving, ServingState } from '../serving/serving.ts';
import type { FastHead } from './request-head.ts';

/** Objects up to this size are kept together with the head of their answer. */
const WHOLE_BYTES = 64 * 1024;
/** Most targets remembered at once. */
const MOST_TARGETS = 16_384;
/** The place of a whole answer among the blocks of its object. */
const WHOLE_ANSWER = -1;
const REASON_PHRASES = { 200: 'OK', 206: 'Partial Content', 304: 'Not Modified' } as const;

/** What a target stands for while the same state is served. */
export interface Prepared extends SelectedEntry {
  readonly target: string;
  /** Head and body of the plain 200; `null` when it is not in memory or must not be changed any more. */
  whole: WholeAnswer | null;
  /** Whether the object could be opened since this was prepared. */
  isOpenable: boolean;
}

interface WholeAnswer {
  readonly bytes: Buffer;
  readonly headLength: number;
  readonly dateAt: number;
  second: number;
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
  /** Head and body of the plain 200 in one buffer with the date of now, if it is in memory. */
  whole(prepared: Prepared): Buffer | null;
  /** The bytes of a small object, if its plain 200 is in memory. They never change. */
  body(prepared: Prepared): Buffer | null;
  /** Ends changes of the buffer that {@link whole} gave: the network has not taken it yet. */
  pin(prepared: Prepared): void;
  /** Keeps the plain 200 of a small object in memory. */
  keep(prepared: Prepared, body: Buffer): void;
  /** The head of an answer with the date of now, the empty line included. */
  renderHead(plan: FastPlan): string;
}

/** What {@link createPreparedAnswers} needs. */
export interface PreparedAnswersDeps {
  readonly serving: Serving;
  readonly cdn: CdnParts;
  readonly clock: Clock;
  /** Milliseconds; 0 when connections have no limit. */
  readonly keepAliveTimeoutMs: number;
}

/** Makes an empty memory of answers; all of it is dropped whenever something else is served. */
export function createPreparedAnswers(deps: PreparedAnswersDeps): PreparedAnswers {
  const { serving, cdn, clock, keepAliveTimeoutMs } = deps;
  const { cache } = cdn;
  const targets = new Map<string, Prepared>();
  let served: ServingState | null = null;
  let second = -1;
  let date = '';
  const connectionFields =
    'Connection: keep-alive\r\n' +
    (keepAliveTimeoutMs > 0 ? `Keep-Alive: timeout=${Math.floor(keepAliveTimeoutMs / 1000)}\r\n` : '');

  const forget = (prepared: Prepared): void => {
    targets.delete(prepared.target);
    if (prepared.whole !== null) cache.drop(wholeKey(prepared), WHOLE_ANSWER);
  };

  const prepare = (target: string): Prepared | null => {
    let selected: SelectedEntry;
    try {
      selected = cdn.select(target);
    } catch {
      // Whatever it is, the full server finds the same and has the words for it.
      return null;
    }
    const prepared = { ...selected, target, whole: null, isOpenable: false };
    targets.set(target, prepared);
    const [oldest] = targets.size > MOST_TARGETS ? targets.values() : [];
    if (oldest !== undefined) forget(oldest);
    return prepared;
  };

  const tick = (): void => {
    const now = Math.floor(clock.now() / 1000);
    if (now === second) return;
    second = now;
    date = renderHttpDate(now);
  };

  const renderHead = ({ status, fields }: FastPlan): string => {
    tick();
    let text = `HTTP/1.1 ${status} ${REASON_PHRASES[status]}\r\n`;
    for (let at = 0; at + 1 < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
    return `${text}Date: ${date}\r\n${connectionFields}\r\n`;
  };

  const wholeInMemory = (prepared: Prepared): WholeAnswer | null => {
    const { whole } = prepared;
    if (whole === null || cache.get(wholeKey(prepared), WHOLE_ANSWER) !== undefined) return whole;
    prepared.whole = null;
    return null;
  };

  return {
    renderHead,
    body: (prepared) => {
      const whole = wholeInMemory(prepared);
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
    plan: ({ representation }, head) => {
      const { method, range, ifRange, ifNoneMatch } = head;
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
    whole: (prepared) => {
      const whole = wholeInMemory(prepared);
      if (whole === null) return null;
      tick();
      if (whole.second !== second) {
        whole.bytes.write(date, whole.dateAt, 'latin1');
        whole.second = second;
      }
      return whole.bytes;
    },
    pin: (prepared) => {
      if (prepared.whole === null) return;
      cache.drop(wholeKey(prepared), WHOLE_ANSWER);
      prepared.whole = null;
    },
    keep: (prepared, body) => {
      // Another state may be served by now; what belongs to the last one is not kept.
      if (body.length > WHOLE_BYTES || prepared.whole !== null || targets.get(prepared.target) !== prepared)
        return;
      const planned = planByteResponse(
        { method: 'GET', headers: {}, nowSeconds: Math.floor(clock.now() / 1000), boundary: () => '' },
        prepared.representation,
      );
      const plan = fastPlan(planned);
      if (plan === null) return;
      const head = renderHead(plan);
      const bytes = Buffer.allocUnsafeSlow(head.length + body.length);
      bytes.write(head, 0, 'latin1');
      body.copy(bytes, head.length);
      cache.drop(prepared.entry.blake3, 0);
      cache.put(wholeKey(prepared), WHOLE_ANSWER, bytes);
      prepared.whole = {
        bytes,
        headLength: head.length,
        dateAt: head.indexOf('\r\nDate: ') + '\r\nDate: '.length,
        second,
      };
    },
  };
}

/** Several targets may share an object and still differ in their heads. */
function wholeKey({ target }: Prepared): string {
  return `answer ${target}`;
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

/** Most bytes of a body that the fast path sends. */
export const FAST_BODY_BYTES = READ_BYTES;

/** The pieces of `[start, end)` as they lie in blocks; `end - start` is at most {@link FAST_BODY_BYTES}. */
export function blockPieces(
  start: number,
  end: number,
  size: number,
): ReadonlyArray<{ readonly block: number; readonly start: number; readonly end: number }> {
  const pieces = [];
  for (let at = start; at < end;) {
    const block = Math.floor(at / READ_BYTES);
    const until = Math.min(end, blockSpan(block, size).end);
    pieces.push({ block, start: at, end: until });
    at = until;
  }
  return pieces;
}
