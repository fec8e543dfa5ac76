import { STATUS_CODES } from 'node:http';
import { renderHttpDate } from '../../domain/http/http-date.ts';
import { planByteResponse, type ByteResponsePlan } from '../../domain/http/byte-response.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { BytePathParts } from '../bytes/byte-path-parts.ts';
import type { SelectedEntry } from '../bytes/entry-selector.ts';
import type { Cors } from '../http/cors.ts';
import type { Serving, ServingState } from '../serving/serving.ts';
import type { FastHead } from './request-head.ts';

/** Larger bodies are not copied into a ready answer. */
const MAX_BODY_BYTES = 64 * 1024;
/** Maximum number of bytes of all ready answers of one second. */
const MAX_READY_BYTES = 4 * 1024 * 1024;
/** Maximum number of targets remembered. */
const MAX_TARGETS = 16_384;

/** A whole answer, head and body. */
export interface ReadyAnswer {
  readonly status: 200 | 304;
  readonly bytes: Buffer;
  readonly bodyBytes: number;
}

/** The kinds of answer that many requests share: to a plain GET, to a plain HEAD, and the 304. */
type Kind = 'get' | 'head' | 'notModified';

interface FastAnswersDependencies {
  readonly serving: Serving;
  readonly bytePath: BytePathParts;
  readonly clock: Clock;
  /** Milliseconds that an idle connection stays open; 0: no limit. */
  readonly keepAliveTimeoutMs: number;
  readonly cors: Cors;
}

/** Finds the entries of requests and keeps the answers of the current second, which all have the same `Date`. */
export class FastAnswers {
  readonly #dependencies: FastAnswersDependencies;
  readonly #connectionFields: string;
  readonly #corsFields: string;
  readonly #targets = new Map<string, SelectedEntry>();
  #state: ServingState | null = null;
  readonly #ready: Readonly<Record<Kind, Map<SelectedEntry, ReadyAnswer>>> = {
    get: new Map(),
    head: new Map(),
    notModified: new Map(),
  };
  #readyBytes = 0;
  /** Unix seconds. */
  #second = -1;
  #date = '';

  constructor(dependencies: FastAnswersDependencies) {
    this.#dependencies = dependencies;
    this.#corsFields = renderFields(dependencies.cors.fieldsFor(undefined));
    const seconds = Math.floor(dependencies.keepAliveTimeoutMs / 1000);
    this.#connectionFields = `Connection: keep-alive\r\n${seconds > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''}\r\n`;
  }

  /** The entry of a request if it may be served now; otherwise `null`, and the full server must answer. */
  find({ target, origin }: FastHead): SelectedEntry | null {
    const { serving, bytePath, cors } = this.#dependencies;
    if (origin !== undefined && cors.dependsOnOrigin) return null;
    const state = serving.state();
    if (state !== this.#state) {
      this.#targets.clear();
      this.#clearReady();
      this.#state = state;
    }
    const known = this.#targets.get(target);
    if (known !== undefined) return serving.servable(known.release).ok ? known : null;
    let selected: SelectedEntry;
    try {
      selected = bytePath.selector.select(target);
    } catch {
      // The full server finds the same problem and reports it.
      return null;
    }
    const [oldest] = this.#targets.size >= MAX_TARGETS ? this.#targets.keys() : [];
    if (oldest !== undefined) this.#targets.delete(oldest);
    this.#targets.set(target, selected);
    return selected;
  }

  /** Plans the answer to a request; `null` when the full server must answer it. */
  plan(
    { representation }: SelectedEntry,
    { method, range, ifRange, ifNoneMatch }: FastHead,
  ): ByteResponsePlan | null {
    this.#tick();
    const plan = planByteResponse(
      {
        method,
        headers: { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch },
        nowSeconds: this.#second,
        // A head holds one range at most.
        boundary: () => '',
      },
      representation,
    );
    return plan.status === 412 || plan.status === 416 ? null : plan;
  }

  /** The whole answer to a request, if it is in memory. */
  ready(entry: SelectedEntry, head: FastHead): ReadyAnswer | null {
    const kind = kindOf(entry, head);
    if (kind === null) return null;
    this.#tick();
    const known = this.#ready[kind].get(entry);
    if (known !== undefined) return known;
    if (kind === 'notModified') return this.#make(entry, head, null);
    const { size, blake3 } = entry.entry;
    // The object must be opened before an answer to HEAD or with an empty body; see keep().
    if (kind === 'head' || size === 0 || size > MAX_BODY_BYTES) return null;
    const { cache, buffers } = this.#dependencies.bytePath;
    const body = cache.get(blake3, 0);
    if (body === undefined) return null;
    const made = this.#make(entry, head, body);
    buffers.giveBack(body);
    return made;
  }

  /** Keeps an answer without a body for the rest of this second; call it after the entry sender gave that answer. */
  keep(entry: SelectedEntry, head: FastHead): void {
    this.#make(entry, head, null);
  }

  /** @param fields names and values in turn @returns the head of an answer with the empty line */
  render(status: number, fields: readonly string[]): string {
    this.#tick();
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${this.#corsFields}${renderFields(fields)}`;
    return `${text}Date: ${this.#date}\r\n${this.#connectionFields}`;
  }

  #make(entry: SelectedEntry, head: FastHead, body: Buffer | null): ReadyAnswer | null {
    const kind = kindOf(entry, head);
    if (kind === null || this.#readyBytes + (body?.length ?? 0) >= MAX_READY_BYTES) return null;
    const plan = this.plan(entry, head);
    if (plan?.status !== 200 && plan?.status !== 304) return null;
    const { status, headers } = plan;
    const text = this.render(
      status,
      status === 304 ? headers : [...headers, 'X-Content-Type-Options', 'nosniff'],
    );
    const bytes = Buffer.allocUnsafeSlow(text.length + (body?.length ?? 0));
    bytes.write(text, 'latin1');
    body?.copy(bytes, text.length);
    const made: ReadyAnswer = { status, bytes, bodyBytes: body?.length ?? 0 };
    this.#ready[kind].set(entry, made);
    this.#readyBytes += bytes.length;
    return made;
  }

  #tick(): void {
    const second = Math.floor(this.#dependencies.clock.now() / 1000);
    if (second === this.#second) return;
    this.#second = second;
    this.#date = renderHttpDate(second);
    this.#clearReady();
  }

  #clearReady(): void {
    for (const answers of Object.values(this.#ready)) answers.clear();
    this.#readyBytes = 0;
  }
}

/** @param fields names and values in turn */
function renderFields(fields: readonly string[]): string {
  let text = '';
  for (let at = 0; at + 1 < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return text;
}

function kindOf({ representation }: SelectedEntry, { method, range, ifNoneMatch }: FastHead): Kind | null {
  if (range !== undefined) return null;
  if (ifNoneMatch !== undefined) return ifNoneMatch === representation.etag ? 'notModified' : null;
  return method === 'GET' ? 'get' : 'head';
}
