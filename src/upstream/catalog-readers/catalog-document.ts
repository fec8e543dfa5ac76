import { JsonMemberError } from '../../platform/json/json-byte-source.ts';
import { readJsonMembers, type JsonMember } from '../../platform/json/json-members.ts';
import { UpstreamError } from '../upstream.ts';

/** Longest single element of a catalog; a pack lists the thousands of bundles inside it. */
const MAX_ELEMENT_BYTES = 32 * 1024 * 1024;

/** Takes bytes as they pass; `createBlake3()` is one. */
export interface ByteSink {
  update(bytes: Uint8Array): unknown;
}

/** The largest document that is read. */
export interface DocumentBound {
  readonly maxBytes: number;
  /** The setting of `upstream` that decides it, for the error. */
  readonly setting: 'maxCatalogBytes' | 'maxFileBytes';
}

/**
 * Passes the bytes of a document through, hashing them and bounding their number.
 *
 * @param label names the document in the message
 * @throws UpstreamError `catalog_too_large`
 */
export async function* boundDocument(
  chunks: AsyncIterable<Uint8Array>,
  label: string,
  { maxBytes, setting }: DocumentBound,
  sinks: readonly ByteSink[],
): AsyncGenerator<Uint8Array, void> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > maxBytes) {
      throw new UpstreamError(
        'catalog_too_large',
        `${label} is larger than ${maxBytes} bytes (upstream.${setting})`,
      );
    }
    for (const sink of sinks) sink.update(chunk);
    yield chunk;
  }
}

/**
 * Reads a catalog document element by element, in batches.
 *
 * @param label names the document in messages
 * @param containers keys of the top-level object that hold the elements
 * @param nullIsEmpty whether a container that is `null` counts as an empty one
 * @throws UpstreamError `catalog_invalid` where it is not the JSON expected, `upstream_truncated` where it ends early
 */
export async function* readCatalogMembers(
  chunks: AsyncIterable<Uint8Array>,
  label: string,
  containers: readonly string[],
  nullIsEmpty = false,
): AsyncGenerator<readonly JsonMember[], void> {
  try {
    yield* readJsonMembers(chunks, {
      containers: new Set(containers),
      maxValueBytes: MAX_ELEMENT_BYTES,
      nullIsEmpty,
    });
  } catch (error) {
    if (!(error instanceof JsonMemberError)) throw error;
    if (error.truncated) {
      throw new UpstreamError('upstream_truncated', `${label}: ${error.message}`, {
        retryable: true,
        cause: error,
      });
    }
    throw new UpstreamError('catalog_invalid', `${label}: ${error.message}`, { cause: error });
  }
}

/**
 * Reads a small document whole.
 *
 * @throws UpstreamError `catalog_too_large`
 */
export async function readSmallDocument(
  chunks: AsyncIterable<Uint8Array>,
  label: string,
  maxBytes: number,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > maxBytes) {
      throw new UpstreamError('catalog_too_large', `${label} is larger than ${maxBytes} bytes`);
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/**
 * Parses a small JSON document.
 *
 * @throws UpstreamError `catalog_invalid`
 */
export function parseSmallJson(bytes: Uint8Array, label: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    throw new UpstreamError('catalog_invalid', `${label} is not a JSON document in UTF-8`, { cause: error });
  }
}
