import { AsyncLocalStorage } from 'node:async_hooks';

/** The place of this process in a trace that a caller began. */
export interface Trace {
  /** 32 hexadecimal digits, the same in all services. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the work of this process for one request. */
  readonly spanId: string;
  readonly flags: string;
  /** Fields of other systems, passed on with the trace; `null` when there are none. */
  readonly state: string | null;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
/** The flags that are defined: sampled and random. */
const KNOWN_FLAGS = 0x03;
/** Bytes of `tracestate` that every participant should pass on. */
const STATE_MAX_LENGTH = 512;

type Field = string | readonly string[] | undefined;

interface TraceFields {
  readonly traceparent?: Field;
  readonly tracestate?: Field;
}

const current = new AsyncLocalStorage<Trace | null>();

/**
 * Reads the trace of a request.
 *
 * @returns `null` without a valid field; this service begins no traces
 *
 * Source: W3C Trace Context, sections 3.2 and 4.
 */
export function receiveTrace(fields: TraceFields, createSpanId: () => string): Trace | null {
  const trace = restoreTrace(fields);
  return trace === null ? null : { ...trace, spanId: createSpanId() };
}

/**
 * Reads the trace of work that this service stored with {@link traceHeaders}; the work continues in its span.
 *
 * @returns `null` without a valid field
 */
export function restoreTrace(fields: TraceFields): Trace | null {
  const traceparent = joined(fields.traceparent);
  if (traceparent === undefined) return null;
  const tracestate = joined(fields.tracestate);
  const [, version = '', traceId = '', parentId = '', flags = '', further] =
    TRACEPARENT.exec(traceparent) ?? [];
  const isKnown = version === '00' && further === undefined;
  const isLater = version > '00' && version !== 'ff';
  if (!(isKnown || isLater) || ZEROS.test(traceId) || ZEROS.test(parentId)) return null;
  return {
    traceId,
    spanId: parentId,
    flags: (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0'),
    state: tracestate === undefined || tracestate.length > STATE_MAX_LENGTH ? null : tracestate,
  };
}

function joined(field: Field): string | undefined {
  return typeof field === 'string' ? field : field?.join(', ');
}

/** Runs work as part of a trace, or with `null` as part of none. Log lines and calls of this work carry the trace. */
export function withTrace<T>(trace: Trace | null, work: () => T): T {
  return current.run(trace, work);
}

/** The trace that the running work is part of. */
export function currentTrace(): Trace | null {
  return current.getStore() ?? null;
}

/** The fields of every log line of the running work. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const trace = current.getStore();
  return trace === undefined || trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}

/** The trace of the running work as fields of a request to another part of Slipway, or to store with work for later. */
export function traceHeaders(): { readonly traceparent?: string; readonly tracestate?: string } {
  const trace = currentTrace();
  if (trace === null) return {};
  const { traceId, spanId, flags, state } = trace;
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(state === null ? {} : { tracestate: state }),
  };
}
