import type { IncomingMessage } from 'node:http';
import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { isJsonMediaType, JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { collectBounded } from '../memory/collect-bounded.ts';

const MAX_BYTES = 1024 * 1024;

const MAX_DEPTH = 16;

/** Most keys of one object of a body; no valid object has more than a few dozen, besides the scope of a term. */
const MAX_KEYS_OF_OBJECT = 1_000;

/** Most keys of a whole body: 10,000 translation results have three each. */
const MAX_KEYS = 32_000;

/** JSON that is sent has none (RFC 8259, section 8.1). */
const BYTE_ORDER_MARK = '\u{feff}';

const LIMITS = {
  strict: true,
  maxDepth: MAX_DEPTH,
  maxBytes: MAX_BYTES,
  maxKeysOfObject: MAX_KEYS_OF_OBJECT,
  maxKeys: MAX_KEYS,
} as const;

/**
 * Reads the JSON body of a request: exact integers, no repeated keys, bounded depth and number of keys.
 *
 * @returns the value; `undefined` when there is no body, or `null` is the body
 * @throws ServiceError `body_too_large`, `unsupported_media_type`, `invalid_request`
 */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') throw notJson();
  const body = await readWhole(request);
  if (body.length === 0) return undefined;
  if (!isJsonMediaType(headers['content-type'])) throw notJson();
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    if (text.startsWith(BYTE_ORDER_MARK)) {
      throw new JsonError('syntax', 'the body begins with a byte order mark (U+FEFF); send it without one');
    }
    return parseJsonExact(text, LIMITS) ?? undefined;
  } catch (cause) {
    const message = cause instanceof JsonError ? cause.message : 'the body is not UTF-8';
    throw new ServiceError('invalid_request', 'The body is not acceptable JSON; "errors" says why.', {
      errors: [{ pointer: '', message }],
      cause,
    });
  }
}

/**
 * Beyond the limit the rest is dropped as it comes, and the request is left alive, so that its answer can be sent and
 * read; the time limit of the request ends one that never stops.
 */
async function readWhole(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) throw tooLarge();
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    return await collectBounded(chunks, MAX_BYTES, tooLarge);
  } catch (cause) {
    if (cause instanceof ServiceError) {
      request.resume();
      throw cause;
    }
    throw new ServiceError('invalid_request', 'The body ended before it was complete.', { cause });
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('body_too_large', `The body exceeds ${MAX_BYTES} bytes.`);
}

function notJson(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `The body must be sent as "Content-Type: ${JSON_MEDIA_TYPE}", in UTF-8 and without a content coding.`,
  );
}
