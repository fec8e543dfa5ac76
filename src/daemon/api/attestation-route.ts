import { CONDITION_HEADERS } from '../../contract/formats/condition-headers.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { ApiAnswer, ApiRequest } from './api-answer.ts';
import type { AttestationSource } from '../../releases/attest/attestor.ts';
import { renderConditionHeaders, type ConditionSource } from './condition-source.ts';

/** Media type of a DSSE envelope. Source: the DSSE specification, envelope.md, "Standard JSON envelope". */
const ENVELOPE_TYPE = 'application/vnd.dsse.envelope.v1+json';
const MAX_WAIT_SECONDS = 60;
const WAIT = /^[0-9]{1,2}$/;
const ENTITY_TAG = /(?:W\/)?("[^"]*")/g;

/**
 * Answers with the newest envelope, byte for byte, and with the conditions of the daemon. A caller that already has both can wait
 * for the next one of either.
 *
 * @throws ServiceError `no_attestation` before the first attestation; `invalid_request` for a bad `wait`
 *
 * Source: RFC 9110, section 13.1.2 (If-None-Match).
 */
export async function answerAttestation(
  { attestation: source, conditions }: { attestation: AttestationSource; conditions: ConditionSource },
  request: ApiRequest,
): Promise<ApiAnswer> {
  const waitSeconds = parseWait(request.query);
  const known = request.headers['if-none-match'];
  let current = source.current();
  if (current !== null && matches(known, current.version) && waitSeconds > 0) {
    const { version } = current;
    const knownTag = tagOf(request);
    await firstChange(
      [
        (signal) => source.waitForChange(version, waitSeconds * 1000, signal),
        ...(knownTag === null
          ? []
          : [(signal: AbortSignal) => conditions.waitForChange(knownTag, waitSeconds * 1000, signal)]),
      ],
      request.signal,
    );
    current = source.current();
  }
  if (current === null) {
    throw new ServiceError(
      'no_attestation',
      'no attestation has been issued for this store yet; sync a release',
    );
  }
  const etag = `"${current.version}"`;
  const headers = {
    etag,
    'cache-control': 'no-cache',
    ...renderConditionHeaders(conditions.current()),
  };
  if (matches(known, current.version)) return { status: 304, headers, body: null };
  return { status: 200, headers: { ...headers, 'content-type': ENVELOPE_TYPE }, body: current.envelope };
}

/** Waits for the first of these changes, and ends the other waits. */
async function firstChange(
  waits: ReadonlyArray<(signal: AbortSignal) => Promise<void>>,
  ended: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([ended, over.signal]);
  try {
    await Promise.race(waits.map((wait) => wait(signal)));
  } finally {
    over.abort();
  }
}

/** The tag of the conditions that the caller has; `null` when it waits for the attestation only. */
function tagOf({ headers }: ApiRequest): string | null {
  const tag = headers[CONDITION_HEADERS.tag];
  return typeof tag === 'string' ? tag : null;
}

function matches(known: string | undefined, version: number): boolean {
  if (known === undefined) return false;
  if (known.trim() === '*') return true;
  return [...known.matchAll(ENTITY_TAG)].some(([, tag]) => tag === `"${version}"`);
}

function parseWait(query: URLSearchParams): number {
  const [text, ...repeated] = query.getAll('wait');
  const unknown = [...new Set(query.keys())].filter((name) => name !== 'wait');
  if (text === undefined && unknown.length === 0) return 0;
  const seconds = WAIT.test(text ?? '0') ? Number(text ?? 0) : Number.NaN;
  const bad = repeated.length > 0 || !(seconds <= MAX_WAIT_SECONDS);
  if (unknown.length === 0 && !bad) return seconds;
  throw new ServiceError('invalid_request', 'the query is not valid for this operation', {
    errors: [
      ...(bad
        ? [
            {
              pointer: 'wait',
              message: `must be seconds from 0 to ${MAX_WAIT_SECONDS}, in decimal digits, once`,
            },
          ]
        : []),
      ...unknown.map((pointer) => ({ pointer, message: 'is not a parameter of this operation' })),
    ],
  });
}
