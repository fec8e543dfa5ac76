import type { StagedFile } from './staged-file.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError, type UpstreamAdapter, type UpstreamEntry } from '../upstream.ts';

/** Bytes gathered before they are written together: most files of a release need one write. */
const WRITE_BYTES = 512 * 1024;

/**
 * Receives the rest of a file. Bytes that arrived before a failure are kept.
 *
 * @param maxFileBytes bound where the catalog states no size
 * @throws UpstreamError (`size_mismatch` as soon as more bytes than stated arrive), a file system error, or the signal's
 *   reason
 */
export async function receiveInto(
  part: StagedFile,
  adapter: Pick<UpstreamAdapter, 'open'>,
  entry: UpstreamEntry,
  maxFileBytes: number,
  progress: { readonly signal: AbortSignal; readonly onBytes: (bytes: number) => void },
): Promise<void> {
  const { signal, onBytes } = progress;
  if (part.length > 0 && part.validator === null) {
    onBytes(-part.length);
    await part.restart();
  }
  const body = await adapter.open(entry, { start: part.length, validator: part.validator }, signal);
  const pending: Uint8Array[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    if (pendingBytes === 0) return;
    const bytes = pendingBytes;
    const chunks = pending.splice(0);
    pendingBytes = 0;
    await part.append(chunks);
    onBytes(bytes);
  };
  // Iterating begins before anything is checked, because ending the iteration is what closes the connection.
  let begun = false;
  const begin = async (): Promise<void> => {
    begun = true;
    checkTotal(entry, body.totalSize, maxFileBytes);
    if (body.start !== part.length) {
      if (body.start !== 0)
        throw new Error(`a body begins at ${body.start} although ${part.length} was requested`);
      onBytes(-part.length);
      await part.restart();
    }
    await part.begin(body.validator, body.totalSize ?? entry.size);
  };
  try {
    for await (const chunk of body.chunks) {
      if (!begun) await begin();
      checkReceived(entry, part.length + pendingBytes + chunk.length, maxFileBytes);
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes >= WRITE_BYTES) await flush();
    }
    if (!begun) await begin();
  } finally {
    await flush();
  }
  const expected = entry.size ?? body.totalSize;
  if (expected !== null && part.length < expected) {
    throw new UpstreamError(
      'upstream_truncated',
      `${quoteText(entry.destination)}: upstream sent ${part.length} of ${expected} bytes`,
      { retryable: true },
    );
  }
}

function checkTotal(entry: UpstreamEntry, totalSize: number | null, maxFileBytes: number): void {
  if (totalSize === null) return;
  if (entry.size === null) checkReceived(entry, totalSize, maxFileBytes);
  else if (totalSize !== entry.size) {
    throw new UpstreamError(
      'size_mismatch',
      `${quoteText(entry.destination)}: the catalog states ${entry.size} bytes, upstream has ${totalSize}`,
      { retryable: false },
    );
  }
}

function checkReceived(entry: UpstreamEntry, received: number, maxFileBytes: number): void {
  const limit = entry.size ?? maxFileBytes;
  if (received <= limit) return;
  const rule =
    entry.size === null
      ? `the limit for files of unstated size is ${limit} (upstream.maxFileBytes)`
      : `the catalog states ${limit}`;
  throw new UpstreamError(
    'size_mismatch',
    `${quoteText(entry.destination)}: upstream sends more than ${limit} bytes, ${rule}`,
    { retryable: false },
  );
}
